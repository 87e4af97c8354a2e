-- Idempotency keys: an enqueue that is sent twice is stored once.

-- Whose keys an enqueue uses: those of the service it is owned by, or of all where the type shares them. Without a service it is
-- the application itself, through the library or SQL, which has keys of its own.
create or replace function holdfast.key_owner(p_shared boolean, p_owner text) returns text language sql immutable parallel safe
as $$ select case when p_shared then '' else coalesce(p_owner, '') end $$;

-- Takes the idempotency keys that are free, and returns the indexes (from 1) of the rest with the jobs that have them. One type alone is that of
-- all jobs. p_owner: as in enqueue_jobs.
-- One statement takes all that are free, in key order, so that two calls with the same keys cannot deadlock; of two jobs of a call with
-- one key the first gets it. A key whose first transaction is still open is waited for, and taken if that transaction rolls back.
-- Only the rest is looked at one by one. A sweep may remove a key between the two; it is then taken out of order, and whoever meets
-- somebody in the opposite order there is told to try again.
create or replace function holdfast.take_keys(p_ids uuid[], p_types text[], p_keys text[], p_owner text)
returns table (ordinal integer, job_id uuid) language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_free uuid[];
  v_job record;
begin
  with taken as (
    insert into holdfast.idempotency_keys (type_id, owner, key, job_id)
    select t.id, holdfast.key_owner(t.shared_keys, p_owner), a.key, a.id
    from unnest(p_ids, p_types, p_keys) with ordinality as a (id, type, key, ordinal)
    join holdfast.types as t on t.name = coalesce(a.type, p_types[1])
    where a.key is not null
    order by t.id, a.key collate "C", a.ordinal
    on conflict do nothing returning idempotency_keys.job_id
  )
  select array_agg(k.job_id) into v_free from taken as k;
  if cardinality(v_free) = cardinality(array_remove(p_keys, null)) then
    return;
  end if;
  for v_job in
    select a.ordinal, a.id, a.key, t.id as type_id, holdfast.key_owner(t.shared_keys, p_owner) as owner
    from unnest(p_ids, p_types, p_keys) with ordinality as a (id, type, key, ordinal)
    join holdfast.types as t on t.name = coalesce(a.type, p_types[1])
    where a.key is not null and a.id not in (select unnest(v_free))
    order by t.id, a.key collate "C", a.ordinal
  loop
    ordinal := v_job.ordinal;
    job_id := null;
    for v_try in 1..100 loop
      select k.job_id into job_id from holdfast.idempotency_keys as k
      where k.type_id = v_job.type_id and k.key = v_job.key and k.owner = v_job.owner;
      exit when found;
      insert into holdfast.idempotency_keys (type_id, owner, key, job_id) values (v_job.type_id, v_job.owner, v_job.key, v_job.id)
      on conflict do nothing;
      exit when found;
      if v_try = 100 then
        raise exception 'an idempotency key was taken and released a hundred times while this job tried to take it' using errcode = '40001', hint = 'Try again.';
      end if;
    end loop;
    if job_id is not null then
      return next;
    end if;
  end loop;
end $$;
