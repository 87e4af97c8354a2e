-- Named dependencies: what several types call and must not overload together. The gate of one is a row of gates as that of a type is, and
-- its users are the types whose gate names it. What runs is counted by type, so that nothing has to be given back here either.

-- The types that use a dependency. Of a type there are none.
create or replace function holdfast.users_of(p_gate integer) returns integer[] language sql stable
set enable_seqscan = off set jit = off
as $$ select array(select g.type_id from holdfast.gates as g where g.uses <> '{}' and p_gate = any (g.uses)) $$;

-- These types and what they use. May repeat.
create or replace function holdfast.and_used(p_types integer[]) returns integer[] language sql stable
set enable_seqscan = off set jit = off
as $$ select p_types || array(select unnest(g.uses) from holdfast.gates as g where g.uses <> '{}' and g.type_id = any (p_types)) $$;

-- These types and all that use something they use. May repeat.
create or replace function holdfast.and_sharing(p_types integer[]) returns integer[] language sql stable
set enable_seqscan = off set jit = off
as $$
  select p_types || array(
    select o.type_id from holdfast.gates as g join holdfast.gates as o on o.uses && g.uses
    where g.uses <> '{}' and g.type_id = any (p_types) and o.uses <> '{}')
$$;

-- The id of a dependency; refuses an unknown one, naming those that are.
create or replace function holdfast.dependency_named(p_name text) returns integer language plpgsql stable as $$
declare
  v_id integer := (select d.id from holdfast.dependencies as d where d.name = p_name);
begin
  if v_id is null then
    raise exception 'there is no dependency named "%"', p_name
      using errcode = 'HF013',
        detail = jsonb_build_object('asked', p_name, 'known', coalesce((select jsonb_agg(d.name order by d.name) from holdfast.dependencies as d), '[]'));
  end if;
  return v_id;
end $$;

-- Held by whoever changes a dependency or who uses it, before any other lock: who uses what stands still under it.
create or replace function holdfast.dependencies_lock() returns bigint language sql immutable parallel safe
as $$ select hashtextextended('holdfast.dependencies', 0) $$;

-- Makes those of these dependencies that there are not, each with its gate.
create or replace function holdfast.make_dependencies(p_names text[]) returns void language sql volatile as $$
  insert into holdfast.dependencies (name)
  select n.name from unnest(p_names) as n (name) where not exists (select from holdfast.dependencies as d where d.name = n.name)
  group by n.name order by n.name on conflict do nothing;
  insert into holdfast.gates (type_id)
  select d.id from holdfast.dependencies as d where d.name = any (p_names) on conflict do nothing
$$;

-- The names of what a type uses, in order.
create or replace function holdfast.used_names(p_type integer) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(d.name order by d.name collate "C"), '[]') from holdfast.gates as g join holdfast.dependencies as d on d.id = any (g.uses)
  where g.type_id = p_type
$$;

-- Those of these types that do not use exactly this, or something that there is not yet.
create or replace function holdfast.using_otherwise(p_types text[], p_uses jsonb[]) returns integer[] language sql stable as $$
  select array(
    select t.id from unnest(p_types, p_uses) as d (type, names) join holdfast.types as t on t.name = d.type
    left join holdfast.gates as g on g.type_id = t.id
    where coalesce(g.uses, '{}') <> holdfast.dependency_ids(d.names) or coalesce(cardinality(g.uses), 0) <> jsonb_array_length(d.names))
$$;

-- Says which dependencies types use, where a definition changed that. Waits for claims and settles under way, as set_limits does, so that
-- what runs of a type counts against what it uses from the end of this on, and no longer against what it used. The arrays stand side by
-- side; an element of p_uses is a list of names. With an actor the audit log says what changed.
create or replace function holdfast.define_uses(p_types text[], p_uses jsonb[], p_actor holdfast.actor default null) returns void
language plpgsql as $$
declare
  v_type integer;
  v_name text;
  v_before jsonb;
  v_uses integer[];
  v_changed integer[] := holdfast.using_otherwise(p_types, p_uses);
begin
  if v_changed = '{}' then
    return;
  end if;
  perform pg_advisory_xact_lock(holdfast.dependencies_lock());
  perform holdfast.make_dependencies(array(select n.name from unnest(p_uses) as u (names), jsonb_array_elements_text(u.names) as n (name)));
  -- Another worker that started with the same definitions may have been first.
  v_changed := holdfast.using_otherwise(p_types, p_uses);
  if v_changed = '{}' then
    return;
  end if;
  perform holdfast.be_alone(holdfast.and_used(v_changed) || array(
    select d.id from holdfast.dependencies as d where exists (select from unnest(p_uses) as u (names) where u.names ? d.name)), null);
  for v_type, v_name, v_uses in
    select t.id, t.name, holdfast.dependency_ids(d.names) from unnest(p_types, p_uses) as d (type, names) join holdfast.types as t on t.name = d.type
    where t.id = any (v_changed) order by t.id
  loop
    perform holdfast.lock_gate(v_type);
    v_before := jsonb_build_object('uses', holdfast.used_names(v_type));
    update holdfast.gates as g set uses = v_uses where g.type_id = v_type;
    if p_actor.name is not null then
      perform holdfast.audit('change_type', v_name, v_before, jsonb_build_object('uses', holdfast.used_names(v_type)), p_actor);
    end if;
    perform holdfast.count_running(v_type);
    perform holdfast.review_gate(v_type);
  end loop;
end $$;

-- The ids of dependencies, in their order.
create or replace function holdfast.dependency_ids(p_names jsonb) returns integer[] language sql stable
as $$ select array(select d.id from holdfast.dependencies as d where p_names ? d.name order by d.id) $$;

-- Locks the gate of a dependency and those of its users, in the order in which claims and settles take them. Claims under way are waited
-- for where they may not know what the caller is about to say.
create or replace function holdfast.lock_dependency(p_name text, p_alone boolean, out gate integer, out users integer[])
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(holdfast.dependencies_lock());
  gate := holdfast.dependency_named(p_name);
  users := holdfast.users_of(gate);
  if p_alone then
    perform pg_advisory_xact_lock(holdfast.claims_lock());
  end if;
  perform from holdfast.gates as g where g.type_id = any (users || gate) order by g.type_id for update;
end $$;

-- Pauses a dependency: jobs of all types that use it wait; with p_for until that time is over.
create or replace function holdfast.pause_dependency(p_name text, p_actor holdfast.actor, p_for interval default null) returns void language plpgsql as $$
declare
  v_locked record := holdfast.lock_dependency(p_name, true);
  v_before jsonb := holdfast.gate_settings(v_locked.gate);
begin
  perform holdfast.pause_gate(v_locked.gate, p_actor, p_for);
  update holdfast.types set gated = true where id = any (v_locked.users) and not gated;
  perform holdfast.audit('pause_dependency', p_name, v_before, holdfast.gate_settings(v_locked.gate), p_actor);
end $$;

create or replace function holdfast.resume_dependency(p_name text, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_locked record := holdfast.lock_dependency(p_name, false);
  v_before jsonb := holdfast.gate_settings(v_locked.gate);
begin
  perform holdfast.unpause_gate(v_locked.gate);
  perform holdfast.audit('resume_dependency', p_name, v_before, holdfast.gate_settings(v_locked.gate), p_actor);
  perform holdfast.review_gate(u.id) from unnest(v_locked.users) as u (id) order by u.id;
end $$;

-- What operate_breaker does, to the breaker of a dependency.
create or replace function holdfast.operate_dependency_breaker(p_name text, p_action text, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_locked record := holdfast.lock_dependency(p_name, true);
begin
  perform holdfast.turn_breaker(v_locked.gate, 'dependency_breaker_', p_name, p_action, p_actor);
  perform holdfast.review_gate(u.id) from unnest(v_locked.users) as u (id) order by u.id;
end $$;

-- How many slots of a dependency are taken, by all types that use it.
create or replace function holdfast.dependency_taken(p_gate integer) returns integer language sql stable as $$
  select coalesce(sum(holdfast.gate_taken(g.type_id, g.key_max_running)), 0)::integer
  from holdfast.gates as g where g.type_id = any (holdfast.users_of(p_gate))
$$;

-- Of each of these dependencies what explain says of it: the same that explain_facts says of the gate of a type.
create or replace function holdfast.dependency_facts(p_uses integer[], p_now timestamptz) returns jsonb language sql stable
set enable_seqscan = off set jit = off
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'name', d.name, 'paused_by', g.paused_by, 'paused_why', g.paused_why, 'paused_until', g.paused_until,
      'paused_over_in_ms', extract(epoch from g.paused_until - p_now) * 1000, 'overrides', holdfast.overrides(g.defined, g.operator, g.timed, p_now),
      'breaker_hold', g.breaker_hold, 'breaker_opened_at', g.breaker_opened_at, 'breaker_reason', g.breaker_reason,
      'breaker_probe_in_ms', extract(epoch from g.breaker_probe_at - p_now) * 1000,
      'max_running', g.max_running, 'running', holdfast.dependency_taken(d.id),
      'held_by', (select coalesce(jsonb_agg(h.job_id), '[]') from (
         select r.job_id from unnest(holdfast.users_of(d.id)) as u (id), holdfast.gate_running(u.id) as r limit 5) as h),
      'rate_count', g.rate_count, 'rate_per_ms', extract(epoch from g.rate_per) * 1000, 'rate_used', coalesce(s.used, 0),
      'rate_free_in_ms', extract(epoch from s.first + holdfast.rate_window(g.rate_per) - p_now) * 1000) order by d.name), '[]')
  from holdfast.dependencies as d join holdfast.gates as g on g.type_id = d.id
  left join lateral (
    select sum(s.count) as used, min(s.at) as first from holdfast.starts as s
    where s.type_id = d.id and s.at > p_now - holdfast.rate_window(g.rate_per)) as s on true
  where d.id = any (p_uses)
$$;
