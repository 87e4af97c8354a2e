-- Samples: how the numbers of each type stood at a time, for charts of the past. Taken from what is counted anyway, so that no job costs more.

-- The numbers of each type now, and those of the fleet, in the columns of samples.
create or replace view holdfast.sampled_now as
  select c.type_id, t.lane_id, greatest(coalesce(e.total, 0), c.ended) as enqueued, c.completed, c.failed, c.lost, c.dead, c.expired,
         c.cancelled, coalesce(e.running, 0) as running, coalesce(d.depths, '[]') as depths, coalesce(r.runs, '{}') as runs, coalesce(w.waits, '[]') as waits, 0 as workers
  from holdfast.counters as c
  join holdfast.types as t on t.id = c.type_id
  left join holdfast.enqueued as e on e.type_id = c.type_id
  left join (
    select type_id, jsonb_agg(jsonb_build_array(priority, waiting, scheduled, blocked, round(extract(epoch from oldest_at), 3)) order by priority) as depths
    from holdfast.depths group by type_id
  ) as d on d.type_id = c.type_id
  left join (
    select u.type_id, array_agg(coalesce(n.count, 0) order by b.bucket) as runs
    from (select type_id, max(bucket) as most from holdfast.durations group by type_id) as u
    cross join lateral generate_series(0, u.most) as b (bucket)
    left join holdfast.durations as n on n.type_id = u.type_id and n.bucket = b.bucket
    group by u.type_id
  ) as r on r.type_id = c.type_id
  left join (
    select p.type_id, jsonb_agg(jsonb_build_array(p.priority) || p.counts order by p.priority) as waits
    from (
      select u.type_id, u.priority, jsonb_agg(coalesce(n.count, 0) order by b.bucket) as counts
      from (select type_id, priority, max(bucket) as most from holdfast.waits group by type_id, priority) as u
      cross join lateral generate_series(0, u.most) as b (bucket)
      left join holdfast.waits as n on n.type_id = u.type_id and n.priority = u.priority and n.bucket = b.bucket
      group by u.type_id, u.priority
    ) as p group by p.type_id
  ) as w on w.type_id = c.type_id
  union all
  select 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '[]', '{}', '[]',
         (select count(*) from holdfast.workers as w where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes')::integer;

-- Counts what waits, and writes a row for each type whose numbers are others than in its last row; unless somebody did within p_apart.
-- p_wanted: how many workers the caller finds are wanted; null: as many as before.
-- p_previous: when the caller looked last; what changed did so after that. Null: it has not, and then it was after the last row of any type.
-- Rows of the future were written before the clock was set back: they go, and what they counted is in the next ones.
-- Returns when it looked, or p_previous where it did not.
create or replace function holdfast.take_samples(p_previous timestamptz default null, p_apart interval default '7 seconds', p_wanted integer default null) returns timestamptz
language plpgsql
set jit = off
as $$
declare
  v_now timestamptz;
  v_last timestamptz;
  v_ahead integer[];
begin
  perform holdfast.measure_depths();
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.samples', 0)) then
    return p_previous;
  end if;
  v_now := holdfast.now();
  select max(l.at) filter (where l.at <= v_now), array_agg(l.type_id) filter (where l.at > v_now) into v_last, v_ahead
  from (select 0 as id union all select id from holdfast.types) as t
  cross join lateral (select s.type_id, s.at from holdfast.samples as s where s.type_id = t.id order by s.at desc limit 1) as l;
  if v_last > v_now - p_apart then
    return p_previous;
  end if;
  if v_ahead is not null then
    delete from holdfast.samples as s where s.type_id = any (v_ahead) and s.at > v_now;
  end if;
  with changed as materialized (
    select n.*, case when n.type_id = 0 then coalesce(p_wanted, l.wanted, 0) else 0 end as wanted, l.at as last_at, coalesce(t.registered_at, v_now) as registered_at
    from holdfast.sampled_now as n
    left join holdfast.types as t on t.id = n.type_id
    left join lateral (select s.* from holdfast.samples as s where s.type_id = n.type_id order by s.at desc limit 1) as l on true
    where (n.enqueued, n.completed, n.failed, n.lost, n.dead, n.expired, n.cancelled, n.running, n.depths, n.runs, n.waits, n.workers)
      is distinct from (coalesce(l.enqueued, 0), coalesce(l.completed, 0), coalesce(l.failed, 0), coalesce(l.lost, 0), coalesce(l.dead, 0),
                        coalesce(l.expired, 0), coalesce(l.cancelled, 0), coalesce(l.running, 0), coalesce(l.depths, '[]'),
                        coalesce(l.runs, '{}'), coalesce(l.waits, '[]'), coalesce(l.workers, 0))
      or n.lane_id <> l.lane_id or (n.type_id = 0 and coalesce(p_wanted, 0) <> coalesce(l.wanted, 0) and p_wanted is not null)
  ), begun as (
    -- Before the first row of a type everything was 0, from when it was registered on.
    insert into holdfast.samples (type_id, at, since, lane_id)
    select c.type_id, least(c.registered_at, v_now - interval '1 millisecond'), least(c.registered_at, v_now - interval '1 millisecond'), c.lane_id
    from changed as c where c.last_at is null
  )
  insert into holdfast.samples (type_id, at, since, lane_id, enqueued, completed, failed, lost, dead, expired, cancelled, running, depths, runs, waits, workers, wanted)
  select c.type_id, v_now, greatest(least(coalesce(p_previous, v_last, c.registered_at), v_now), c.last_at, least(c.registered_at, v_now)),
         c.lane_id, c.enqueued, c.completed, c.failed, c.lost, c.dead, c.expired, c.cancelled, c.running, c.depths, c.runs, c.waits, c.workers, c.wanted
  from changed as c;
  return v_now;
end $$;

-- Deletes what is too fine for its age, and what is too old. The last row of each minute, of each hour and before the oldest that is kept stays:
-- it says how things stood from then on. So does the first of a type, from which everything is counted.
create or replace function holdfast.thin_samples() returns void
language plpgsql
set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.samples', 0)) then
    return;
  end if;
  delete from holdfast.samples as s using (
    select a.type_id, a.at, lag(a.at) over (partition by a.type_id order by a.at) as before, lead(a.at) over (partition by a.type_id order by a.at) as next
    from holdfast.samples as a
  ) as n
  where s.type_id = n.type_id and s.at = n.at and n.next < v_now - interval '2 hours'
    and (n.next < v_now - interval '35 days'
         or (n.before is not null and date_bin('1 minute', n.at, 'epoch') = date_bin('1 minute', n.next, 'epoch'))
         or (n.before is not null and n.next < v_now - interval '2 days' and date_bin('1 hour', n.at, 'epoch') = date_bin('1 hour', n.next, 'epoch')));
end $$;

-- What charts of the time between p_from and p_to need: of each of these types the last row of each step, the first of all, the last before
-- and the first after, which tells what went on at the end. A row can come twice.
create or replace function holdfast.read_samples(p_from timestamptz, p_to timestamptz, p_step interval, p_types integer[])
returns setof holdfast.samples
language plpgsql stable
set jit = off set enable_seqscan = off
as $$
begin
  return query
    select r.* from unnest(p_types) as t (id) cross join lateral (
      (select s.* from holdfast.samples as s where s.type_id = t.id and s.at <= p_from order by s.at desc limit 1)
      union all
      (select s.* from holdfast.samples as s where s.type_id = t.id and s.at > p_from and s.at <= p_to order by s.at limit 1)
      union all
      (select distinct on (date_bin(p_step, s.at, p_from)) s.* from holdfast.samples as s
       where s.type_id = t.id and s.at > p_from and s.at <= p_to order by date_bin(p_step, s.at, p_from), s.at desc)
      union all
      (select s.* from holdfast.samples as s where s.type_id = t.id and s.at > p_to order by s.at limit 1)
    ) as r
    order by r.type_id, r.at;
end $$;
