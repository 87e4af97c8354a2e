-- Why: stop 4: an attempt ends, whether its worker says so or its lease does.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the functions.

-- Ends attempts, many at once. Touches nothing unless that very attempt still holds its lease; history is written in the
-- same statement as the state change. The arrays stand side by side, one element an attempt; where one is shorter, the
-- rest of it is null:
--   move      null (complete) | retry | exhaust (the last attempt failed) | die (no retry can help) | snooze | hand_back
--   outcome   what history says, null where the move is; ages in milliseconds before now, by the worker's monotonic clock
--   delay     for retry and snooze: milliseconds until the job is due again
--   stop      type | key: jobs of its type or key are to wait as long as this one, because somebody said "too many"
-- p_closed: leases that have no open attempt left after this call.
-- Rows are taken by lease and job, as a rescue takes them, so that the two wait for each other and never deadlock. A
-- closed lease that somebody else has locked is left to run out empty: waiting for it here could be waiting for a rescue.
-- Returns the job of every attempt whose lease was lost: nothing was changed for it.
create function holdfast.settle_jobs(
  p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[],
  p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[], p_stops text[],
  p_worker integer, p_closed bigint[]
) returns setof uuid
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_ended uuid[];
  v_ended_leases bigint[];
  v_freed smallint[];
  v_soon smallint[];
  v_passed uuid[];
  v_probed integer[];
  v_failing integer[];
  v_types integer[];
  v_cancelled uuid[];
begin
  with settled as materialized (
    select s.job_id, s.lease_id, coalesce(s.move, 'complete') as move,
           case when s.move is null then 'completed' else s.outcome end as outcome, s.error, s.started_ago, s.ended_ago,
           s.delay, s.stop
    from unnest(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms, p_stops)
      as s (job_id, lease_id, move, outcome, error, started_ago, ended_ago, delay, stop)
    order by s.lease_id, s.job_id
  ), ended as (
    delete from holdfast.queue as q using settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and (s.move <> 'hand_back' or q.pass > 0)
    returning q.job_id, q.lease_id, q.type_id, q.lane_id, q.priority, q.attempt, q.pass, q.ready_at,
              s.move, s.outcome, s.error, s.started_ago, s.ended_ago, s.delay, s.stop
  ), handed_back as (
    update holdfast.queue as q set lease_id = null, lane_id = t.lane_id from settled as s, holdfast.types as t
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move = 'hand_back' and q.pass = 0 and t.id = q.type_id
    returning q.job_id, s.lease_id, q.lane_id, q.attempt, s.outcome, s.error, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
    select e.job_id, v_now - e.ended_ago * v_ms, v_now - e.started_ago * v_ms, p_worker, e.outcome, e.attempt, e.error::jsonb
    from ended as e where e.started_ago is not null
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
           case e.move when 'die' then 'fatal' else 'exhausted' end, e.error::jsonb
    from ended as e where e.move in ('die', 'exhaust')
  ), back_to_gate as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select e.job_id, e.ready_at - e.priority * l.ageing, e.ready_at, e.type_id, e.lane_id, e.priority, e.attempt,
           coalesce(b.concurrency_key, '')
    from ended as e join holdfast.lanes as l on l.id = e.lane_id join holdfast.bodies as b on b.id = e.job_id
    where e.move = 'hand_back'
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from back_to_gate
  ), tallied as (
    insert into holdfast.tallies as t (type_id, at, worker_id, good, bad)
    select e.type_id, holdfast.tally_step(v_now), p_worker, count(*) filter (where e.outcome = 'completed'),
           count(*) filter (where e.outcome in ('failed', 'timed_out'))
    from ended as e where e.outcome in ('completed', 'failed', 'timed_out') group by e.type_id
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good, bad = t.bad + excluded.bad
  )
  select array_agg(done.job_id), array_agg(done.lease_id),
         array_agg(distinct done.lane_id) filter (where done.free), array_agg(distinct done.lane_id) filter (where done.soon),
         array_agg(done.job_id) filter (where done.pass > 0),
         array_agg(done.type_id) filter (where done.pass = 2 and done.outcome = 'completed'),
         array_agg(distinct done.type_id) filter (where done.outcome in ('failed', 'timed_out')), array_agg(distinct done.type_id)
  into v_ended, v_ended_leases, v_freed, v_soon, v_passed, v_probed, v_failing, v_types from (
    select e.job_id, e.lease_id, e.lane_id, e.type_id, e.pass, e.outcome, false as free,
           coalesce(e.delay < 3000, false) as soon
    from ended as e
    union all
    select h.job_id, h.lease_id, h.lane_id, null, 0, null, true, false from handed_back as h
  ) as done;
  perform holdfast.wake_lanes(v_freed, true);
  -- As in enqueue_jobs: this worker knows when the job is due, but it may have no room for it then.
  perform holdfast.wake_lanes(v_soon, false);
  if v_passed is not null or cardinality(p_stops) > 0 then
    -- All the gates this call can touch, in order, before it touches one: two settles wait for each other.
    perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  end if;
  if v_failing is not null then
    perform holdfast.judge_breaker(t.id) from unnest(v_failing) as t (id) order by t.id;
  end if;
  if v_probed is not null then
    perform holdfast.close_breaker(t.id, 'a probe succeeded') from unnest(v_probed) as t (id) order by t.id;
  end if;
  if cardinality(p_stops) > 0 then
    perform holdfast.stop_for(b.type_id, case s.stop when 'key' then coalesce(b.concurrency_key, '') end, s.delay * v_ms)
    from unnest(p_jobs, p_stops, p_delays_ms) as s (job_id, stop, delay) join holdfast.bodies as b on b.id = s.job_id
    where s.stop is not null and s.job_id = any (v_ended) order by b.type_id;
  end if;
  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    v_cancelled := holdfast.end_cancelled(p_jobs, p_leases);
  end if;
  perform holdfast.free_slots(v_ended || v_cancelled, v_passed || v_cancelled);
  perform holdfast.start_followers(v_ended || v_cancelled);

  if cardinality(p_closed) > 0 then
    delete from holdfast.leases where id = any (array(
      select l.id from holdfast.leases as l where l.id = any (p_closed) and l.worker_id = p_worker for update skip locked));
  end if;

  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    return query select lost.job_id from (
      select * from unnest(p_jobs, p_leases) as asked (job_id, lease_id)
      except select * from unnest(v_ended, v_ended_leases) as done (job_id, lease_id)
    ) as lost;
  end if;
end $$;

-- Ends the attempts of leases nobody renewed: at most p_limit leases, and no more than it takes to reach p_jobs jobs.
-- Each counts as an attempt with its reason; the job is free again at once, or dead where that was its last attempt.
-- A lease that is being renewed or rescued by somebody else is passed over, and a job that has just been settled is not
-- touched: its row is gone. A job the database refuses to move must not keep the others from being rescued: then the
-- leases go one by one, and the one that fails is taken apart.
create function holdfast.rescue_leases(p_limit integer, p_jobs integer)
returns table (job_id uuid, type text, attempt smallint, worker_id integer, dead boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lease holdfast.leases;
  v_leases holdfast.leases[] := '{}';
  v_jobs integer := 0;
  v_lanes smallint[];
begin
  for v_lease in
    select l.* from holdfast.leases as l where l.expires_at < v_now order by l.expires_at limit p_limit for update skip locked
  loop
    v_leases := v_leases || v_lease;
    v_jobs := v_jobs + cardinality(v_lease.jobs);
    exit when v_jobs >= p_jobs;
  end loop;
  if cardinality(v_leases) = 0 then
    return;
  end if;

  begin
    return query select * from holdfast.end_leases(v_leases);
  exception
    when deadlock_detected or serialization_failure then
      raise;
    when others then
      foreach v_lease in array v_leases loop
        begin
          return query select * from holdfast.end_leases(array[v_lease]);
        exception when others then
          raise warning 'holdfast: lease % could not be rescued: %', v_lease.id, sqlerrm;
          perform holdfast.take_lease_apart(v_lease);
        end;
      end loop;
  end;
  select array_agg(l.id) into v_lanes from holdfast.lanes as l;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- Runs under the plan settings of rescue_leases, with the leases locked.
create function holdfast.end_leases(p_leases holdfast.leases[])
returns table (job_id uuid, type text, attempt smallint, worker_id integer, dead boolean)
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_pass smallint;
  v_type integer;
  v_types integer[];
  v_lost uuid[];
  v_passed uuid[];
begin
  for job_id, type, attempt, worker_id, dead, v_pass, v_type in
    with held as materialized (
      select l.id, l.worker_id, l.claimed_at, l.expires_at, h.job_id
      from unnest(p_leases) as l, unnest(l.jobs) as h (job_id) order by l.id, h.job_id
    ), lost as (
      delete from holdfast.queue as q using held as h where q.job_id = h.job_id and q.lease_id = h.id
      returning q.job_id, q.type_id, q.lane_id, q.priority, q.attempt, q.pass, h.worker_id, h.claimed_at, h.expires_at
    ), judged as materialized (
      select l.*, coalesce(b.concurrency_key, '') as concurrency_key, l.attempt >= coalesce(b.max_attempts, l.attempt) as dead, jsonb_build_object(
        'name', 'LeaseExpired',
        'message', format('worker %s did not renew its lease, which ended at %s', l.worker_id, l.expires_at)
      ) as error
      from lost as l left join holdfast.bodies as b on b.id = l.job_id
    ), recorded as (
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
      select j.job_id, v_now, j.claimed_at, j.worker_id, 'lease_expired', j.attempt, j.error from judged as j
    ), freed as (
      insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
      select v_now, j.job_id, j.type_id, t.lane_id, j.priority, j.attempt + 1
      from judged as j join holdfast.types as t on t.id = j.type_id where not j.dead and j.pass = 0
    ), back_to_gate as (
      insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select j.job_id, v_now - j.priority * a.ageing, v_now, j.type_id, j.lane_id, j.priority, j.attempt + 1, j.concurrency_key
      from judged as j join holdfast.lanes as a on a.id = j.lane_id where not j.dead and j.pass > 0
    ), arrived as (
      insert into holdfast.arrivals (type_id, concurrency_key)
      select distinct j.type_id, j.concurrency_key from judged as j where not j.dead and j.pass > 0
    ), tallied as (
      -- A worker that died is one failure of each type it ran, not one for each job: a host that goes down with a hundred jobs
      -- says nothing about them.
      insert into holdfast.tallies as t (type_id, at, worker_id, good, bad)
      select distinct j.type_id, holdfast.tally_step(v_now), j.worker_id, 0, 1 from judged as j
      on conflict on constraint tallies_pkey do update set bad = greatest(t.bad, 1)
    ), buried as (
      insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
      select j.job_id, v_now, j.type_id, j.priority, j.attempt, 'exhausted', j.error from judged as j where j.dead
    )
    select j.job_id, t.name, j.attempt, j.worker_id, j.dead, j.pass, j.type_id
    from judged as j join holdfast.types as t on t.id = j.type_id
  loop
    v_lost := v_lost || job_id;
    v_types := v_types || v_type;
    if v_pass > 0 then
      v_passed := v_passed || job_id;
    end if;
    return next;
  end loop;
  delete from holdfast.leases as l where l.id = any (array(select e.id from unnest(p_leases) as e));
  -- A type that kills its workers never reports a failure; its breaker has to hear of it here.
  perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  perform holdfast.judge_breaker(t.id) from (select distinct unnest(v_types) as id order by 1) as t;
  perform holdfast.free_slots(v_lost, v_passed);
  perform holdfast.start_followers(v_lost);
end $$;

-- Gives every job of an expired lease an expired lease of its own, so that the one that cannot be moved stands alone.
-- Where it does already, it comes again in a minute.
create function holdfast.take_lease_apart(p_lease holdfast.leases) returns void language plpgsql as $$
begin
  if cardinality(p_lease.jobs) = 1 then
    update holdfast.leases as l set expires_at = holdfast.now() + interval '1 minute' where l.id = p_lease.id;
    return;
  end if;
  with parts as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select nextval('holdfast.lease_seq'), p_lease.worker_id, p_lease.claimed_at, p_lease.expires_at, array[j.id]
    from unnest(p_lease.jobs) as j (id)
    returning id, jobs[1] as job_id
  )
  update holdfast.queue as q set lease_id = p.id from parts as p where q.job_id = p.job_id and q.lease_id = p_lease.id;
  delete from holdfast.leases as l where l.id = p_lease.id;
end $$;

-- Frees the jobs of leases that this worker holds here and never heard of: the answer to its claim was lost on the way. No
-- handler has seen them, so no attempt is spent and none is recorded. p_known: the leases it did hear of. To be called only
-- while none of its claims is under way.
create function holdfast.hand_back_unheard(p_worker integer, p_known bigint[]) returns integer
language plpgsql
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_lease record;
  v_lanes smallint[];
  v_freed integer := 0;
begin
  for v_lease in
    delete from holdfast.leases as l where l.worker_id = p_worker and l.id <> all (p_known) returning l.id, l.jobs
  loop
    with freed as (
      update holdfast.queue as q set lease_id = null, lane_id = t.lane_id from holdfast.types as t
      where q.job_id = any (v_lease.jobs) and q.lease_id = v_lease.id and t.id = q.type_id
      returning q.job_id, q.lane_id
    ), out_of_lane as (
      delete from holdfast.lane_slots as s using freed as f where s.job_id = f.job_id
    ), still_admitted as (
      update holdfast.held as h set lease_id = null from freed as f where h.job_id = f.job_id
    )
    select array_agg(distinct f.lane_id), v_freed + count(*) into v_lanes, v_freed from freed as f;
    perform holdfast.wake_lanes(v_lanes, true);
  end loop;
  return v_freed;
end $$;
