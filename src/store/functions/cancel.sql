-- What operators do to single jobs begins here, with cancel; how jobs are found and locked stands in places.sql. Each
-- move takes a list of jobs. A list of one waits for whoever works on the job right now and always has an answer. A longer
-- list passes over jobs somebody else works on, so that it never waits while it holds rows and cannot deadlock; those are
-- then asked for one by one.

-- The answer for a job that is not live.
create or replace function holdfast.not_live(p_job uuid) returns setof holdfast.moved language sql volatile as $$
  select p_job, false, j.status, j.status, case j.status
    when 'completed' then 'it has already completed'
    when 'cancelled' then 'it was already cancelled'
    when 'dead' then 'it is dead; it can be replayed or discarded'
    when 'discarded' then 'it was already discarded' end
  from (select p_job as id) as asked left join holdfast.jobs as j on j.id = asked.id
$$;

-- Cancels jobs: the row that would have run is deleted and history says so in the same transaction. Whoever deletes the row
-- of a running job first decides how it ended; the other one finds nothing and changes nothing.
-- p_wait: false where the caller holds what others need meanwhile: one job, too, is passed over then.
create or replace function holdfast.cancel_jobs(p_jobs uuid[], p_actor holdfast.actor, p_wait boolean default true) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_error constant jsonb := jsonb_build_object('name', 'Cancelled', 'message', concat_ws(': ', 'cancelled by ' || p_actor.name, p_actor.why),
                                               'by', p_actor.name, 'why', p_actor.why);
  v_live uuid[] := case when p_wait then array(select l.job_id from holdfast.lock_jobs(p_jobs) as l)
                        else array(select l.job_id from holdfast.lock_unheld(p_jobs) as l) end;
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_workers integer[];
begin
  if v_live = '{}' and not p_wait then
    return;
  elsif v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, e.worker_id, e.claimed_at from holdfast.live as s left join holdfast.leases as e on e.id = s.lease_id
    where s.job_id = any (v_live)
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
    select s.job_id, v_now, s.claimed_at, s.worker_id, 'cancelled', s.attempt, holdfast.lease_mark(s.lease_id), v_error from stood as s
  ), stopping as (
    insert into holdfast.cancellations (job_id, lease_id, type_id, concurrency_key)
    select s.job_id, s.lease_id, s.type_id, coalesce(b.concurrency_key, '')
    from stood as s left join holdfast.bodies as b on b.id = s.job_id where s.lease_id is not null
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count) select s.type_id, 'cancelled', count(*) from stood as s group by s.type_id
  )
  select array_agg(row (s.job_id, true, s.status, 'cancelled', null)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id) filter (where s.place = 'queue'), array_agg(distinct s.worker_id) filter (where s.worker_id is not null)
  into v_moved, v_lanes, v_workers from stood as s;
  perform holdfast.take_out(v_live);
  perform holdfast.record_events(v_live, 'cancelled');
  perform holdfast.after_end(v_live);
  -- The worker would hear of it with its next heartbeat; the notification only makes that come at once.
  perform pg_notify('holdfast.worker_' || w.id, '') from unnest(v_workers) as w (id) where holdfast.may_notify();
  perform holdfast.wake_lanes(v_lanes, false);
  perform holdfast.audit_moves('cancel', v_moved, null, p_actor);
  return query select * from unnest(v_moved);
end $$;

-- The jobs under a lease that were cancelled and whose end has not been reported yet. By index, whatever the statistics say.
create or replace function holdfast.cancelled_under(p_lease bigint) returns uuid[] language sql stable
set enable_seqscan = off set jit = off
as $$ select array(select c.job_id from holdfast.cancellations as c where c.lease_id = p_lease) $$;

-- Called for settled attempts of which some found nothing to settle. Those that were cancelled have now truly ended, and
-- their slots may be given back: returns them, and their types.
create or replace function holdfast.end_cancelled(p_jobs uuid[], p_leases bigint[], out jobs uuid[], out types integer[])
language sql volatile as $$
  with ended as (
    delete from holdfast.cancellations as c using unnest(p_jobs, p_leases) as s (job_id, lease_id)
    where c.job_id = s.job_id and c.lease_id = s.lease_id returning c.job_id, c.type_id
  )
  select array_agg(e.job_id), array_agg(e.type_id) from ended as e
$$;

-- Cancelled jobs whose lease is gone, whoever removed it: nobody will report them any more. Locked for the caller.
create or replace function holdfast.orphaned_jobs() returns uuid[] language plpgsql as $$
begin
  if not exists (select from holdfast.cancellations) then
    return '{}';
  end if;
  return array(
    select c.job_id from holdfast.cancellations as c
    where not exists (select from holdfast.leases as l where l.id = c.lease_id) for update skip locked);
end $$;

-- Gives back the slots of these.
create or replace function holdfast.end_orphaned(p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_types integer[];
begin
  with ended as (
    delete from holdfast.cancellations as c where c.job_id = any (p_jobs) returning c.type_id
  )
  select array_agg(e.type_id) into v_types from ended as e;
  perform holdfast.free_slots(p_jobs, v_types);
  perform holdfast.after_end(p_jobs);
end $$;

-- Why a settled attempt found nothing to settle, and which result stands instead. written: this very attempt, by its job and its
-- lease, was ended before with this outcome by this worker, whose connection broke before it heard so. cancelled: the job was.
-- lost: everything else; another result of the same attempt stands, or what the job's last attempt came to. Without an outcome
-- none has ended. Volatile: whoever took the row may have committed while the settle waited for it.
create or replace function holdfast.how_it_stands(
  p_job uuid, p_lease bigint, p_worker integer, p_outcome holdfast.outcome,
  out why text, out outcome holdfast.outcome, out attempt smallint, out ended_at timestamptz
) language plpgsql volatile as $$
declare
  v_own boolean;
begin
  select h.worker_id = p_worker and h.lease_mark = holdfast.lease_mark(p_lease), h.outcome, h.attempt, h.ended_at
  into v_own, outcome, attempt, ended_at
  from holdfast.history as h where h.job_id = p_job
  order by (h.worker_id = p_worker and h.lease_mark = holdfast.lease_mark(p_lease)) is true desc, h.ended_at desc limit 1;
  why := case when outcome = 'cancelled' then 'cancelled' when v_own and outcome = p_outcome then 'written' else 'lost' end;
end $$;
