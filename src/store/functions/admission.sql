-- What holdfast.enqueue refuses because too much waits, by the limits and in the words of src/enqueue/pressure.ts, and how imports share
-- a pace. The SDK and the server decide before they send, from what the whole process knows; plain SQL decides here, from what its session knows.

-- Why a job of this priority and class (ready, scheduled or unapproved) may not be added to one scope (the queue, a lane or a type); null: it may. p_added: how many the
-- session added to each class since the count was made. up_to: jobs of this priority and below are refused.
create or replace function holdfast.excess_of(p_depth jsonb, p_added jsonb, p_priority smallint, p_class text, out why text, out up_to integer)
language plpgsql immutable as $$
declare
  v_scope constant text := case p_depth ->> 'scope' when 'queue' then 'the queue' else concat_ws(' ', p_depth ->> 'scope', p_depth ->> 'name') end;
  v_part text;
  v_there bigint;
  v_most bigint;
  v_soft constant bigint := (p_depth ->> 'soft')::bigint;
  v_hard constant bigint := (p_depth ->> 'hard')::bigint;
  v_age constant double precision := (p_depth ->> 'age_ms')::double precision;
  v_oldest constant double precision := (p_depth ->> 'oldest_ms')::double precision;
begin
  foreach v_part in array '{scheduled,retrying,unapproved,blocked}'::text[] loop
    v_most := (p_depth ->> ('most_' || v_part))::bigint;
    v_there := (p_depth ->> v_part)::bigint + coalesce((p_added ->> v_part)::bigint, 0);
    continue when v_most is null or (v_part in ('scheduled', 'unapproved') and p_class <> v_part);
    if v_there >= v_most then
      why := format('%s has %s %s jobs (limit %s)', v_scope, v_there, v_part, v_most);
      up_to := 9;
      return;
    end if;
  end loop;
  if p_class <> 'ready' then
    return;
  end if;
  v_there := (p_depth ->> 'waiting')::bigint + coalesce((p_added ->> 'ready')::bigint, 0);
  up_to := case when v_there + 1 > v_hard then 9 when v_soft is null or v_there + 1 <= v_soft then -1
                when v_hard is null or v_hard = v_soft then 0
                else least(8, floor((v_there + 1 - v_soft)::double precision / (v_hard - v_soft) * 9))::integer end;
  why := format('%s has %s jobs waiting (soft limit %s, hard limit %s)', v_scope, v_there, coalesce(v_soft::text, 'none'), coalesce(v_hard::text, 'none'));
  if v_age > v_oldest and up_to < 9 then
    up_to := greatest(up_to, case when v_age > 2 * v_oldest then 9 else 4 end);
    why := format('the oldest job of %s has been waiting for %s s (limit %s s)', v_scope, round(v_age / 1000), round(v_oldest / 1000));
  end if;
  if p_priority > up_to then
    why := null;
  end if;
end $$;

-- What a session knows of the scopes that a type falls under, read anew: {"read", "counted", "looked", "depths"; "added" since that count,
-- and "own", the part of it that this transaction added, which no count of others sees}. Where nobody has counted for two seconds, this session counts,
-- in a twentieth of its time at most, and writes nothing: a row written here would be locked for as long as the caller's transaction lasts.
create or replace function holdfast.read_room(p_type text, p_known jsonb) returns jsonb language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_last holdfast.depths_measured;
  v_looked jsonb := p_known -> 'looked';
  v_fresh boolean;
begin
  select * into v_last from holdfast.depths_measured;
  v_fresh := v_now not between v_last.measured_at and v_last.measured_at + interval '2 seconds'
    and (v_looked is null or v_now not between (v_looked ->> 0)::timestamptz and (v_looked ->> 0)::timestamptz + (v_looked ->> 1)::interval);
  if not v_fresh and p_known is not null and v_last.measured_at <= (p_known ->> 'counted')::timestamptz then
    return p_known || jsonb_build_object('read', v_now);
  end if;
  return (
    select jsonb_build_object('read', v_now, 'depths', coalesce(jsonb_agg(to_jsonb(d)), '[]'), 'own', coalesce(p_known -> 'own', '{}'),
             'xact', p_known -> 'xact', 'added', case when v_fresh then '{}' else coalesce(p_known -> 'own', '{}') end,
             'counted', case when v_fresh then v_now else v_last.measured_at end,
             'looked', case when v_fresh
               then jsonb_build_array(v_now, greatest(interval '1 second', (clock_timestamp() - v_now) * 20)) else v_looked end)
    from holdfast.depths_under_limit(array[p_type], v_fresh) as d);
end $$;

-- Refuses a job of plain SQL while too much waits. The session remembers what it read for a second, so that a statement which enqueues a
-- million rows looks at the limits once a second. One session never exceeds a limit by more than it commits while a count is made; several may by
-- what they add between two counts.
create or replace function holdfast.refuse_excess(p_type text, p_priority smallint, p_class text) returns void language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_type record;
  v_session text;
  v_known jsonb;
  v_excess record;
  v_xact constant text := pg_current_xact_id()::text;
begin
  select t.id, coalesce(p_priority, t.priority) as priority, case when t.approval is not null then 'unapproved' else p_class end as class
  into v_type from holdfast.types as t where t.name = p_type;
  if not found then
    return;
  end if;
  -- Two installations may be used in one session.
  v_session := 'holdfast'::regnamespace::oid || '_' || v_type.id;
  v_known := nullif(current_setting('holdfast.room_' || v_session, true), '')::jsonb;
  if v_known ->> 'xact' is distinct from v_xact then
    v_known := v_known || jsonb_build_object('own', '{}'::jsonb, 'xact', v_xact);
  end if;
  if v_known is null or v_now not between (v_known ->> 'read')::timestamptz and (v_known ->> 'read')::timestamptz + interval '1 second' then
    v_known := holdfast.read_room(p_type, v_known);
  end if;
  for v_look in 1..2 loop
    select e.why, e.up_to into v_excess from jsonb_array_elements(v_known -> 'depths') as d (depth)
    cross join lateral holdfast.excess_of(d.depth, v_known -> 'added', v_type.priority, v_type.class) as e where e.why is not null limit 1;
    exit when v_excess.why is null or v_look = 2;
    -- What was counted a moment ago may have ended since.
    v_known := holdfast.read_room(p_type, v_known);
  end loop;
  if v_excess.why is not null then
    raise exception '%; % for now', v_excess.why,
      case when v_excess.up_to >= 9 then 'no more jobs are taken' else format('jobs of priority %s and below are not taken', v_excess.up_to) end
      using errcode = 'HF429', detail = case when v_excess.up_to >= 9 then '30000' else '5000' end;
  end if;
  v_known := v_known || jsonb_build_object('xact', v_xact,
    'added', jsonb_set(v_known -> 'added', array[v_type.class], to_jsonb(coalesce((v_known -> 'added' ->> v_type.class)::bigint, 0) + 1)),
    'own', jsonb_set(v_known -> 'own', array[v_type.class], to_jsonb(coalesce((v_known -> 'own' ->> v_type.class)::bigint, 0) + 1)));
  perform set_config('holdfast.room_' || v_session, v_known::text, false);
end $$;

-- Takes the next stretch of time in which so many paced jobs of these types become due, after those of earlier calls, and returns when it
-- begins. In the order of the types, so that two calls cannot deadlock. A stretch whose jobs were never stored stays empty.
create or replace function holdfast.reserve_pace(p_types text[], p_jobs integer, p_per_second double precision) returns timestamptz
language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_begins timestamptz;
begin
  insert into holdfast.paces (type_id, next_at)
  select t.id, '-infinity' from holdfast.types as t where t.name = any (p_types) order by t.id on conflict do nothing;
  select max(l.next_at) into v_begins from (
    select p.next_at from holdfast.paces as p join holdfast.types as t on t.id = p.type_id where t.name = any (p_types)
    order by p.type_id for update of p
  ) as l;
  v_begins := greatest(v_begins, holdfast.now());
  update holdfast.paces as p set next_at = v_begins + p_jobs / p_per_second * interval '1 second'
  from holdfast.types as t where t.id = p.type_id and t.name = any (p_types);
  return v_begins;
end $$;
