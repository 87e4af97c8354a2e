-- The settings of lanes: what a lane was made with, what operators say, and what of it counts.

-- A lane as it is with what counts of everything that was said of it.
create or replace function holdfast.lane_that_counts(p_lane holdfast.lanes) returns holdfast.lanes language plpgsql stable as $$
declare
  v_fields constant jsonb := p_lane.defined || holdfast.values_said(p_lane.operator) || holdfast.values_said(p_lane.timed);
begin
  p_lane.slots := (v_fields ->> 'slots')::integer;
  p_lane.worker_slots := (v_fields ->> 'worker_slots')::integer;
  p_lane.poll_ms := coalesce((v_fields ->> 'poll_ms')::integer, 2000);
  p_lane.lease_ms := (v_fields ->> 'lease_ms')::integer;
  p_lane.enabled := coalesce((v_fields ->> 'enabled')::boolean, true);
  p_lane.ageing := coalesce((v_fields ->> 'ageing_ms')::double precision * interval '1 millisecond', interval '1 minute');
  p_lane.ends_at := holdfast.first_end(p_lane.timed);
  return p_lane;
end $$;

-- A lane as the log tells of it.
create or replace function holdfast.lane_facts(p_lane holdfast.lanes) returns jsonb language sql stable as $$
  select to_jsonb(p_lane) - '{id,defined,seeded,operator,timed,changed_by,changed_why,changed_at}'::text[]
$$;

-- Writes a lane as it is to be. Waits for claims under way, and where the lane gets its first limit for whatever ends attempts, so
-- that what it counts is what runs. Workers read it before their next look.
create or replace function holdfast.put_lane(p_before holdfast.lanes, p_after holdfast.lanes) returns void language plpgsql as $$
declare
  v_first_limit constant boolean := p_before.slots is null and p_after.slots is not null;
begin
  if v_first_limit then
    perform holdfast.be_alone(null, p_before.id);
  end if;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  update holdfast.lanes as l
  set slots = p_after.slots, worker_slots = p_after.worker_slots, poll_ms = p_after.poll_ms, lease_ms = p_after.lease_ms, enabled = p_after.enabled,
      ageing = p_after.ageing, defined = p_after.defined, seeded = p_after.seeded, operator = p_after.operator, timed = p_after.timed,
      ends_at = p_after.ends_at, changed_by = p_after.changed_by, changed_why = p_after.changed_why, changed_at = p_after.changed_at
  where l.id = p_before.id;
  if v_first_limit then
    perform holdfast.count_running_in_lane(p_before.id);
  end if;
  perform holdfast.wake_lanes(array[p_before.id], true);
end $$;

-- The lane of that name for whoever changes it: one at a time, so that what is read here stays so. p_create makes it where there is none.
create or replace function holdfast.lane_to_change(p_lane text, p_create boolean, out lane holdfast.lanes, out made boolean) language plpgsql as $$
declare
  v_lane smallint;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.lanes', 0));
  made := p_create and not exists (select from holdfast.lanes as l where l.name = p_lane);
  if made then
    insert into holdfast.lanes (name) values (p_lane);
  end if;
  v_lane := holdfast.lane_named(p_lane);
  select * into lane from holdfast.lanes as l where l.id = v_lane;
end $$;

-- Changes a lane, or makes it. Only the fields that are named change. They count until they are released, or with p_for until that time is over.
create or replace function holdfast.set_lane(p_lane text, p_fields jsonb, p_actor holdfast.actor, p_create boolean, p_for interval default null) returns void
language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_said constant jsonb := holdfast.as_said(p_fields, coalesce(p_actor.name, session_user), v_now + p_for);
  v_asked record;
  v_before holdfast.lanes;
  v_after holdfast.lanes;
begin
  if p_for is not null and p_fields -> 'slots' = 'null' then
    -- Whoever ends it could not count what runs by then.
    raise exception 'the limit of a lane cannot be taken away for a time' using errcode = 'HF002', hint = 'Set a high limit for that time instead.';
  end if;
  v_asked := holdfast.lane_to_change(p_lane, p_create);
  v_before := v_asked.lane;
  v_after := v_before;
  if p_for is not null then
    v_after.timed := coalesce(holdfast.not_over(v_after.timed, v_now), '{}') || v_said;
  else
    v_after.operator := nullif(coalesce(v_after.operator, '{}') || v_said, '{}');
    v_after.timed := nullif(holdfast.not_over(v_after.timed, v_now) - array(select jsonb_object_keys(p_fields)), '{}');
  end if;
  v_after := holdfast.lane_that_counts(v_after);
  if v_after is not distinct from v_before and not v_asked.made then
    return;
  end if;
  v_after.changed_by := coalesce(p_actor.name, session_user);
  v_after.changed_why := p_actor.why;
  v_after.changed_at := v_now;
  perform holdfast.put_lane(v_before, v_after);
  perform holdfast.audit('set_lane', p_lane, case when not v_asked.made then holdfast.lane_facts(v_before) end, holdfast.lane_facts(v_after), p_actor);
end $$;

-- Gives fields of a lane back to what it was made with, or what the environment of the first worker said; null: all of them.
create or replace function holdfast.release_lane(p_lane text, p_fields text[], p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_before holdfast.lanes := (holdfast.lane_to_change(p_lane, false)).lane;
  v_after holdfast.lanes := v_before;
begin
  v_after.operator := case when p_fields is not null then nullif(v_after.operator - p_fields, '{}') end;
  v_after.timed := case when p_fields is not null then nullif(v_after.timed - p_fields, '{}') end;
  v_after := holdfast.lane_that_counts(v_after);
  if v_after is distinct from v_before then
    v_after.changed_by := coalesce(p_actor.name, session_user);
    v_after.changed_why := p_actor.why;
    v_after.changed_at := holdfast.now();
    perform holdfast.put_lane(v_before, v_after);
    perform holdfast.audit('release_lane', p_lane, holdfast.lane_facts(v_before), holdfast.lane_facts(v_after), p_actor);
  end if;
end $$;

-- What the environment of a worker says of a lane: it makes the lane, or is taken over by one that no environment has said anything of. Of one
-- that has its values it changes nothing, whatever another environment says. Returns what differs from them: {"field": value}.
-- Locks and writes nothing where nothing changes: every worker of a fleet that starts names the same fields.
create or replace function holdfast.seed_lane(p_lane text, p_fields jsonb) returns jsonb language plpgsql as $$
declare
  v_differs jsonb;
  v_asked record;
  v_after holdfast.lanes;
begin
  select coalesce(jsonb_object_agg(f.key, f.value), '{}') into v_differs
  from holdfast.lanes as l cross join jsonb_each(p_fields) as f where l.name = p_lane and l.seeded and f.value is distinct from l.defined -> f.key;
  if exists (select from holdfast.lanes as l where l.name = p_lane and l.seeded) then
    return v_differs;
  end if;
  v_asked := holdfast.lane_to_change(p_lane, true);
  if (v_asked.lane).seeded then
    -- Another worker that started with it was first.
    return holdfast.seed_lane(p_lane, p_fields);
  end if;
  v_after := v_asked.lane;
  v_after.defined := v_after.defined || p_fields;
  v_after.seeded := true;
  v_after := holdfast.lane_that_counts(v_after);
  v_after.changed_by := 'the environment';
  v_after.changed_why := null;
  v_after.changed_at := holdfast.now();
  perform holdfast.put_lane(v_asked.lane, v_after);
  perform holdfast.audit('set_lane', p_lane, case when not v_asked.made then holdfast.lane_facts(v_asked.lane) end, holdfast.lane_facts(v_after),
                         holdfast.actor('the environment', null, null));
  return '{}';
end $$;

-- Ends what was said of lanes for a time only and is over. A lane that somebody has locked is left to the next tick. Nothing has to be counted: a
-- lane that had a limit for a time had its jobs counted, and no limit is taken away for a time.
create or replace function holdfast.end_lanes_over(p_now timestamptz) returns void language plpgsql as $$
declare
  v_before holdfast.lanes;
  v_after holdfast.lanes;
begin
  for v_before in select * from holdfast.lanes as l where l.ends_at <= p_now order by l.id for update skip locked loop
    v_after := v_before;
    v_after.timed := holdfast.not_over(v_after.timed, p_now);
    v_after := holdfast.lane_that_counts(v_after);
    update holdfast.lanes as l
    set slots = v_after.slots, worker_slots = v_after.worker_slots, poll_ms = v_after.poll_ms, lease_ms = v_after.lease_ms, enabled = v_after.enabled,
        ageing = v_after.ageing, timed = v_after.timed, ends_at = v_after.ends_at where l.id = v_before.id;
    perform holdfast.audit('ended_by_time', v_before.name, holdfast.lane_facts(v_before), holdfast.lane_facts(v_after), holdfast.actor('the clock', null, null));
    perform holdfast.wake_lanes(array[v_before.id], true);
  end loop;
end $$;
