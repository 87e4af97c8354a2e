-- Bodies, history, results, dead letters, log lines and events live in one partition a day, so that old days are dropped and never deleted
-- row by row. Each family has a default partition as a net: an enqueue must not fail because nobody made the day.

-- The smallest id a job made at that moment can have.
create or replace function holdfast.first_id_at(at timestamptz) returns uuid language sql immutable parallel safe
as $$ select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

-- The time inside a UUIDv7.
create or replace function holdfast.time_of_id(id uuid) returns timestamptz language sql immutable parallel safe
as $$ select to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0) $$;

-- A fresh UUIDv7 by the database's clock.
create or replace function holdfast.new_job_id() returns uuid language sql volatile parallel safe
as $$
  select (substr(t, 1, 12) || '7' || substr(r, 14, 3) || substr(r, 17, 16))::uuid
  from (select lpad(to_hex(floor(extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') as t,
               replace(gen_random_uuid()::text, '-', '') as r) as parts
$$;

-- Which partitions of today and the days ahead are missing. A read, so that asking often costs nothing.
create or replace function holdfast.missing_partitions(p_ahead integer default 3) returns table (family text, day date)
language sql stable as $$
  select f.family, d.day
  from unnest(array['bodies', 'history', 'results', 'dead_letters', 'log_lines', 'events']) as f (family)
  join pg_class as c on c.oid = to_regclass('holdfast.' || f.family)
  cross join (select ((holdfast.now() at time zone 'UTC')::date + n) as day from generate_series(0, p_ahead) as n) as d
  where to_regclass('holdfast.' || f.family || '_' || to_char(d.day, 'YYYYMMDD')) is null
  order by d.day, f.family
$$;

-- Makes the partition of one day in one family. Rows of that day which waited in the default partition move in.
-- False: it is there by now, or somebody else is just making it, or the day is as good as over.
-- What is written meanwhile must not land in the default partition once its rows have moved, so that is locked first, and for a
-- day that has begun the writers of the family before it: they wait for this lock and then find the new partition, where one that
-- was already on its way into the default partition would be refused. Each lock is waited for 100 ms at most, because everybody
-- else waits behind; where somebody writes or reads longer than that, the caller comes again. One family at a time, because readers
-- take all of them in an order of their own and would deadlock with a transaction that holds two.
-- Where more than p_carry rows would have to move, which takes seconds, they stay where they are: the partition then begins a
-- minute from now. All that costs is that those rows are swept one by one when they have had their time.
create or replace function holdfast.make_partition(p_family text, p_day date, p_carry integer default 5000) returns boolean
language plpgsql
-- Bounds are written as text, and under another DateStyle or time zone the text would name another moment.
set lock_timeout = '100ms' set timezone = 'UTC' set datestyle = 'ISO, YMD'
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to constant timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  v_column constant text := case p_family when 'bodies' then 'id' when 'history' then 'ended_at' when 'dead_letters' then 'died_at' else 'at' end;
  v_name constant text := p_family || '_' || to_char(p_day, 'YYYYMMDD');
  v_rest constant text := p_family || '_rest';
  v_high constant text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_to)::text else v_to::text end);
  v_low text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
  v_many boolean;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.partitions', 0)) then
    return false;
  end if;
  -- Read from the catalog itself: what a session remembers of a name (to_regclass) may be older than the end of whoever had the lock.
  if exists (select from pg_class as c where c.relname = v_name and c.relnamespace = 'holdfast'::regnamespace) then
    return false;
  end if;
  if v_from <= holdfast.now() then
    execute format('lock table only holdfast.%I in share row exclusive mode', p_family);
  end if;
  execute format('lock table only holdfast.%I in access exclusive mode', v_rest);
  execute format('select exists (select from holdfast.%I where %I >= %s and %I < %s offset $1)', v_rest, v_column, v_low, v_column, v_high)
    into v_many using p_carry;
  if v_many then
    v_from := greatest(v_from, holdfast.now() + interval '1 minute');
    if v_from >= v_to then
      return false;
    end if;
    v_low := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
  end if;
  execute format('create table holdfast.%I (like holdfast.%I including all)', v_name, p_family);
  execute format('with moved as (delete from holdfast.%I where %I >= %s and %I < %s returning *)
                  insert into holdfast.%I select * from moved',
                 v_rest, v_column, v_low, v_column, v_high, v_name);
  execute format('alter table holdfast.%I attach partition holdfast.%I for values from (%s) to (%s)',
                 p_family, v_name, v_low, v_high);
  return true;
end $$;
