-- A job ends together with what its handler writes: in the handler's own transaction.

-- Completes one attempt in the transaction of whoever calls, so that its end and their rows are committed together or not at all. Does what
-- settle_jobs does for a completed attempt, but locks nothing that the end of another job needs, as all of it stays locked until the caller
-- commits: not the lock of settles (be_alone looks at the row of the job instead), no gate (close_probed), and its count stands in a row of its own.
-- The lease stays; a settle closes it.
-- From here on a caller who does nothing for ten seconds is ended by the server: settle and rescue wait for this job's row.
-- False: the attempt no longer holds its lease, and nothing was written.
create or replace function holdfast.complete_attempt(p_job uuid, p_lease bigint, p_worker integer, p_started_ago_ms double precision, p_result text)
returns boolean
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_gone holdfast.queue;
  v_idle constant integer := (select s.setting::integer from pg_settings as s where s.name = 'idle_in_transaction_session_timeout');
begin
  delete from holdfast.queue as q where q.job_id = p_job and q.lease_id = p_lease returning q.* into v_gone;
  if not found then
    return false;
  end if;
  if v_idle not between 1 and 10000 then
    perform set_config('idle_in_transaction_session_timeout', '10000', true);
  end if;
  insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark)
  values (p_job, v_now, v_now - p_started_ago_ms * interval '1 millisecond', p_worker, 'completed', v_gone.attempt, holdfast.lease_mark(p_lease));
  insert into holdfast.attempt_counts as t (type_id, at, worker_id, good, bad)
  values (v_gone.type_id, holdfast.attempt_count_step(v_now), -(hashtext(p_job::text) & 2147483647), 1, 0)
  on conflict (type_id, at, worker_id) do update set good = t.good + 1;
  if p_result is not null then
    insert into holdfast.results (job_id, at, result) values (p_job, v_now, p_result::json);
  end if;
  if v_gone.pass = 2 then
    insert into holdfast.completed_probes (job_id, type_id) values (p_job, v_gone.type_id);
  end if;
  perform holdfast.free_slots(array[p_job], case when v_gone.pass > 0 then array[v_gone.type_id] end);
  perform holdfast.record_events(array[p_job], 'completed');
  perform holdfast.after_end(array[p_job], 'completed');
  return true;
end $$;

-- Closes the breakers that a job was the probe of, when the transaction that completed it is about to be committed. The gates are held
-- for the rest of the commit alone. With the rights of its owner, as check_leader.
create or replace function holdfast.close_probed() returns trigger
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
begin
  delete from holdfast.completed_probes as p where p.job_id = new.job_id;
  perform holdfast.close_breaker(g.id, 'a probe succeeded') from unnest(holdfast.and_used(array[new.type_id])) as g (id) order by g.id;
  return null;
end $$;

do $$ begin
  if not exists (select from pg_trigger where tgname = 'close_probed' and tgrelid = 'holdfast.completed_probes'::regclass) then
    create constraint trigger close_probed after insert on holdfast.completed_probes
      deferrable initially deferred for each row execute function holdfast.close_probed();
  end if;
end $$;

-- What became of an attempt that was completed in somebody's transaction, once that has ended: written (it was committed), open (it was
-- not, and the attempt still has its lease), lost. Waits for the transaction, which has the job's row until then.
create or replace function holdfast.completion_stands(p_job uuid, p_lease bigint, p_worker integer) returns text
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  perform from holdfast.queue as q where q.job_id = p_job and q.lease_id = p_lease for update;
  if found then
    return 'open';
  end if;
  return (select case when h.why = 'written' then 'written' else 'lost' end from holdfast.how_it_stands(p_job, p_lease, p_worker, 'completed') as h);
end $$;
