-- The limits of types and dependencies: what the code says, what operators say, and what of it counts. Whoever sets one is alone
-- (be_alone), because what runs already counts against it from then on.

-- Writes into a gate what counts of everything that was said of its limits. The caller has locked it.
create or replace function holdfast.write_limits(p_gate integer) returns void language sql volatile as $$
  update holdfast.gates as g set
    max_running = (c.limits ->> 'max_running')::integer,
    key_max_running = (c.limits ->> 'key_max_running')::integer,
    rate_count = (c.limits ->> 'rate_count')::integer,
    rate_per = (c.limits ->> 'rate_per_ms')::double precision * interval '1 millisecond',
    key_rate_count = (c.limits ->> 'key_rate_count')::integer,
    key_rate_per = (c.limits ->> 'key_rate_per_ms')::double precision * interval '1 millisecond',
    fair = coalesce((c.limits ->> 'fair')::boolean, false),
    ordered = coalesce((c.limits ->> 'ordered')::boolean, false),
    halt_on_dead = coalesce((c.limits ->> 'halt_on_dead')::boolean, false),
    breaker_share = coalesce((c.limits ->> 'breaker_share')::double precision, 0.8),
    breaker_minimum = coalesce((c.limits ->> 'breaker_minimum')::integer, 10),
    breaker_window = coalesce((c.limits ->> 'breaker_window_ms')::double precision * interval '1 millisecond', interval '5 minutes'),
    breaker_probe = coalesce((c.limits ->> 'breaker_probe_ms')::double precision * interval '1 millisecond', interval '60 seconds'),
    ends_at = least(g.paused_until, holdfast.first_end(g.timed))
  from (select n.type_id, coalesce(n.defined, '{}') || holdfast.values_said(n.operator) || holdfast.values_said(n.timed) as limits
        from holdfast.gates as n where n.type_id = p_gate) as c
  where g.type_id = c.type_id
$$;

-- Notes what an operator says of the limits of a gate, for a time only where p_for says so.
create or replace function holdfast.say_limits(p_gate integer, p_limits jsonb, p_actor holdfast.actor, p_for interval) returns void language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_said constant jsonb := holdfast.as_said(p_limits, coalesce(p_actor.name, session_user), v_now + p_for);
  v_fields constant text[] := array(select jsonb_object_keys(p_limits));
begin
  if p_for is not null then
    update holdfast.gates as g set timed = coalesce(holdfast.not_over(g.timed, v_now), '{}') || v_said where g.type_id = p_gate;
  else
    update holdfast.gates as g set operator = coalesce(g.operator, '{}') || v_said, timed = nullif(holdfast.not_over(g.timed, v_now) - v_fields, '{}')
    where g.type_id = p_gate;
  end if;
  perform holdfast.write_limits(p_gate);
end $$;

-- Takes back what operators said of these limits; null: of all of them. What the code says counts then.
create or replace function holdfast.unsay_limits(p_gate integer, p_fields text[]) returns void language plpgsql as $$
begin
  update holdfast.gates as g
  set operator = case when p_fields is not null then nullif(g.operator - p_fields, '{}') end,
      timed = case when p_fields is not null then nullif(g.timed - p_fields, '{}') end
  where g.type_id = p_gate;
  perform holdfast.write_limits(p_gate);
end $$;

-- After the limits of a type have been written: what runs counts against them, and its keys run in order or no longer do.
create or replace function holdfast.limits_written(p_type integer, p_was_ordered boolean) returns void language plpgsql as $$
begin
  perform holdfast.count_running(p_type);
  if (select g.ordered from holdfast.gates as g where g.type_id = p_type) is distinct from p_was_ordered then
    perform holdfast.reorder_keys(p_type);
    update holdfast.keys as k set halted_at = null, halted_by = null where k.type_id = p_type and k.halted_at is not null;
  end if;
  perform holdfast.review_gate(p_type);
end $$;

-- Sets limits. Only the fields that are named change; null takes a limit away, whatever the code says. From its end on the limit holds: what runs
-- already counts. It stands until it is released, or with p_for until that time is over.
create or replace function holdfast.set_limits(p_type text, p_limits jsonb, p_actor holdfast.actor default null, p_for interval default null) returns void
language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  if p_for is not null and p_limits ?| '{ordered,halt_on_dead}' then
    -- Going back and forth would give every waiting job another position twice.
    raise exception 'the order of keys cannot be set for a time' using errcode = 'HF002', detail = 'for', hint = 'Leave the time out, and release it afterwards.';
  end if;
  perform holdfast.be_alone(array[v_type], null, case when p_limits ? 'ordered' then array[p_type] else '{}' end);
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  perform holdfast.say_limits(v_type, p_limits, p_actor, p_for);
  perform holdfast.audit('set_limits', p_type, v_before, holdfast.gate_settings(v_type), p_actor);
  perform holdfast.limits_written(v_type, (v_before ->> 'ordered')::boolean);
end $$;

-- Gives limits back to the code: these, or with null all of them.
create or replace function holdfast.release_limits(p_type text, p_fields text[], p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.be_alone(array[v_type], null, case when p_fields is null or 'ordered' = any (p_fields) then array[p_type] else '{}' end);
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  perform holdfast.unsay_limits(v_type, p_fields);
  perform holdfast.audit('release_limits', p_type, v_before, holdfast.gate_settings(v_type), p_actor);
  perform holdfast.limits_written(v_type, (v_before ->> 'ordered')::boolean);
end $$;

-- Those of these types whose limits code defined otherwise when a worker last started with them.
create or replace function holdfast.limited_otherwise(p_types text[], p_limits jsonb[]) returns integer[] language sql stable as $$
  select array(
    select t.id from unnest(p_types, p_limits) as d (type, limits) join holdfast.types as t on t.name = d.type
    left join holdfast.gates as g on g.type_id = t.id where d.limits is distinct from g.defined)
$$;

-- Notes the limits that definitions name, where they changed since last time. They count where no operator has said anything else. The arrays
-- stand side by side; null: the definition names no limits.
create or replace function holdfast.define_limits(p_types text[], p_limits jsonb[]) returns void language plpgsql as $$
declare
  v_type integer;
  v_limits jsonb;
  v_ordered boolean;
  v_changed constant integer[] := holdfast.limited_otherwise(p_types, p_limits);
begin
  if v_changed = '{}' then
    return;
  end if;
  -- For all of them at once: while one is waited for, nothing is held.
  perform holdfast.be_alone(v_changed, null, array(
    select d.type from unnest(p_types, p_limits) as d (type, limits) join holdfast.types as t on t.name = d.type
    left join holdfast.gates as g on g.type_id = t.id where t.id = any (v_changed) and (d.limits ? 'ordered' or g.defined ? 'ordered')));
  -- In the order in which a settle takes gates, so that the two wait for each other.
  for v_type, v_limits in
    select t.id, d.limits from unnest(p_types, p_limits) as d (type, limits) join holdfast.types as t on t.name = d.type
    where t.id = any (v_changed) order by t.id
  loop
    perform holdfast.lock_gate(v_type);
    select g.ordered into v_ordered from holdfast.gates as g where g.type_id = v_type;
    -- Another worker that started with the same definitions may have been first.
    update holdfast.gates as g set defined = v_limits where g.type_id = v_type and g.defined is distinct from v_limits;
    continue when not found;
    perform holdfast.write_limits(v_type);
    perform holdfast.limits_written(v_type, v_ordered);
  end loop;
end $$;

-- Locks a dependency for whoever changes its limits: alone, because what runs of all types that use it counts.
create or replace function holdfast.limit_alone(p_name text, out gate integer, out users integer[]) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(holdfast.dependencies_lock());
  gate := holdfast.dependency_named(p_name);
  users := holdfast.users_of(gate);
  perform holdfast.be_alone(users || gate, null);
end $$;

-- After the limits of a dependency have been written, for the types that use it.
create or replace function holdfast.users_limited(p_users integer[]) returns void language sql volatile as $$
  select holdfast.count_running(u.id) from unnest(p_users) as u (id);
  select holdfast.review_gate(u.id) from unnest(p_users) as u (id) order by u.id;
$$;

-- Sets the limits of a dependency, as set_limits does those of a type. p_create: makes the dependency where there is none of that name.
create or replace function holdfast.limit_dependency(p_name text, p_limits jsonb, p_actor holdfast.actor, p_create boolean, p_for interval default null) returns void
language plpgsql as $$
declare
  v_locked record;
  v_before jsonb;
begin
  perform pg_advisory_xact_lock(holdfast.dependencies_lock());
  if p_create then
    perform holdfast.make_dependencies(array[p_name]);
  end if;
  v_locked := holdfast.limit_alone(p_name);
  v_before := holdfast.gate_settings(v_locked.gate);
  perform holdfast.say_limits(v_locked.gate, p_limits, p_actor, p_for);
  perform holdfast.audit('limit_dependency', p_name, v_before, holdfast.gate_settings(v_locked.gate), p_actor);
  perform holdfast.users_limited(v_locked.users);
end $$;

-- Gives limits of a dependency back to the code: these, or with null all of them.
create or replace function holdfast.release_dependency(p_name text, p_fields text[], p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_locked record := holdfast.limit_alone(p_name);
  v_before jsonb := holdfast.gate_settings(v_locked.gate);
begin
  perform holdfast.unsay_limits(v_locked.gate, p_fields);
  perform holdfast.audit('release_dependency', p_name, v_before, holdfast.gate_settings(v_locked.gate), p_actor);
  perform holdfast.users_limited(v_locked.users);
end $$;

-- Those of these names that there is no dependency of, or one that code defined otherwise.
create or replace function holdfast.defined_otherwise(p_names text[], p_limits jsonb[]) returns text[] language sql stable as $$
  select array(
    select n.name from unnest(p_names, p_limits) as n (name, limits)
    left join holdfast.dependencies as d on d.name = n.name left join holdfast.gates as g on g.type_id = d.id
    where d.id is null or g.defined is distinct from n.limits)
$$;

-- Notes the limits that code names of dependencies, as define_limits does for types. The audit log says what a definition changed, because
-- it counts for types of other programs too. The arrays stand side by side; null: the code wants no limits.
create or replace function holdfast.define_dependencies(p_names text[], p_limits jsonb[]) returns void language plpgsql as $$
declare
  v_name text;
  v_gate integer;
  v_limits jsonb;
  v_before jsonb;
  v_changed text[] := holdfast.defined_otherwise(p_names, p_limits);
begin
  if v_changed = '{}' then
    return;
  end if;
  perform pg_advisory_xact_lock(holdfast.dependencies_lock());
  perform holdfast.make_dependencies(v_changed);
  -- For all of them at once: while one is waited for, nothing is held.
  perform holdfast.be_alone(array(
    select unnest(d.id || holdfast.users_of(d.id)) from holdfast.dependencies as d where d.name = any (v_changed)), null);
  for v_gate, v_name, v_limits in
    select d.id, d.name, n.limits from unnest(p_names, p_limits) as n (name, limits)
    join holdfast.dependencies as d on d.name = n.name join holdfast.gates as g on g.type_id = d.id
    -- Another worker that started with the same definitions may have been first.
    where n.name = any (v_changed) and g.defined is distinct from n.limits order by d.id
  loop
    v_before := holdfast.gate_settings(v_gate);
    update holdfast.gates as g set defined = v_limits where g.type_id = v_gate;
    perform holdfast.write_limits(v_gate);
    perform holdfast.audit('limit_dependency', v_name, v_before, holdfast.gate_settings(v_gate), holdfast.actor('the definition', null, null));
    perform holdfast.users_limited(holdfast.users_of(v_gate));
  end loop;
end $$;
