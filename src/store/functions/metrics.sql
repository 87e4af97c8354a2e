-- What /metrics answers, from counters that are kept, so that it costs the same whatever stands in history. What is counted
-- while jobs run is in attempt_counts and event_counts; what stands there long enough is added to totals and deleted in one statement, so
-- that whoever reads both in one snapshot sees everything once.

-- Everything that is counted of a type, up to now. ended: jobs that came to an end and have been neither replayed nor resumed since.
create or replace view holdfast.counters as
  select s.*, s.completed + s.dead + s.expired - s.replayed + s.cancelled - s.resumed as ended
  from (
    select t.id as type_id,
           (coalesce(k.completed, 0) + coalesce(o.good, 0))::bigint as completed,
           (coalesce(k.failed, 0) + coalesce(o.bad, 0))::bigint as failed,
           (coalesce(k.lost, 0) + coalesce(o.lost, 0))::bigint as lost,
           (coalesce(k.dead, 0) + coalesce(h.dead, 0))::bigint as dead,
           (coalesce(k.cancelled, 0) + coalesce(h.cancelled, 0))::bigint as cancelled,
           (coalesce(k.replayed, 0) + coalesce(h.replayed, 0))::bigint as replayed,
           (coalesce(k.resumed, 0) + coalesce(h.resumed, 0))::bigint as resumed,
           (coalesce(k.late, 0) + coalesce(h.late, 0))::bigint as late,
           (coalesce(k.expired, 0) + coalesce(h.expired, 0))::bigint as expired,
           (coalesce(k.snoozed, 0) + coalesce(h.snoozed, 0))::bigint as snoozed,
           (coalesce(k.handed_back, 0) + coalesce(h.handed_back, 0))::bigint as handed_back,
           (coalesce(k.timed_out, 0) + coalesce(h.timed_out, 0))::bigint as timed_out,
           (coalesce(k.out_of_memory, 0) + coalesce(h.out_of_memory, 0))::bigint as out_of_memory,
           (coalesce(k.crashed, 0) + coalesce(h.crashed, 0))::bigint as crashed
    from holdfast.types as t
    left join holdfast.totals as k on k.type_id = t.id
    left join (
      select type_id, sum(good) as good, sum(bad) as bad, sum(lost) as lost from holdfast.attempt_counts group by type_id
    ) as o on o.type_id = t.id
    left join (
      select type_id, sum(count) filter (where what = 'dead') as dead, sum(count) filter (where what = 'cancelled') as cancelled,
             sum(count) filter (where what = 'replayed') as replayed, sum(count) filter (where what = 'late') as late,
             sum(count) filter (where what = 'expired') as expired, sum(count) filter (where what = 'resumed') as resumed,
             sum(count) filter (where what = 'snoozed') as snoozed, sum(count) filter (where what = 'handed_back') as handed_back,
             sum(count) filter (where what = 'timed_out') as timed_out, sum(count) filter (where what = 'out_of_memory') as out_of_memory,
             sum(count) filter (where what = 'crashed') as crashed
      from holdfast.event_counts group by type_id
    ) as h on h.type_id = t.id
  ) as s;

-- Adds what a process noted since its last note: how long attempts took, by type and bucket, results that came too late,
-- requests to enqueue that were refused, how duties went, how long attempts had been due when they began, what is counted of the fleet and of builds. A note of an id that is known does nothing. Rows are taken in order, so that two notes wait for each other.
create or replace function holdfast.take_note(
  p_note uuid, p_types text[], p_buckets smallint[], p_counts integer[], p_seconds double precision[],
  p_late_types text[], p_late_counts integer[], p_statuses smallint[], p_status_counts integer[],
  p_duties text[] default '{}', p_runs integer[] default '{}', p_failures integer[] default '{}', p_duty_seconds double precision[] default '{}',
  p_wait_types text[] default '{}', p_wait_priorities smallint[] default '{}', p_wait_buckets smallint[] default '{}',
  p_wait_counts integer[] default '{}', p_wait_seconds double precision[] default '{}',
  p_fleet text[] default '{}', p_fleet_counts integer[] default '{}', p_builds jsonb default null
) returns void
language plpgsql as $$
begin
  insert into holdfast.notes (id, at) values (p_note, holdfast.now()) on conflict do nothing;
  if not found then
    return;
  end if;
  insert into holdfast.durations as d (type_id, bucket, count, seconds)
  select t.id, n.bucket, n.count, n.seconds
  from unnest(p_types, p_buckets, p_counts, p_seconds) as n (type, bucket, count, seconds) join holdfast.types as t on t.name = n.type
  order by t.id, n.bucket
  on conflict (type_id, bucket) do update set count = d.count + excluded.count, seconds = d.seconds + excluded.seconds;
  insert into holdfast.event_counts (type_id, what, count)
  select t.id, 'late', n.count from unnest(p_late_types, p_late_counts) as n (type, count) join holdfast.types as t on t.name = n.type;
  insert into holdfast.enqueue_errors as e (status, total)
  select n.status, n.count from unnest(p_statuses, p_status_counts) as n (status, count) order by n.status
  on conflict (status) do update set total = e.total + excluded.total;
  insert into holdfast.duties as d (duty, runs, failures, seconds)
  select n.duty, n.runs, n.failures, n.seconds
  from unnest(p_duties, p_runs, p_failures, p_duty_seconds) as n (duty, runs, failures, seconds) order by n.duty
  on conflict (duty) do update
    set runs = d.runs + excluded.runs, failures = d.failures + excluded.failures, seconds = d.seconds + excluded.seconds;
  insert into holdfast.waits as w (type_id, priority, bucket, count, seconds)
  select t.id, n.priority, n.bucket, n.count, n.seconds
  from unnest(p_wait_types, p_wait_priorities, p_wait_buckets, p_wait_counts, p_wait_seconds) as n (type, priority, bucket, count, seconds)
  join holdfast.types as t on t.name = n.type
  order by t.id, n.priority, n.bucket
  on conflict (type_id, priority, bucket) do update set count = w.count + excluded.count, seconds = w.seconds + excluded.seconds;
  insert into holdfast.fleet_counts as f (what, total)
  select n.what, n.count from unnest(p_fleet, p_fleet_counts) as n (what, count) order by n.what
  on conflict (what) do update set total = f.total + excluded.total;
  perform holdfast.count_builds(p_builds);
end $$;

-- Whether a worker lives and takes no jobs: its heart beats, and for a minute it has not asked for jobs and been answered. A remote
-- worker asks when it likes.
create or replace function holdfast.is_stalled(p_worker holdfast.workers) returns boolean language sql volatile as $$
  select p_worker.stopped_at is null and p_worker.token_hash is null and p_worker.seen_at > holdfast.now() - interval '3 minutes'
    and coalesce(p_worker.looked_at, p_worker.started_at) < holdfast.now() - interval '1 minute'
$$;

-- When everything that is kept for a time was last gone through; where it never was, when the installation was made.
create or replace function holdfast.retention_last_ran() returns timestamptz language sql stable as $$
  select coalesce((select r.ran_at from holdfast.retention_ran as r), (select min(m.applied_at) from holdfast.migrations as m))
$$;

-- What /metrics shows, in one snapshot, from what is kept. Compiling it would take longer than running it.
create or replace function holdfast.read_metrics() returns json
language plpgsql stable
set jit = off
as $$
begin
  return (select json_build_object(
    'types', (
      select coalesce(json_agg(json_build_object(
        'type', t.name, 'priority', t.priority,
        'enqueued', greatest(coalesce(e.total, 0), c.ended), 'running', coalesce(e.running, 0),
        'completed', c.completed, 'failed', c.failed, 'rescued', c.lost, 'dead', c.dead, 'expired', c.expired, 'cancelled', c.cancelled,
        'replayed', c.replayed, 'resumed', c.resumed, 'late', c.late, 'snoozed', c.snoozed, 'handedBack', c.handed_back,
        'timedOut', c.timed_out, 'outOfMemory', c.out_of_memory, 'crashed', c.crashed, 'deadLetters', coalesce(d.dead, 0),
        'confirmed', v.confirmed, 'refuted', v.refuted,
        'breakerOpen', coalesce(g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'), false),
        'paused', g.paused_at is not null,
        'depths', coalesce((select json_agg(json_build_array(p.priority, p.waiting, p.scheduled, p.blocked) order by p.priority)
                            from holdfast.depths as p where p.type_id = t.id), '[]'),
        'durations', coalesce((select json_agg(json_build_array(u.bucket, u.count, u.seconds) order by u.bucket)
                               from holdfast.durations as u where u.type_id = t.id), '[]'),
        'waits', coalesce((select json_agg(json_build_array(w.priority, w.bucket, w.count, w.seconds) order by w.priority, w.bucket)
                           from holdfast.waits as w where w.type_id = t.id), '[]')
      ) order by t.name), '[]')
      from holdfast.types as t join holdfast.counters as c on c.type_id = t.id
      left join holdfast.enqueued as e on e.type_id = t.id
      left join holdfast.dead_depths as d on d.type_id = t.id
      left join holdfast.verified as v on v.type_id = t.id
      left join holdfast.gates as g on g.type_id = t.id),
    'oldest', (
      select coalesce(json_agg(json_build_array(o.priority, greatest(0, extract(epoch from holdfast.now() - o.oldest_at)))), '[]')
      from (select priority, min(oldest_at) as oldest_at from holdfast.depths where oldest_at is not null group by priority) as o),
    'lanes', (
      select coalesce(json_agg(json_build_object(
        'lane', l.name, 'slots', l.slots, 'enabled', l.enabled,
        'inUse', (select count(*) from holdfast.lane_slots as s where s.lane_id = l.id)) order by l.name), '[]')
      from holdfast.lanes as l),
    'dependencies', (
      select coalesce(json_agg(json_build_object(
        'dependency', d.name, 'slots', g.max_running, 'inUse', case when g.max_running is not null then (
          select coalesce(sum(e.running), 0) from holdfast.enqueued as e where e.type_id = any (holdfast.users_of(d.id))) end,
        'paused', g.paused_at is not null,
        'breakerOpen', g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto')) order by d.name), '[]')
      from holdfast.dependencies as d join holdfast.gates as g on g.type_id = d.id),
    'refusals', (select coalesce(json_agg(json_build_array(e.status, e.total) order by e.status), '[]') from holdfast.enqueue_errors as e),
    'drift', (select coalesce(json_agg(json_build_array(d.what, d.total) order by d.what), '[]') from holdfast.drift_repairs as d),
    'fleet', (select coalesce(json_object_agg(f.what, f.total), '{}') from holdfast.fleet_counts as f),
    'retentionRan', extract(epoch from holdfast.retention_last_ran()),
    'notifyQueue', pg_notification_queue_usage(),
    'builds', (
      select coalesce(json_agg(json_build_object('build', b.name, 'workers', b.live, 'completed', b.completed, 'failed', b.failed) order by b.name), '[]')
      from (
        select b.name, b.completed, b.failed, count(*) filter (where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes') as live
        from holdfast.builds as b join holdfast.workers as w on w.build_id = b.id
        where w.seen_at > holdfast.now() - interval '1 day' group by b.id) as b),
    'missingPartitions', (
      select json_agg(json_build_array(n.family, n.missing) order by n.family) from (
        select f.family, count(m.day) as missing
        from unnest(array['bodies', 'history', 'results', 'dead_letters', 'log_lines', 'events']) as f (family)
        left join holdfast.missing_partitions(1) as m on m.family = f.family group by f.family) as n),
    'duties', (
      select coalesce(json_agg(json_build_array(d.duty, coalesce(n.runs, 0), coalesce(n.failures, 0), coalesce(n.seconds, 0),
        (select count(*) from holdfast.set_aside as a where a.duty = d.duty)) order by d.duty), '[]')
      from (select duty from holdfast.duties union select duty from holdfast.set_aside) as d
      left join holdfast.duties as n on n.duty = d.duty),
    'workers', (
      select count(*) from holdfast.workers as w where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes'),
    'stalled', (select count(*) from holdfast.workers as w where holdfast.is_stalled(w))
  ));
end $$;

-- Adds to totals what was counted and nobody needs in detail any more, and deletes it: exactly once, because it is one statement.
-- A count that is written late, into a step that was taken away, stands there again and is added next time.
create or replace function holdfast.keep_totals(p_crowded integer default 5000) returns void
language plpgsql
set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_begun timestamptz := clock_timestamp();
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.totals', 0)) then
    return;
  end if;
  with counted_attempts as (
    delete from holdfast.attempt_counts as t
    where t.at < v_now - interval '1 minute' - greatest(interval '5 minutes', (select max(g.breaker_window) from holdfast.gates as g))
    returning t.type_id, t.good, t.bad, t.lost
  ), happened as (
    delete from holdfast.event_counts as h returning h.type_id, h.what, h.count
  ), moved as (
    select type_id, good, bad, coalesce(lost, 0) as lost, 0 as dead, 0 as cancelled, 0 as replayed, 0 as late, 0 as expired, 0 as resumed,
           0 as snoozed, 0 as handed_back, 0 as timed_out, 0 as out_of_memory, 0 as crashed from counted_attempts
    union all
    select type_id, 0, 0, 0, case what when 'dead' then count else 0 end, case what when 'cancelled' then count else 0 end,
           case what when 'replayed' then count else 0 end, case what when 'late' then count else 0 end,
           case what when 'expired' then count else 0 end, case what when 'resumed' then count else 0 end,
           case what when 'snoozed' then count else 0 end, case what when 'handed_back' then count else 0 end,
           case what when 'timed_out' then count else 0 end, case what when 'out_of_memory' then count else 0 end,
           case what when 'crashed' then count else 0 end
    from happened
  )
  insert into holdfast.totals as k (type_id, completed, failed, lost, dead, cancelled, replayed, late, expired, resumed, snoozed, handed_back,
                                    timed_out, out_of_memory, crashed)
  select type_id, sum(good), sum(bad), sum(lost), sum(dead), sum(cancelled), sum(replayed), sum(late), sum(expired), sum(resumed),
         sum(snoozed), sum(handed_back), sum(timed_out), sum(out_of_memory), sum(crashed) from moved group by type_id
  on conflict (type_id) do update set
    completed = k.completed + excluded.completed, failed = k.failed + excluded.failed, lost = k.lost + excluded.lost,
    dead = k.dead + excluded.dead, cancelled = k.cancelled + excluded.cancelled, replayed = k.replayed + excluded.replayed,
    late = k.late + excluded.late, expired = k.expired + excluded.expired, resumed = k.resumed + excluded.resumed,
    snoozed = k.snoozed + excluded.snoozed, handed_back = k.handed_back + excluded.handed_back,
    timed_out = k.timed_out + excluded.timed_out, out_of_memory = k.out_of_memory + excluded.out_of_memory, crashed = k.crashed + excluded.crashed;
  delete from holdfast.notes as n where n.at < v_now - interval '1 hour';
  -- A worker that is silent while the database is away has not gone: it has when another one took its place. Its heart beats every 15 seconds.
  with replaced as (
    update holdfast.workers as w set replaced_at = v_now
    where w.stopped_at is null and w.replaced_at is null and w.token_hash is null and w.seen_at < v_now - interval '1 minute'
      and exists (select from holdfast.workers as n
                  where n.host = w.host and n.id > w.id and n.started_at between w.seen_at and w.seen_at + interval '10 minutes')
    returning w.id
  )
  insert into holdfast.fleet_counts as f (what, total) select 'worker_restarts', count(*) from replaced having count(*) > 0
  on conflict (what) do update set total = f.total + excluded.total;
  perform holdfast.keep_error_groups();

  -- Of a minute ago nobody needs to know any more which worker it was, except where one died. Where many workers run many types,
  -- that makes what is read few rows again.
  if exists (select from holdfast.attempt_counts offset p_crowded limit 1) then
    with apart as (
      delete from holdfast.attempt_counts as t
      where t.worker_id <> 0 and t.lost is null and t.at < v_now - interval '1 minute' returning t.type_id, t.at, t.good, t.bad
    )
    insert into holdfast.attempt_counts as t (type_id, at, worker_id, good, bad)
    select a.type_id, a.at, 0, sum(a.good), sum(a.bad) from apart as a group by a.type_id, a.at
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good, bad = t.bad + excluded.bad;
  end if;

  if (select v_now >= m.measured_at and v_now < m.measured_at + greatest(interval '5 seconds', m.cost * 20) from holdfast.dead_measured as m) then
    return;
  end if;
  with counted as materialized (
    select d.type_id, count(*) as dead from holdfast.dead_letters as d group by d.type_id
  ), gone as (
    delete from holdfast.dead_depths as d where not exists (select from counted as c where c.type_id = d.type_id)
  )
  insert into holdfast.dead_depths as d (type_id, dead) select c.type_id, c.dead from counted as c
  on conflict (type_id) do update set dead = excluded.dead;
  -- As for depths: that there are still none need not be written down.
  update holdfast.dead_measured set measured_at = v_now, cost = clock_timestamp() - v_begun
  where exists (select from holdfast.dead_depths);
end $$;
