-- Why: bodies, history and dead letters live in one partition a day, so that old days are dropped and never deleted
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

-- Makes the partitions of one day where they are missing. Rows of that day which waited in the default partition move in.
-- Attaching takes a light lock on the family and a brief exclusive one on its default partition, which is nearly empty.
create function holdfast.make_day(p_day date) returns integer language plpgsql as $$
declare
  v_made integer := 0;
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  v_family text;
  v_column text;
  v_low text;
  v_high text;
  v_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.days', 0));
  for v_family, v_column in values ('bodies', 'id'), ('history', 'ended_at'), ('dead_letters', 'died_at') loop
    v_name := v_family || '_' || to_char(p_day, 'YYYYMMDD');
    continue when to_regclass('holdfast.' || v_name) is not null;
    v_low := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
    v_high := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_to)::text else v_to::text end);
    execute format('create table holdfast.%I (like holdfast.%I including all)', v_name, v_family);
    execute format('with moved as (delete from holdfast.%I where %I >= %s and %I < %s returning *)
                    insert into holdfast.%I select * from moved',
                   v_family || '_rest', v_column, v_low, v_column, v_high, v_name);
    execute format('alter table holdfast.%I attach partition holdfast.%I for values from (%s) to (%s)',
                   v_family, v_name, v_low, v_high);
    v_made := v_made + 1;
  end loop;
  return v_made;
end $$;

-- Today and the days ahead. Returns how many partitions were missing, and writes nothing where none was.
create function holdfast.make_days(p_ahead integer default 3) returns integer language sql as $$
  select coalesce(sum(holdfast.make_day(day)), 0)::integer
  from (select ((holdfast.now() at time zone 'UTC')::date + n) as day from generate_series(0, p_ahead) as n) as days
  where exists (select from unnest(array['bodies', 'history', 'dead_letters']) as family
                where to_regclass('holdfast.' || family || '_' || to_char(day, 'YYYYMMDD')) is null)
$$;

select holdfast.make_days();
