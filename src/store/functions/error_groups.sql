-- Error groups: which failures are the same for people, how many there were of each on which day, and an example. The fingerprint that says
-- which are the same is computed by whoever settles (job/fingerprint.ts) and stands in the error that is kept with the attempt.

-- The fingerprint of errors that are written here and not by a worker: each name is one group.
create or replace function holdfast.fingerprint_named(p_name text) returns text language sql immutable parallel safe
as $$ select left(encode(sha256(convert_to(p_name, 'UTF8')), 'hex'), 16) $$;

-- The group a job is in: that of its last failure; null where it never failed. A dead letter has it, too.
create or replace function holdfast.fingerprint_of(p_job uuid) returns text
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
  select coalesce(
    (select d.error ->> 'fingerprint' from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.error ->> 'fingerprint' from holdfast.history as h
     where h.job_id = p_job and h.error ->> 'fingerprint' is not null order by h.ended_at desc, h.attempt desc limit 1))
$$;

-- The name and the beginning of the message of the failure that put a job into a group; no row: it is not kept.
create or replace function holdfast.error_example(p_job uuid, p_fingerprint text, out name text, out message text)
returns setof record
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
  select e.error ->> 'name', left(e.error ->> 'message', 1000) from (
    (select h.error from holdfast.history as h
     where h.job_id = p_job and h.error ->> 'fingerprint' = p_fingerprint order by h.ended_at desc limit 1)
    union all
    (select d.error from holdfast.dead_letters as d where d.job_id = p_job and d.error ->> 'fingerprint' = p_fingerprint limit 1)
  ) as e limit 1
$$;

-- Adds what was recorded to the groups and their days, and deletes it: exactly once, because it is one statement. Called under the lock of
-- keep_totals, by one at a time.
create or replace function holdfast.keep_error_groups() returns void
language plpgsql
set jit = off
as $$
begin
  if not exists (select from holdfast.error_counts) then
    return;
  end if;
  with recorded as materialized (
    delete from holdfast.error_counts as c returning c.type_id, c.fingerprint, c.at, c.job_id, c.count
  ), by_day as (
    insert into holdfast.error_days as d (type_id, fingerprint, day, count)
    select r.type_id, r.fingerprint, (r.at at time zone 'UTC')::date, sum(r.count) from recorded as r group by 1, 2, 3
    on conflict (type_id, fingerprint, day) do update set count = d.count + excluded.count
  )
  insert into holdfast.error_groups as g (type_id, fingerprint, name, message, job_id, first_at, last_at)
  select s.type_id, s.fingerprint, e.name, e.message, s.job_id, s.first_at, s.last_at
  from (
    select r.type_id, r.fingerprint, min(r.at) as first_at, max(r.at) as last_at, (array_agg(r.job_id order by r.at desc))[1] as job_id
    from recorded as r group by r.type_id, r.fingerprint
  ) as s
  left join lateral holdfast.error_example(s.job_id, s.fingerprint) as e on true
  on conflict (type_id, fingerprint) do update set
    -- What is not kept any more is no example.
    name = coalesce(excluded.name, g.name), message = coalesce(excluded.message, g.message),
    job_id = case when excluded.name is null then g.job_id else excluded.job_id end,
    first_at = least(g.first_at, excluded.first_at), last_at = greatest(g.last_at, excluded.last_at);
end $$;

-- The groups that had a failure since p_since, of these types (null: of all) and of this fingerprint (null: of any): with what was recorded
-- and is not added up yet. Sorted by the number of failures since then, or by the last one, the highest or latest first.
create or replace function holdfast.list_error_groups(
  p_types integer[], p_fingerprint text, p_since timestamptz, p_by_count boolean, p_limit integer
) returns table (
  type_id integer, fingerprint text, name text, message text, job_id uuid, first_at timestamptz, last_at timestamptz, count bigint, days jsonb
)
language sql stable
set jit = off
as $$
  with fresh as materialized (
    select c.type_id, c.fingerprint, c.at, c.job_id, c.count from holdfast.error_counts as c
    where (p_types is null or c.type_id = any (p_types)) and (p_fingerprint is null or c.fingerprint = p_fingerprint)
  ), known as materialized (
    select k.type_id, k.fingerprint, min(k.first_at) as first_at, max(k.last_at) as last_at,
           -- The one whose message is the example, if there is one.
           (array_agg(k.job_id order by k.fresh, k.last_at desc) filter (where k.job_id is not null))[1] as job_id,
           max(k.name) as name, max(k.message) as message
    from (
      select g.type_id, g.fingerprint, g.first_at, g.last_at, g.job_id, g.name, g.message, false as fresh from holdfast.error_groups as g
      where (p_types is null or g.type_id = any (p_types)) and (p_fingerprint is null or g.fingerprint = p_fingerprint)
      union all
      select f.type_id, f.fingerprint, f.at, f.at, f.job_id, null, null, true from fresh as f
    ) as k
    group by k.type_id, k.fingerprint having max(k.last_at) >= p_since
  ), daily as materialized (
    select d.type_id, d.fingerprint, d.day, sum(d.count) as count from (
      select d.type_id, d.fingerprint, d.day, d.count from holdfast.error_days as d
      where d.day >= (p_since at time zone 'UTC')::date
      union all
      select f.type_id, f.fingerprint, (f.at at time zone 'UTC')::date, f.count from fresh as f where f.at >= date_trunc('day', p_since, 'UTC')
    ) as d group by d.type_id, d.fingerprint, d.day
  ), counted as (
    select d.type_id, d.fingerprint, sum(d.count)::bigint as count, jsonb_agg(jsonb_build_array(d.day, d.count) order by d.day) as days
    from daily as d group by d.type_id, d.fingerprint
  ), page as (
    select k.*, c.count, c.days from known as k join counted as c on c.type_id = k.type_id and c.fingerprint = k.fingerprint
    order by case when p_by_count then c.count end desc, k.last_at desc, k.fingerprint limit p_limit
  )
  select p.type_id, p.fingerprint, coalesce(e.name, p.name), coalesce(e.message, p.message), p.job_id, p.first_at, p.last_at, p.count, p.days
  from page as p left join lateral holdfast.error_example(p.job_id, p.fingerprint) as e on p.name is null
  order by case when p_by_count then p.count end desc, p.last_at desc, p.fingerprint
$$;

-- How many dead letters of a type are in a group, counted up to p_most of them.
create or replace function holdfast.dead_in_group(p_type integer, p_fingerprint text, p_most integer) returns integer
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
begin
  return (select count(*) from (
    select from holdfast.dead_letters as d where d.error ->> 'fingerprint' = p_fingerprint and d.type_id = p_type limit p_most) as l);
end $$;

-- Deletes groups that had no failure for as long as dead letters are kept, and days before that; and of more groups than p_most those that had
-- none for longest: a program whose messages are all different must not fill the table.
create or replace function holdfast.sweep_error_groups(p_dead interval, p_most integer default 10000) returns integer
language plpgsql
set jit = off
as $$
declare
  v_since timestamptz := holdfast.now() - p_dead;
  v_crowded timestamptz := (select g.last_at from holdfast.error_groups as g order by g.last_at desc offset p_most limit 1);
  v_gone integer;
begin
  -- One after the other with keep_error_groups, which may add to a group that goes.
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.totals', 0)) then
    return 0;
  end if;
  delete from holdfast.error_groups as g where g.last_at < v_since or g.last_at <= v_crowded;
  get diagnostics v_gone = row_count;
  delete from holdfast.error_days as d
  where d.day < (v_since at time zone 'UTC')::date
    or (v_gone > 0 and not exists (select from holdfast.error_groups as g where g.type_id = d.type_id and g.fingerprint = d.fingerprint));
  return v_gone;
end $$;
