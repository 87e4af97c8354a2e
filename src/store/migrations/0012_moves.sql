-- Why: what operators do to single jobs: cancel, re-prioritise, reschedule, run now. Each takes a list of jobs. A list of
-- one waits for whoever works on the job right now and always has an answer. A longer list passes over jobs somebody else
-- works on, so that it never waits while it holds rows and cannot deadlock; those are then asked for one by one.
-- Lock: none that matters, everything is new. Cost: milliseconds. Old workers: none. Back: drop the tables and functions.

-- A job that was cancelled while it ran, until its worker has reported the end of the handler or its lease is gone. Until
-- then it keeps its slots: the handler may still be at work. Whoever cancels only adds rows here and leaves the lease's own
-- row alone, which a rescue or a settle may hold.
create table holdfast.cancellations (
  job_id    uuid primary key,
  lease_id  bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index cancellations_of_lease on holdfast.cancellations (lease_id);

-- What was changed about a job that goes on: who, when, why, from what to what. A cancelled job says so in history.
create table holdfast.moves (
  job_id  uuid not null,
  at      timestamptz not null,
  move    text not null constraint move_is_known check (move in ('set_priority', 'reschedule', 'run_now')),
  actor   text not null,
  why     text,
  before  jsonb not null,
  after   jsonb not null
);
create index moves_of_job on holdfast.moves (job_id, at);

-- How a move went for one job. done is false where nothing was changed, and because says why. No status: no such job.
create type holdfast.moved as (job_id uuid, done boolean, was text, status text, because text);

-- Locks the rows of live jobs and says where each stands: queue, waiting or gated. Ended and unknown jobs have no row.
create function holdfast.lock_jobs(p_jobs uuid[]) returns table (job_id uuid, place text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  if cardinality(p_jobs) > 1 then
    return query select q.job_id, 'queue' from holdfast.queue as q where q.job_id = any (p_jobs) order by q.job_id for update skip locked;
    return query select w.job_id, 'waiting' from holdfast.waiting as w where w.job_id = any (p_jobs) order by w.job_id for update skip locked;
    return query select g.job_id, 'gated' from holdfast.gated as g where g.job_id = any (p_jobs) order by g.job_id for update skip locked;
    return;
  end if;
  loop
    return query select q.job_id, 'queue' from holdfast.queue as q where q.job_id = p_jobs[1] for update;
    if found then return; end if;
    return query select w.job_id, 'waiting' from holdfast.waiting as w where w.job_id = p_jobs[1] for update;
    if found then return; end if;
    return query select g.job_id, 'gated' from holdfast.gated as g where g.job_id = p_jobs[1] for update;
    if found then return; end if;
    -- It may have moved on from a table we had not looked at to one we had. In one snapshot it stands in one place or has ended.
    if not exists (select from holdfast.queue as q where q.job_id = p_jobs[1])
       and not exists (select from holdfast.waiting as w where w.job_id = p_jobs[1])
       and not exists (select from holdfast.gated as g where g.job_id = p_jobs[1]) then
      return;
    end if;
  end loop;
end $$;

-- The answer for a job that is not live.
create function holdfast.not_live(p_job uuid) returns setof holdfast.moved language sql volatile as $$
  select p_job, false, j.status, j.status, case j.status
    when 'completed' then 'it has already completed'
    when 'cancelled' then 'it was already cancelled'
    when 'dead' then 'it is dead; it can be replayed or discarded'
    when 'discarded' then 'it was already discarded' end
  from (select p_job as id) as asked left join holdfast.jobs as j on j.id = asked.id
$$;

-- Where jobs that are locked stand, with what a move has to know.
create function holdfast.where_jobs_stand(p_jobs uuid[])
returns table (job_id uuid, status text, place text, lane_id smallint, priority smallint, attempt smallint, due_at timestamptz, lease_id bigint)
language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select q.job_id, case when q.lease_id is null then 'pending' else 'processing' end, 'queue', q.lane_id, q.priority, q.attempt,
         q.ready_at, q.lease_id
  from holdfast.queue as q where q.job_id = any (p_jobs)
  union all
  select w.job_id, w.status, 'waiting', w.lane_id, w.priority, w.attempt, w.due_at, null
  from holdfast.waiting as w where w.job_id = any (p_jobs)
  union all
  select g.job_id, 'pending', 'gated', g.lane_id, g.priority, g.attempt, g.ready_at, null
  from holdfast.gated as g where g.job_id = any (p_jobs)
$$;

-- Takes jobs that are not running out of the queue, and gives back the slots they had been admitted to. Their keys are looked
-- at again by whoever admits next: taking the gate's lock here, with rows in hand, could deadlock with an operator who has it.
create function holdfast.leave_queue(p_jobs uuid[]) returns setof holdfast.queue language sql volatile as $$
  with gone as (
    delete from holdfast.queue as q where q.job_id = any (p_jobs) and q.lease_id is null returning q.*
  ), given_up as (
    delete from holdfast.held as h using gone as g where g.pass > 0 and h.job_id = g.job_id returning h.type_id, h.concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from given_up
  )
  select * from gone
$$;

-- Cancels jobs: the row that would have run is deleted and history says so in the same transaction. Whoever deletes the row
-- of a running job first decides how it ended; the other one finds nothing and changes nothing.
create function holdfast.cancel_jobs(p_jobs uuid[], p_by text, p_why text) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_error constant jsonb := jsonb_build_object('name', 'Cancelled', 'message', concat_ws(': ', 'cancelled by ' || p_by, p_why),
                                               'by', p_by, 'why', p_why);
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_workers integer[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, e.worker_id, e.claimed_at from holdfast.where_jobs_stand(v_live) as s left join holdfast.leases as e on e.id = s.lease_id
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
    select s.job_id, v_now, s.claimed_at, s.worker_id, 'cancelled', s.attempt, v_error from stood as s
  ), stopping as (
    insert into holdfast.cancellations (job_id, lease_id) select s.job_id, s.lease_id from stood as s where s.lease_id is not null
  )
  select array_agg(row (s.job_id, true, s.status, 'cancelled', null)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id) filter (where s.place = 'queue'), array_agg(distinct s.worker_id) filter (where s.worker_id is not null)
  into v_moved, v_lanes, v_workers from stood as s;
  perform holdfast.leave_queue(v_live);
  delete from holdfast.queue as q where q.job_id = any (v_live);
  delete from holdfast.waiting as w where w.job_id = any (v_live);
  delete from holdfast.gated as g where g.job_id = any (v_live);
  -- The worker would hear of it with its next heartbeat; the call only makes that come at once.
  perform pg_notify('holdfast_worker_' || w.id, '') from unnest(v_workers) as w (id);
  perform holdfast.wake_lanes(v_lanes, false);
  return query select * from unnest(v_moved);
end $$;

-- Called for settled attempts of which some found nothing to settle. Those that were cancelled have now truly ended, and
-- their slots may be given back: returns them.
create function holdfast.end_cancelled(p_jobs uuid[], p_leases bigint[]) returns uuid[] language sql volatile as $$
  with ended as (
    delete from holdfast.cancellations as c using unnest(p_jobs, p_leases) as s (job_id, lease_id)
    where c.job_id = s.job_id and c.lease_id = s.lease_id returning c.job_id
  )
  select array_agg(job_id) from ended
$$;

-- Gives back the slots of cancelled jobs whose lease is gone, whoever removed it: nobody will report them any more.
create function holdfast.end_orphaned() returns void language plpgsql as $$
declare
  v_jobs uuid[];
begin
  if not exists (select from holdfast.cancellations) then
    return;
  end if;
  with orphaned as (
    select c.job_id from holdfast.cancellations as c
    where not exists (select from holdfast.leases as l where l.id = c.lease_id) for update skip locked
  ), ended as (
    delete from holdfast.cancellations as c using orphaned as o where c.job_id = o.job_id returning c.job_id
  )
  select array_agg(job_id) into v_jobs from ended;
  if v_jobs is not null then
    perform holdfast.free_slots(v_jobs, v_jobs);
  end if;
end $$;

-- Why a settled attempt found nothing to settle: the job was cancelled; or its end was written before by this very worker,
-- whose connection broke before it heard so; or another worker has or had the job.
create function holdfast.why_lost(p_job uuid, p_worker integer) returns text language plpgsql volatile as $$
declare
  v_last holdfast.history;
begin
  select * into v_last from holdfast.history as h where h.job_id = p_job order by h.ended_at desc limit 1;
  return case when v_last.outcome = 'cancelled' then 'cancelled'
              when v_last.worker_id = p_worker and v_last.outcome <> 'lease_expired' then 'written'
              else 'lost' end;
end $$;

-- Puts jobs that wait for a time where they belong now: into the queue, or before their gate. Their lanes are called.
create function holdfast.make_ready(p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_lanes smallint[];
begin
  with moved as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.job_id, w.type_id, w.priority, w.attempt
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt
    from moved as m join holdfast.types as t on t.id = m.type_id where not t.gated order by m.job_id
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select m.job_id, v_now - m.priority * l.ageing, v_now, m.type_id, t.lane_id, m.priority, m.attempt, coalesce(b.concurrency_key, '')
    from moved as m join holdfast.types as t on t.id = m.type_id join holdfast.lanes as l on l.id = t.lane_id
    join holdfast.bodies as b on b.id = m.job_id where t.gated
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from gated
  )
  select array_agg(distinct t.lane_id) into v_lanes from moved as m join holdfast.types as t on t.id = m.type_id;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- Gives jobs that do not run another priority. In the queue a job keeps its place in line: among those of its new priority
-- it stands by its age. Workers that have read past that place find it with their next read from the head.
create function holdfast.set_priority(p_jobs uuid[], p_priority smallint, p_by text, p_why text) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select * from holdfast.where_jobs_stand(v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'set_priority', p_by, p_why, jsonb_build_object('priority', s.priority),
           jsonb_build_object('priority', p_priority)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, s.status,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  update holdfast.queue as q set priority = p_priority where q.job_id = any (v_go);
  update holdfast.waiting as w set priority = p_priority where w.job_id = any (v_go);
  update holdfast.gated as g set priority = p_priority, rank = g.ready_at - p_priority * l.ageing
  from holdfast.lanes as l where g.job_id = any (v_go) and l.id = g.lane_id;
  perform holdfast.wake_lanes(v_lanes, true);
  return query select * from unnest(v_moved);
end $$;

-- Makes jobs that do not run due at another time. A time that has come is the same as run_now.
create function holdfast.reschedule_jobs(p_jobs uuid[], p_run_at timestamptz, p_delay_ms double precision, p_by text, p_why text)
returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_at timestamptz := coalesce(p_run_at, v_now + p_delay_ms * interval '1 millisecond');
  v_live uuid[];
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_at <= v_now then
    return query select * from holdfast.run_now(p_jobs, p_by, p_why);
    return;
  end if;
  v_live := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, case when s.status = 'awaiting_approval' then r.run_at else nullif(s.due_at, 'infinity') end as was_due
    from holdfast.where_jobs_stand(v_live) as s left join holdfast.approval_requests as r on r.job_id = s.job_id
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, v_now, 'reschedule', p_by, p_why, jsonb_build_object('due_at', s.was_due), jsonb_build_object('due_at', v_at)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, case s.status when 'pending' then 'scheduled' else s.status end,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  -- A job that waits for approval goes on waiting; the time is for afterwards.
  update holdfast.approval_requests as r set run_at = v_at from holdfast.waiting as w
  where r.job_id = any (v_go) and w.job_id = r.job_id and w.status = 'awaiting_approval';
  update holdfast.waiting as w set due_at = v_at where w.job_id = any (v_go) and w.status <> 'awaiting_approval';
  with ungated as (
    delete from holdfast.gated as g where g.job_id = any (v_go) returning g.job_id, g.type_id, g.lane_id, g.priority, g.attempt
  )
  insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
  select q.job_id, v_at, q.type_id, q.lane_id, q.priority, q.attempt, 'scheduled' from holdfast.leave_queue(v_go) as q
  union all
  select g.job_id, v_at, g.type_id, g.lane_id, g.priority, g.attempt, 'scheduled' from ungated as g;
  -- Workers know when the next job is due; that may have changed.
  perform holdfast.wake_lanes(v_lanes, true);
  return query select * from unnest(v_moved);
end $$;

-- Makes jobs that wait for a time due at once. Gates and approval are not passed by.
create function holdfast.run_now(p_jobs uuid[], p_by text, p_why text) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, s.status in ('scheduled', 'failed') as go from holdfast.where_jobs_stand(v_live) as s
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'run_now', p_by, p_why, jsonb_build_object('due_at', s.due_at),
           jsonb_build_object('due_at', holdfast.now())
    from stood as s where s.go
  )
  select array_agg(row (s.job_id, s.go, s.status, case when s.go then 'pending' else s.status end, case s.status
           when 'pending' then 'it is due already'
           when 'processing' then 'it runs already'
           when 'awaiting_approval' then 'it waits for approval' end)::holdfast.moved order by s.job_id),
         array_agg(s.job_id) filter (where s.go)
  into v_moved, v_go from stood as s;
  perform holdfast.make_ready(v_go);
  return query select * from unnest(v_moved);
end $$;

-- The next live jobs, by id, that fit a filter. Reads in the order of the ids, so that a large set is walked once however
-- many steps it takes. A field that is null does not matter.
create function holdfast.matching_jobs(
  p_type text, p_status text, p_lane text, p_concurrency_key text, p_priority smallint, p_created_before timestamptz,
  p_payload jsonb, p_after uuid, p_limit integer
) returns setof uuid
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
begin
  return query
    select s.job_id from (
      select q.job_id, q.type_id, q.lane_id, q.priority, case when q.lease_id is null then 'pending' else 'processing' end as status
      from holdfast.queue as q where q.job_id > p_after
      union all
      select w.job_id, w.type_id, w.lane_id, w.priority, w.status from holdfast.waiting as w where w.job_id > p_after
      union all
      select g.job_id, g.type_id, g.lane_id, g.priority, 'pending' from holdfast.gated as g where g.job_id > p_after
    ) as s
    join holdfast.bodies as b on b.id = s.job_id
    where (v_type is null or s.type_id = v_type) and (v_lane is null or s.lane_id = v_lane)
      and (p_status is null or s.status = p_status) and (p_priority is null or s.priority = p_priority)
      and (p_concurrency_key is null or b.concurrency_key = p_concurrency_key)
      and b.created_at < p_created_before
      and (p_payload is null or b.payload::jsonb @> p_payload)
    order by s.job_id limit p_limit;
end $$;
