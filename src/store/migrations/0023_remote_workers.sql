-- Why: workers in any language, through the HTTP server. Servers keep nothing in memory that matters, so what such a worker
-- is, and what decides about its results, stands here.
-- Lock: an exclusive one on types and workers for a moment. Cost: milliseconds.
-- Old workers: do not see the columns. Back: drop the columns and the functions.

-- How a type's failed attempts are retried: {"base", "factor", "cap", "jitter"} in milliseconds. Null: the default, also where
-- the definition has a function for it, which only its own worker can call.
alter table holdfast.types add column backoff jsonb;

-- SHA-256 of the secret a remote worker was given when it registered. Null: it is no remote worker, and nobody can speak
-- for it over HTTP. The drain is an order: claim no more.
alter table holdfast.workers
  add column token_hash bytea constraint hash_has_32_bytes check (octet_length(token_hash) = 32),
  add column drain_asked_at timestamptz,
  add column drain_asked_by text,
  add column drain_asked_why text;

-- Removes leases of a worker under which nothing runs any more. One that somebody else has locked is left to run out empty.
create function holdfast.close_empty_leases(p_worker integer, p_leases bigint[]) returns void
language sql volatile
set enable_seqscan = off set jit = off
as $$
  delete from holdfast.leases where id = any (array(
    select l.id from holdfast.leases as l
    where l.id = any (p_leases) and l.worker_id = p_worker
      and not exists (select from holdfast.queue as q where q.job_id = any (l.jobs) and q.lease_id = l.id)
      and not exists (select from holdfast.cancellations as c where c.lease_id = l.id)
    for update skip locked))
$$;

-- Orders a remote worker to claim no more. False: there is no remote worker of that id that is signed on.
create function holdfast.drain_remote_worker(p_worker integer, p_by text, p_why text) returns boolean language plpgsql as $$
begin
  update holdfast.workers set drain_asked_at = holdfast.now(), drain_asked_by = p_by, drain_asked_why = p_why
  where id = p_worker and token_hash is not null and stopped_at is null;
  if found then
    perform holdfast.audit('drain_worker', p_worker::text, null, null, p_by, p_why);
  end if;
  return found;
end $$;
