-- How much waits, per type and priority, for backpressure and for people. Counted now and then from the tables themselves, so that
-- it cannot drift and costs the hot path nothing; a count may take a twentieth of the time, no more.

-- Counts every live job by what it waits for. scheduled: for a time or for people; retrying and unapproved are a part of those.
create or replace function holdfast.count_living() returns table (
  type_id integer, priority smallint, waiting bigint, scheduled bigint, retrying bigint, unapproved bigint, blocked bigint, running bigint,
  oldest_at timestamptz
) language sql stable
set jit = off set max_parallel_workers_per_gather = 0
as $$
  select s.type_id, s.priority, count(*) filter (where s.part = 'ready'), count(*) filter (where s.part in ('later', 'failed', 'awaiting_approval')),
         count(*) filter (where s.part = 'failed'), count(*) filter (where s.part = 'awaiting_approval'),
         count(*) filter (where s.part = 'blocked'), count(*) filter (where s.part = 'running'),
         min(s.ready_at) filter (where s.part = 'ready')
  from (
    select l.type_id, l.priority, l.due_at as ready_at,
           case when l.status in ('blocked', 'failed', 'awaiting_approval') then l.status when l.place = 'waiting' then 'later'
                when l.lease_id is null then 'ready' else 'running' end as part
    from holdfast.live as l
  ) as s group by s.type_id, s.priority
$$;

-- Counts what waits, and what is blocked, which is no depth, unless that was done a moment ago or is being done. Writes only what changed.
-- Returns how many milliseconds ago the last count was made, null where there was none.
create or replace function holdfast.measure_depths() returns double precision
language plpgsql
set jit = off set max_parallel_workers_per_gather = 0
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_begun timestamptz := clock_timestamp();
  v_last holdfast.depths_measured;
begin
  select * into v_last from holdfast.depths_measured;
  -- A count of the future was made before the clock was set back.
  if holdfast.now() >= v_last.measured_at and holdfast.now() < v_last.measured_at + greatest(interval '1 second', v_last.cost * 20)
     or not pg_try_advisory_xact_lock(hashtextextended('holdfast.depths', 0)) then
    return extract(epoch from holdfast.now() - nullif(v_last.measured_at, '-infinity')) * 1000;
  end if;
  with living as materialized (
    select * from holdfast.count_living()
  ), ever as (
    insert into holdfast.enqueued as e (type_id, total, running)
    select c.type_id, c.ended + coalesce(l.living, 0), coalesce(l.running, 0) from holdfast.counters as c
    left join (
      select type_id, sum(waiting + scheduled + blocked + running) as living, sum(running) as running from living group by type_id
    ) as l on l.type_id = c.type_id
    left join holdfast.enqueued as k on k.type_id = c.type_id
    where coalesce(k.total, 0) < c.ended + coalesce(l.living, 0) or coalesce(k.running, 0) <> coalesce(l.running, 0)
    on conflict (type_id) do update set total = greatest(e.total, excluded.total), running = excluded.running
  ), counted as (
    select * from living where waiting > 0 or scheduled > 0 or blocked > 0
  ), gone as (
    delete from holdfast.depths as d
    where not exists (select from counted as c where c.type_id = d.type_id and c.priority = d.priority)
  )
  insert into holdfast.depths as d (type_id, priority, waiting, scheduled, retrying, unapproved, blocked, oldest_at)
  select c.type_id, c.priority, c.waiting, c.scheduled, c.retrying, c.unapproved, c.blocked, c.oldest_at from counted as c
  on conflict (type_id, priority) do update
    set waiting = excluded.waiting, scheduled = excluded.scheduled, retrying = excluded.retrying, unapproved = excluded.unapproved,
        blocked = excluded.blocked, oldest_at = excluded.oldest_at
    where (d.waiting, d.scheduled, d.retrying, d.unapproved, d.blocked, d.oldest_at)
      is distinct from (excluded.waiting, excluded.scheduled, excluded.retrying, excluded.unapproved, excluded.blocked, excluded.oldest_at);
  -- An empty queue is counted in no time; that it is still empty need not be written down.
  if found or exists (select from holdfast.depths) then
    update holdfast.depths_measured set measured_at = holdfast.now(), cost = clock_timestamp() - v_begun;
  end if;
  return extract(epoch from clock_timestamp() - v_begun) * 1000;
end $$;

-- The scopes with a limit that these types fall under, or all of them for null: how much waits there, and what is allowed (most_). approves:
-- whether one of the types wants its jobs approved. p_fresh: counts now; otherwise the last count is read.
create or replace function holdfast.depths_under_limit(p_types text[], p_fresh boolean default false)
returns table (scope text, name text, soft bigint, hard bigint, waiting bigint, age_ms double precision, oldest_ms double precision,
               scheduled bigint, retrying bigint, unapproved bigint, blocked bigint,
               most_scheduled bigint, most_retrying bigint, most_unapproved bigint, most_blocked bigint, approves boolean)
language sql stable
security definer set search_path = holdfast, pg_temp
as $$
  with counted as (
    select d.type_id, d.waiting, d.scheduled, d.retrying, d.unapproved, d.blocked, d.oldest_at from holdfast.depths as d where not p_fresh
    union all
    select l.type_id, l.waiting, l.scheduled, l.retrying, l.unapproved, l.blocked, l.oldest_at from holdfast.count_living() as l where p_fresh
  )
  select m.scope, m.name, m.soft, m.hard, coalesce(sum(d.waiting), 0)::bigint,
         extract(epoch from holdfast.now() - min(d.oldest_at)) * 1000, extract(epoch from m.oldest) * 1000,
         coalesce(sum(d.scheduled - d.retrying - d.unapproved), 0)::bigint, coalesce(sum(d.retrying), 0)::bigint,
         coalesce(sum(d.unapproved), 0)::bigint, coalesce(sum(d.blocked), 0)::bigint,
         m.scheduled, m.retrying, m.unapproved, m.blocked,
         exists (select from holdfast.types as a where a.name = any (p_types) and a.approval is not null)
  from holdfast.depth_limits as m
  left join (holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id join counted as d on d.type_id = t.id)
    on m.scope = 'queue' or (m.scope = 'lane' and m.name = l.name) or (m.scope = 'type' and m.name = t.name)
  where m.scope = 'queue' or p_types is null
     or (m.scope = 'type' and m.name = any (p_types))
     or (m.scope = 'lane' and m.name in (
           select al.name from holdfast.types as a join holdfast.lanes as al on al.id = a.lane_id where a.name = any (p_types)))
  group by m.scope, m.name
$$;
