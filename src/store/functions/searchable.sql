-- Payloads that are found by index: at the paths that a type calls searchable. A job keeps a hash of each value there, so that nothing of a
-- payload stands in a second place, and whoever searches looks at the payload itself too.

-- The keys of what stands at these paths: of each text, number, true, false or null there, and of each of a list. Null: there is none. A
-- payload that holds another has all of its keys. Numbers are the same however they are written.
create or replace function holdfast.search_keys(p_paths jsonb, p_payload jsonb) returns bigint[]
language plpgsql immutable
as $$
declare
  v_path text;
  v_name text;
  v_found jsonb;
  v_keys bigint[] := '{}';
begin
  for v_path in select jsonb_array_elements_text(p_paths) loop
    v_found := p_payload;
    foreach v_name in array string_to_array(v_path, '.') loop
      -- By the name of a field alone: of a list this is null.
      v_found := v_found -> v_name;
    end loop;
    v_keys := v_keys || array(
      select ('x' || encode(substr(sha256(convert_to(
        v_path || '=' || case jsonb_typeof(o.value) when 'number' then trim_scale(o.value::numeric)::text else o.value::text end, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
      from jsonb_array_elements(case jsonb_typeof(v_found) when 'array' then v_found else jsonb_build_array(v_found) end) as o (value)
      where v_found is not null and jsonb_typeof(o.value) not in ('array', 'object'));
  end loop;
  return nullif(v_keys, '{}');
end $$;

-- Whoever enqueues may have read the type before its paths were others, and ids are made by clocks that may be a day ahead.
create or replace function holdfast.remember_past() returns trigger language plpgsql as $$
begin
  if new.searchable is distinct from old.searchable then
    new.searchable_from := holdfast.first_id_at(holdfast.now() + interval '1 day');
  end if;
  if new.lane_id <> old.lane_id then
    new.past_lanes := array(select distinct unnest(old.past_lanes || old.lane_id) order by 1);
  end if;
  return new;
end $$;

-- Its name comes after keep_operators_word, because triggers run in that order.
create or replace trigger remember_past before update on holdfast.types for each row execute function holdfast.remember_past();

-- How many rows of one day of history, or of dead letters, are of a time, a million at most, and the newest job before p_before among them. Only
-- a bitmap reads an index that knows pages, and those who search have switched them off for their own looks.
create or replace function holdfast.ended_in(
  p_day text, p_at text, p_after timestamptz, p_until timestamptz, p_before uuid, out rows bigint, out newest uuid
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = on set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  v_newest text;
begin
  execute format('select count(*), max(e.job_id::text collate "C") filter (where e.job_id < $3)
                  from (select job_id from holdfast.%1$I where %2$I >= $1 and %2$I < $2 limit 1000000) as e', p_day, p_at)
    into rows, v_newest using p_after, p_until, p_before;
  newest := v_newest::uuid;
end $$;

-- An id that is not below those of the jobs before p_before that have an attempt which ended in a time: nearly always the newest of them. Null: there
-- is none. Of days that lie whole in the time the newest is one look at an index. Of one that does not, an index that knows pages leads to what ended
-- in the time, a million rows at most; where there are more it counts as if it lay whole in it.
create or replace function holdfast.newest_ended(p_ended_after timestamptz, p_ended_before timestamptz, p_before uuid) returns uuid
language plpgsql stable
set enable_seqscan = off set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  v_after constant timestamptz := coalesce(p_ended_after, '-infinity');
  v_until constant timestamptz := coalesce(p_ended_before, 'infinity');
  v_day record;
  v_rows bigint;
  v_of_day uuid;
  v_newest uuid;
begin
  for v_day in
    -- The newest first. The default partitions may have jobs of any day.
    select n.*, coalesce(n.first + interval '1 day', 'infinity') as last from (
      select c.relname as name, case i.inhparent when 'holdfast.history'::regclass then 'ended_at' else 'died_at' end as at,
             case when c.relname ~ '_[0-9]{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp at time zone 'UTC' end as first
      from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
      where i.inhparent in ('holdfast.history'::regclass, 'holdfast.dead_letters'::regclass)
    ) as n order by n.first desc nulls first
  loop
    continue when v_day.first >= v_until or v_day.last <= v_after;
    -- Ids are made by clocks that may be a day ahead.
    exit when v_day.last <> 'infinity' and v_newest >= holdfast.first_id_at(v_day.last + interval '1 day');
    v_rows := null;
    if v_day.first is null or v_day.first < v_after or v_day.last > v_until then
      select e.rows, e.newest into v_rows, v_of_day from holdfast.ended_in(v_day.name, v_day.at, v_after, v_until, p_before) as e;
    end if;
    if v_rows is null or v_rows >= 1000000 then
      execute format('select job_id from holdfast.%I where job_id < $1 order by job_id desc limit 1', v_day.name) into v_of_day using p_before;
    end if;
    v_newest := greatest(v_newest, v_of_day);
  end loop;
  return v_newest;
end $$;
