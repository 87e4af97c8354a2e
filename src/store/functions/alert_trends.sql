-- What rules of alerts are about that is seen only over a time: from the marks of counters, and from samples.

-- How much a counter grew since then, as of the last look.
create or replace function holdfast.grown(p_what text, p_since timestamptz) returns bigint language sql stable as $$
  select coalesce(max(m.value), 0) - coalesce(max(m.value) filter (where m.at <= p_since), 0)
  from holdfast.alert_marks as m where m.what = p_what
$$;

-- How the numbers of a type stood then; no row: nothing was known of it.
create or replace function holdfast.sampled_at(p_type integer, p_at timestamptz) returns setof holdfast.samples language sql stable rows 1 as $$
  select s.* from holdfast.samples as s where s.type_id = p_type and s.at <= p_at order by s.at desc limit 1
$$;

-- The upper bounds of the buckets, in seconds, as in src/job/buckets.ts.
create or replace function holdfast.bucket_bounds() returns double precision[] language sql immutable as $$
  select '{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}'::double precision[]
$$;

-- Below how many seconds that share of what was counted lies, as if what is in a bucket lay evenly between its bounds; past the last bound,
-- that. Null where nothing was counted.
create or replace function holdfast.bucket_share(p_counts bigint[], p_share double precision) returns double precision language sql immutable as $$
  select e.low + (e.high - e.low) * (b.whole * p_share - b.up_to + b.count) / b.count
  from (
    select c.bucket, c.count, sum(c.count) over (order by c.bucket) as up_to, sum(c.count) over () as whole
    from unnest(p_counts) with ordinality as c (count, bucket)
  ) as b
  cross join (select holdfast.bucket_bounds() as bounds) as l
  cross join lateral (
    select coalesce(l.bounds[b.bucket - 1], 0) as low, coalesce(l.bounds[b.bucket], l.bounds[cardinality(l.bounds)]) as high
  ) as e
  where b.count > 0 and b.up_to >= b.whole * p_share order by b.bucket limit 1
$$;

-- How many of each bucket came between the two.
create or replace function holdfast.buckets_since(p_now bigint[], p_then bigint[]) returns bigint[] language sql immutable as $$
  select array_agg(greatest(0, coalesce(n.now, 0) - coalesce(n.before, 0)) order by n.bucket)
  from unnest(p_now, p_then) with ordinality as n (now, before, bucket)
$$;

-- How long attempts of some priorities had been due when they began, by bucket, in a sample.
create or replace function holdfast.waits_of(p_waits jsonb, p_min_priority integer) returns bigint[] language sql immutable as $$
  select array_agg(b.count order by b.bucket) from (
    select c.bucket, sum(c.count::text::bigint)::bigint as count
    from jsonb_array_elements(p_waits) as p (list) cross join lateral jsonb_array_elements(p.list) with ordinality as c (count, bucket)
    where (p.list ->> 0)::integer >= p_min_priority and c.bucket > 1 group by c.bucket
  ) as b
$$;

-- What is slow or grows, by type, from samples of the last minutes and hours: less than twenty attempts say nothing about how long they take, and
-- less than an hour nothing about what is usual.
create or replace function holdfast.trends(p_rule holdfast.alert_rules, p_now timestamptz) returns table (subject text, value double precision)
language sql stable
set jit = off
as $$
  -- The wait of all types together.
  select '', holdfast.bucket_share(w.waits, 0.99)
  from (
    select array_agg(b.count order by b.bucket) as waits, sum(b.count) as began from (
      select u.bucket, sum(u.count)::bigint as count
      from holdfast.types as t
      cross join lateral holdfast.sampled_at(t.id, p_now) as n
      left join lateral holdfast.sampled_at(t.id, p_now - interval '5 minutes') as b on true
      cross join lateral unnest(holdfast.buckets_since(holdfast.waits_of(n.waits, p_rule.min_priority), holdfast.waits_of(b.waits, p_rule.min_priority)))
        with ordinality as u (count, bucket)
      where p_rule.type is null or p_rule.type = t.name group by u.bucket
    ) as b
  ) as w
  where p_rule.kind = 'slow_starts' and w.began >= 20 and holdfast.bucket_share(w.waits, 0.99) > p_rule.threshold
  union all
  select r.name, r.now / r.usual
  from (
    select t.name, holdfast.bucket_share(holdfast.buckets_since(n.runs, b.runs), 0.95) as now,
           holdfast.bucket_share(holdfast.buckets_since(b.runs, l.runs), 0.95) as usual,
           (select sum(c) from unnest(holdfast.buckets_since(n.runs, b.runs)) as c) as ended,
           (select sum(c) from unnest(holdfast.buckets_since(b.runs, l.runs)) as c) as ended_before
    from holdfast.types as t
    cross join lateral holdfast.sampled_at(t.id, p_now) as n
    cross join lateral holdfast.sampled_at(t.id, p_now - interval '5 minutes') as b
    left join lateral holdfast.sampled_at(t.id, p_now - interval '6 hours') as l on true
    where p_rule.kind = 'slow_runs' and (p_rule.type is null or p_rule.type = t.name)
  ) as r
  where r.ended >= 20 and r.ended_before >= 20 and r.now > r.usual * p_rule.threshold
  union all
  select coalesce(p_rule.type, ''), (g.now - g.before) / 5.0
  from (
    select (select coalesce(sum(d.waiting), 0) from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
            where d.priority >= p_rule.min_priority and (p_rule.type is null or p_rule.type = t.name)) as now,
           (select coalesce(sum((d.list ->> 1)::bigint), 0) from holdfast.types as t
            cross join lateral holdfast.sampled_at(t.id, p_now - interval '5 minutes') as s
            cross join lateral jsonb_array_elements(s.depths) as d (list)
            where (d.list ->> 0)::integer >= p_rule.min_priority and (p_rule.type is null or p_rule.type = t.name)) as before
    where p_rule.kind = 'depth_growth'
  ) as g
  where (g.now - g.before) / 5.0 > p_rule.threshold
  union all
  select e.name, e.rate
  from (
    select t.name, (n.enqueued - b.enqueued) / 5.0 as rate,
           (b.enqueued - l.enqueued) / (extract(epoch from p_now - interval '5 minutes' - greatest(l.at, p_now - interval '6 hours')) / 60) as usual
    from holdfast.types as t
    cross join lateral holdfast.sampled_at(t.id, p_now) as n
    cross join lateral holdfast.sampled_at(t.id, p_now - interval '5 minutes') as b
    cross join lateral (
      -- Six hours ago, or the first that is known.
      select * from (
        select s.at, s.enqueued, 1 as turn from holdfast.sampled_at(t.id, p_now - interval '6 hours') as s
        union all
        (select s.at, s.enqueued, 2 from holdfast.samples as s where s.type_id = t.id order by s.at limit 1)
      ) as s order by s.turn limit 1
    ) as l
    where p_rule.kind = 'enqueue_spike' and (p_rule.type is null or p_rule.type = t.name) and l.at <= p_now - interval '1 hour'
  ) as e
  where e.rate > p_rule.threshold and e.rate > 3 * e.usual
$$;
