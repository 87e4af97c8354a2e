-- A worker ends attempts: step 5 of a job's way (src/README.md).

-- Both run under the plan settings of settle_jobs, which says what they have in common.

-- Ends attempts that all completed, which is what most settles are. Does the same as end_moved would, at half of the cost: the rows are
-- found in one walk through the index queue_by_job, where a nested loop would descend it once for each job. Only queue
-- is touched, because only there a job can run; so it asks neither live nor take_out.
-- ended, ended_leases: the attempts that held their lease until now. passed: the types of those that came through a gate; probed: the
-- types for which this was the successful probe of a breaker. Both may repeat a type.
create or replace function holdfast.end_completed(
  p_jobs uuid[], p_leases bigint[], p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_worker integer,
  out ended uuid[], out ended_leases bigint[], out passed integer[], out probed integer[]
)
language plpgsql
set enable_nestloop = off set enable_mergejoin = on
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
begin
  with gone as (
    delete from holdfast.queue as q using (
      select * from unnest(p_jobs, p_leases, p_started_ago_ms, p_ended_ago_ms) as u (job_id, lease_id, started_ago, ended_ago)
      order by u.job_id
    ) as s
    where q.job_id = any (p_jobs) and q.job_id = s.job_id and q.lease_id = s.lease_id
    returning q.job_id, q.lease_id, q.type_id, q.attempt, q.pass, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark)
    select g.job_id, v_now - g.ended_ago * v_ms, v_now - g.started_ago * v_ms, p_worker, 'completed', g.attempt,
           holdfast.lease_mark(g.lease_id)
    from gone as g
  ), counted_attempts as (
    insert into holdfast.attempt_counts as t (type_id, at, worker_id, good, bad)
    select g.type_id, holdfast.attempt_count_step(v_now), p_worker, count(*), 0 from gone as g group by g.type_id
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good
  )
  -- Not "distinct", which would sort all rows: the filtered lists are mostly empty.
  select array_agg(g.job_id), array_agg(g.lease_id), array_agg(g.type_id) filter (where g.pass > 0),
         array_agg(g.type_id) filter (where g.pass = 2)
  into ended, ended_leases, passed, probed from gone as g;
end $$;

-- Ends attempts of which some did not complete; the arrays are those of settle_jobs. Notifies idle workers in the lanes that got jobs.
-- Returns what end_completed returns, the types of attempts that failed, and the types whose gates the settle may change.
create or replace function holdfast.end_moved(
  p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[],
  p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[],
  p_worker integer, p_stops text[],
  out ended uuid[], out ended_leases bigint[], out passed integer[], out probed integer[], out failing integer[], out judged integer[]
)
language plpgsql
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_freed smallint[];
  v_soon smallint[];
begin
  with settled as materialized (
    select s.job_id, s.lease_id, coalesce(s.move, 'complete') as move,
           case when s.move is null then 'completed' else s.outcome end as outcome, s.error, s.started_ago, s.ended_ago,
           s.delay, s.stop
    from unnest(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms, p_stops)
      as s (job_id, lease_id, move, outcome, error, started_ago, ended_ago, delay, stop)
    order by s.job_id
  ), gone as (
    delete from holdfast.queue as q using settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move <> 'hand_back'
    returning q.job_id, q.lease_id, q.type_id, q.lane_id, q.priority, q.attempt, q.pass, q.ready_at,
              s.move, s.outcome, s.error, s.started_ago, s.ended_ago, s.delay, s.stop
  ), handed_back as (
    update holdfast.queue as q set lease_id = null, lane_id = t.lane_id, pass = least(q.pass, 1)
    from settled as s, holdfast.types as t
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move = 'hand_back' and t.id = q.type_id
    returning q.job_id, s.lease_id, q.type_id, q.lane_id, q.attempt, s.outcome, s.error, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
    select e.job_id, v_now - e.ended_ago * v_ms, v_now - e.started_ago * v_ms, p_worker, e.outcome, e.attempt,
           holdfast.lease_mark(e.lease_id), e.error::jsonb
    from gone as e where e.started_ago is not null
    union all
    select h.job_id, v_now - h.ended_ago * v_ms, v_now - h.started_ago * v_ms, p_worker, h.outcome, h.attempt,
           holdfast.lease_mark(h.lease_id), h.error::jsonb
    from handed_back as h where h.started_ago is not null
  ), retried as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
    select e.job_id, coalesce(v_now + e.delay * v_ms, 'infinity'), e.type_id, e.lane_id, e.priority,
           case e.move when 'retry' then e.attempt + 1 else e.attempt end,
           case e.move when 'retry' then 'failed' when 'block' then 'blocked' else 'scheduled' end,
           -- It has run, so that it counts as tried.
           case when e.pass > 0 then holdfast.key_position_of(e.job_id, 2) end
    from gone as e where e.move in ('retry', 'snooze', 'block')
  ), buried as (
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
    select e.job_id, v_now, e.type_id, e.priority, e.attempt,
           case e.move when 'die' then 'fatal' when 'poison' then 'poison' else 'exhausted' end, e.error::jsonb
    from gone as e where e.move in ('die', 'exhaust', 'poison')
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count)
    select e.type_id, 'dead', count(*) from gone as e where e.move in ('die', 'exhaust', 'poison') group by e.type_id
    union all
    select e.type_id, 'snoozed', count(*) from gone as e where e.move = 'snooze' group by e.type_id
    union all
    select h.type_id, 'handed_back', count(*) from handed_back as h where h.started_ago is not null group by h.type_id
    union all
    select e.type_id, e.outcome::text, count(*) from gone as e
    where e.outcome in ('timed_out', 'out_of_memory', 'crashed') group by e.type_id, e.outcome
  ), counted_errors as (
    insert into holdfast.error_counts (type_id, fingerprint, at, job_id, count)
    select f.type_id, f.fingerprint, v_now, (array_agg(f.job_id))[1], count(*)
    from (select e.type_id, e.job_id, e.error::jsonb ->> 'fingerprint' as fingerprint from gone as e where e.error is not null) as f
    where f.fingerprint is not null group by f.type_id, f.fingerprint
  ), counted_attempts as (
    insert into holdfast.attempt_counts as t (type_id, at, worker_id, good, bad)
    select e.type_id, holdfast.attempt_count_step(v_now), p_worker, count(*) filter (where e.outcome = 'completed'),
           count(*) filter (where e.outcome in ('failed', 'timed_out', 'out_of_memory', 'crashed'))
    from gone as e where e.outcome in ('completed', 'failed', 'timed_out', 'out_of_memory', 'crashed') group by e.type_id
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good, bad = t.bad + excluded.bad
  )
  select array_agg(done.job_id), array_agg(done.lease_id),
         array_agg(done.lane_id) filter (where done.free), array_agg(done.lane_id) filter (where done.soon),
         array_agg(done.type_id) filter (where done.pass > 0),
         array_agg(done.type_id) filter (where done.pass = 2 and done.outcome = 'completed'),
         array_agg(done.type_id) filter (where done.failed),
         array_agg(done.type_id) filter (where done.pass = 2 or done.failed or done.stop is not null)
  into ended, ended_leases, v_freed, v_soon, passed, probed, failing, judged from (
    select e.job_id, e.lease_id, e.lane_id, e.type_id, e.pass, e.outcome, e.stop, false as free,
           coalesce(e.delay < 12000, false) as soon,
           e.outcome in ('failed', 'timed_out', 'out_of_memory', 'crashed') as failed
    from gone as e
    union all
    select h.job_id, h.lease_id, h.lane_id, null, 0, null, null, true, false, false from handed_back as h
  ) as done;
  perform holdfast.wake_lanes(array(select distinct unnest(v_freed)), true);
  -- Jobs due within moments notify, as in enqueue_jobs: this worker knows when they are due, but it may have no free slot then.
  perform holdfast.wake_lanes(array(select distinct unnest(v_soon)), false);
end $$;

-- Keeps what handlers returned, of the attempts that ended by this call alone: what an attempt without a lease returned is nobody's.
create or replace function holdfast.keep_results(
  p_jobs uuid[], p_leases bigint[], p_results text[], p_ended_ago_ms double precision[], p_ended uuid[], p_ended_leases bigint[]
) returns void
language sql volatile
set enable_hashjoin = on set enable_nestloop = off
as $$
  insert into holdfast.results (job_id, at, result)
  select s.job_id, holdfast.now() - s.ended_ago * interval '1 millisecond', s.result::json
  from unnest(p_jobs, p_leases, p_results, p_ended_ago_ms) as s (job_id, lease_id, result, ended_ago)
  where s.result is not null and (s.job_id, s.lease_id) in (select e.job_id, e.lease_id from unnest(p_ended, p_ended_leases) as e (job_id, lease_id))
$$;

-- A worker ends attempts, many at once. An attempt that no longer holds its lease changes nothing; history is written in the same statement
-- as the state. The arrays are parallel, one element for each attempt; the missing end of a shorter one is null:
--   move      null (complete) | retry | exhaust (the last attempt failed) | die (no retry can help) |
--             poison (it crashed its host too often) | snooze | block (its handler waits for a signal) | hand_back
--   outcome   what history says, null where the move is; ages in milliseconds before now, by the worker's monotonic clock
--   delay     for retry, snooze and block: milliseconds until the job is due again; null, for block alone: never by the clock
--   result    JSON that a completed job is kept with; null for most
--   stop      type | key: jobs of its type or key are to wait as long as this one, because somebody said "too many"
-- p_closed: leases that have no open attempt left after this call.
-- Rows are locked in the order of their ids, as a rescue locks them, so that the two wait for each other and do not deadlock. A closed lease
-- that another transaction has locked is left to run out empty, because this settle would wait for a rescue that waits for its rows.
-- Returns every attempt whose lease was lost, with its outcome: nothing was changed for it; and those that end_loops ended, as failed. A row without a job says that a member of a group has
-- ended, and that the caller should call advance_groups once this is committed.
create or replace function holdfast.settle_jobs(
  p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[],
  p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[],
  p_worker integer, p_closed bigint[], p_stops text[] default null, p_results text[] default null
) returns table (job_id uuid, lease_id bigint, outcome holdfast.outcome)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ended uuid[];
  v_ended_leases bigint[];
  v_passed integer[];
  v_probed integer[];
  v_failing integer[];
  v_judged integer[];
  v_cancelled uuid[];
  v_cancelled_types integer[];
  v_grouped boolean;
  v_asked constant text[] := p_moves;
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  if p_moves && '{snooze,hand_back}' then
    select l.p_moves, l.p_outcomes, l.p_errors into p_moves, p_outcomes, p_errors from holdfast.end_loops(p_jobs, p_moves, p_outcomes, p_errors) as l;
  end if;
  if cardinality(p_moves) > 0 then
    select * into v_ended, v_ended_leases, v_passed, v_probed, v_failing, v_judged
    from holdfast.end_moved(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms, p_worker,
                            p_stops);
  else
    select * into v_ended, v_ended_leases, v_passed, v_probed
    from holdfast.end_completed(p_jobs, p_leases, p_started_ago_ms, p_ended_ago_ms, p_worker);
  end if;
  if cardinality(p_results) > 0 then
    perform holdfast.keep_results(p_jobs, p_leases, p_results, p_ended_ago_ms, v_ended, v_ended_leases);
  end if;
  if v_judged is not null or v_probed is not null then
    -- Locks all gates that this settle can change, in the order of their ids, before it changes one: so two settles wait for each other
    -- instead of deadlocking. Most settles change none, because a job that ended takes no slot any more.
    perform from holdfast.gates as g where g.type_id = any (holdfast.and_used(v_judged || v_probed)) order by g.type_id for update;
  end if;
  if v_passed is not null and p_moves && '{die,exhaust,poison}' then
    perform holdfast.halt_keys(v_ended);
  end if;
  if v_failing is not null then
    perform holdfast.judge_breaker(t.id) from (select distinct unnest(holdfast.and_used(v_failing)) as id order by 1) as t;
  end if;
  if v_probed is not null then
    perform holdfast.close_breaker(t.id, 'a probe succeeded') from unnest(holdfast.and_used(v_probed)) as t (id) order by t.id;
  end if;
  if cardinality(p_stops) > 0 then
    perform holdfast.stop_for(b.type_id, case s.stop when 'key' then coalesce(b.concurrency_key, '') end, s.delay * interval '1 millisecond')
    from unnest(p_jobs, p_stops, p_delays_ms) as s (job_id, stop, delay) join holdfast.bodies as b on b.id = s.job_id
    where s.stop is not null and s.job_id = any (v_ended) order by b.type_id;
  end if;
  if 'block' = any (p_moves) then
    -- A signal that was committed while this settle waited for the rows above is seen by this statement, and by none before it.
    perform holdfast.make_ready(array(
      select w.job_id from holdfast.waiting as w
      where w.job_id = any (v_ended) and w.status = 'blocked' and holdfast.is_signalled(w.job_id)), holdfast.now(), true);
  end if;
  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    select c.jobs, c.types into v_cancelled, v_cancelled_types from holdfast.end_cancelled(p_jobs, p_leases) as c;
  end if;
  perform holdfast.free_slots(v_ended || v_cancelled, v_passed || v_cancelled_types);
  -- Almost always nobody wants to be told; then these three looks are all it costs.
  if exists (select from holdfast.feeds) or exists (select from holdfast.webhooks) or exists (select from holdfast.job_webhooks) then
    perform holdfast.record_settled(p_jobs, p_leases, p_moves, v_ended, v_ended_leases);
  end if;
  v_grouped := holdfast.after_end(v_ended || v_cancelled, case when v_cancelled is null and cardinality(p_moves) = 0 then 'completed' end);
  if not v_grouped and coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    -- One of them may have been completed in a transaction of its handler, which recorded its end and told nobody.
    v_grouped := exists (select from holdfast.group_changes);
  end if;

  if cardinality(p_closed) > 0 then
    delete from holdfast.leases where id = any (array(
      select l.id from holdfast.leases as l where l.id = any (p_closed) and l.worker_id = p_worker for update skip locked));
  end if;

  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    return query select asked.job_id, asked.lease_id, coalesce(asked.outcome, 'completed')
    from (
      select * from unnest(p_jobs, p_leases) as asked (job_id, lease_id)
      except select * from unnest(v_ended, v_ended_leases) as done (job_id, lease_id)
    ) as lost
    join unnest(p_jobs, p_leases, p_outcomes) as asked (job_id, lease_id, outcome)
      on asked.job_id = lost.job_id and asked.lease_id = lost.lease_id;
  end if;
  if v_asked <> p_moves then
    return query select s.job_id, s.lease_id, s.outcome from unnest(p_jobs, p_leases, p_outcomes, v_asked, p_moves) as s (job_id, lease_id, outcome, asked, move)
    where s.asked <> s.move and s.job_id = any (v_ended);
  end if;
  if v_grouped then
    job_id := null;
    return next;
  end if;
end $$;
