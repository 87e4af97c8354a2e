-- Why: stop 4: an attempt ends, whether its worker says so or its lease does.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the functions.

-- Ends attempts, many at once. Touches nothing unless that very attempt still holds its lease; history is written in the
-- same statement as the state change. The arrays stand side by side, one element an attempt:
--   move      complete | retry | exhaust (the last attempt failed) | die (no retry can help) |
--             poison (it crashed its host too often) | snooze | hand_back
--   outcome   what history says; ages in milliseconds before now, by the worker's monotonic clock
--   delay     for retry and snooze: milliseconds until the job is due again
-- p_closed: leases that have no open attempt left after this call.
-- Rows are taken in job order, so that a rescue at the same moment waits instead of deadlocking.
-- Returns the jobs whose lease was lost: nothing was changed for them.
create function holdfast.settle_jobs(
  p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[],
  p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[],
  p_worker integer, p_closed bigint[]
) returns setof uuid
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_ended uuid[];
  v_freed smallint[];
begin
  with settled as materialized (
    select * from unnest(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms)
      as s (job_id, lease_id, move, outcome, error, started_ago, ended_ago, delay)
    order by s.job_id
  ), ended as (
    delete from holdfast.queue as q using settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move <> 'hand_back'
    returning q.job_id, q.type_id, q.lane_id, q.priority, q.attempt,
              s.move, s.outcome, s.error, s.started_ago, s.ended_ago, s.delay
  ), handed_back as (
    update holdfast.queue as q set lease_id = null from settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move = 'hand_back'
    returning q.job_id, q.lane_id, q.attempt, s.outcome, s.error, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
    select e.job_id, v_now - e.ended_ago * v_ms, v_now - e.started_ago * v_ms, p_worker, e.outcome, e.attempt, e.error::jsonb
    from ended as e
    union all
    select h.job_id, v_now - h.ended_ago * v_ms, v_now - h.started_ago * v_ms, p_worker, h.outcome, h.attempt, h.error::jsonb
    from handed_back as h where h.started_ago is not null
  ), retried as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select e.job_id, v_now + e.delay * v_ms, e.type_id, e.lane_id, e.priority,
           case e.move when 'retry' then e.attempt + 1 else e.attempt end,
           case e.move when 'retry' then 'failed' else 'scheduled' end
    from ended as e where e.move in ('retry', 'snooze')
  ), buried as (
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
    select e.job_id, v_now, e.type_id, e.priority, e.attempt,
           case e.move when 'die' then 'fatal' when 'poison' then 'poison' else 'exhausted' end, e.error::jsonb
    from ended as e where e.move in ('die', 'exhaust', 'poison')
  )
  select array_agg(done.job_id), array_agg(distinct done.lane_id) into v_ended, v_freed from (
    select e.job_id, null::smallint as lane_id from ended as e
    union all
    select h.job_id, h.lane_id from handed_back as h
  ) as done;
  perform holdfast.wake_lanes(array_remove(v_freed, null), true);

  if cardinality(p_closed) > 0 then
    delete from holdfast.leases where id = any (p_closed) and worker_id = p_worker;
  end if;

  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    return query select unnest(p_jobs) except select unnest(v_ended);
  end if;
end $$;

-- Every time the job's host died under it before, in a line each: its worker, or the thread or process of its own.
create function holdfast.crashes_before(p_job uuid) returns text[] language sql stable
as $$
  select coalesce(array_agg(format('attempt %s, %s: %s', h.attempt,
    to_char(h.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), h.error ->> 'message') order by h.ended_at), '{}')
  from holdfast.history as h where h.job_id = p_job and h.outcome in ('crashed', 'lease_expired')
$$;

-- Ends the attempts of leases nobody renewed, at most p_limit leases. Each counts as an attempt with its reason; the job
-- is free again at once and keeps its place in line, or dead where that was its last attempt: as poison where its hosts
-- crashed p_crashes times under it. A lease that is being renewed or rescued by somebody
-- else is passed over, and a job that has just been settled is not touched: its row is gone.
create function holdfast.rescue_leases(p_limit integer, p_crashes integer default 2)
returns table (job_id uuid, type text, attempt smallint, worker_id integer, dead boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lease record;
  v_lanes smallint[];
begin
  for v_lease in
    select l.id, l.worker_id, l.claimed_at, l.expires_at, l.jobs from holdfast.leases as l
    where l.expires_at < v_now order by l.expires_at limit p_limit
    for update skip locked
  loop
    return query
      with held as materialized (
        select h.job_id from unnest(v_lease.jobs) as h (job_id) order by h.job_id
      ), lost as (
        delete from holdfast.queue as q using held as h where q.job_id = h.job_id and q.lease_id = v_lease.id
        returning q.seq, q.ready_at, q.job_id, q.type_id, q.lane_id, q.priority, q.attempt
      ), judged as materialized (
        select l.*, l.attempt >= coalesce(b.max_attempts, l.attempt) as dead, jsonb_build_object(
          'name', 'LeaseExpired',
          'message', format('worker %s did not renew its lease, which ended at %s', v_lease.worker_id, v_lease.expires_at)
        ) as error
        from lost as l left join holdfast.bodies as b on b.id = l.job_id
      ), recorded as (
        insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
        select j.job_id, v_now, v_lease.claimed_at, v_lease.worker_id, 'lease_expired', j.attempt, j.error from judged as j
      ), freed as (
        insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt)
        select j.seq, j.ready_at, j.job_id, j.type_id, j.lane_id, j.priority, j.attempt + 1 from judged as j where not j.dead
      ), buried as (
        insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
        select j.job_id, v_now, j.type_id, j.priority, j.attempt, case when known.poison then 'poison' else 'exhausted' end,
               case when known.poison then j.error || jsonb_build_object('crashes', known.crashes) else j.error end
        from judged as j
        cross join lateral (
          select c.crashes || format('attempt %s: %s', j.attempt, j.error ->> 'message') as crashes,
                 cardinality(c.crashes) + 1 >= p_crashes as poison
          from holdfast.crashes_before(j.job_id) as c (crashes)
        ) as known
        where j.dead
      )
      select j.job_id, t.name, j.attempt, v_lease.worker_id, j.dead
      from judged as j join holdfast.types as t on t.id = j.type_id;
    delete from holdfast.leases as l where l.id = v_lease.id;
  end loop;
  if found then
    select array_agg(l.id) into v_lanes from holdfast.lanes as l;
    perform holdfast.wake_lanes(v_lanes, true);
  end if;
end $$;
