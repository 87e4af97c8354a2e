-- Why: bodies, history, dead letters and log lines live in one partition a day, so that old days are dropped and never deleted
-- row by row. Each family has a default partition as a net: an enqueue must not fail because nobody made the day.
-- Lock: none that matters on an empty schema. Cost: milliseconds.
-- Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.bodies_rest partition of holdfast.bodies default;
create table holdfast.history_rest partition of holdfast.history default;
create table holdfast.dead_letters_rest partition of holdfast.dead_letters default;

-- The smallest id a job made at that moment can have.
create function holdfast.first_id_at(at timestamptz) returns uuid language sql immutable parallel safe
as $$ select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

-- A fresh UUIDv7 by the database's clock.
create function holdfast.new_job_id() returns uuid language sql volatile parallel safe
as $$
  select (substr(t, 1, 12) || '7' || substr(r, 14, 3) || substr(r, 17, 16))::uuid
  from (select lpad(to_hex(floor(extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') as t,
               replace(gen_random_uuid()::text, '-', '') as r) as parts
$$;

-- Which partitions of today and the days ahead are missing. A read, so that asking often costs nothing.
create function holdfast.missing_days(p_ahead integer default 3) returns table (family text, day date)
language sql stable as $$
  select f.family, d.day
  from unnest(array['bodies', 'history', 'dead_letters', 'log_lines']) as f (family)
  join pg_class as c on c.oid = to_regclass('holdfast.' || f.family)
  cross join (select ((holdfast.now() at time zone 'UTC')::date + n) as day from generate_series(0, p_ahead) as n) as d
  where to_regclass('holdfast.' || f.family || '_' || to_char(d.day, 'YYYYMMDD')) is null
  order by d.day, f.family
$$;

-- Makes the partition of one day in one family. Rows of that day which waited in the default partition move in.
-- False: it is there by now, or somebody else is just making it.
-- Attaching takes a light lock on the family and a brief exclusive one on its default partition. One family at a time,
-- because readers take all three in an order of their own and would deadlock with a transaction that holds two. Waits at
-- most 100 ms, because everybody else would wait behind; a day is wanted long before it comes.
create function holdfast.make_day(p_family text, p_day date) returns boolean
language plpgsql
set lock_timeout = '100ms'
as $$
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  v_column text := case p_family when 'bodies' then 'id' when 'history' then 'ended_at' when 'log_lines' then 'at' else 'died_at' end;
  v_name text := p_family || '_' || to_char(p_day, 'YYYYMMDD');
  v_low text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
  v_high text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_to)::text else v_to::text end);
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.days', 0)) or to_regclass('holdfast.' || v_name) is not null then
    return false;
  end if;
  execute format('create table holdfast.%I (like holdfast.%I including all)', v_name, p_family);
  execute format('with moved as (delete from holdfast.%I where %I >= %s and %I < %s returning *)
                  insert into holdfast.%I select * from moved',
                 p_family || '_rest', v_column, v_low, v_column, v_high, v_name);
  execute format('alter table holdfast.%I attach partition holdfast.%I for values from (%s) to (%s)',
                 p_family, v_name, v_low, v_high);
  return true;
end $$;

select holdfast.make_day(family, day) from holdfast.missing_days();
