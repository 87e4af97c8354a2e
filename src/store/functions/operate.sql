-- What operators do to lanes, types, keys and breakers, each as one function that leaves no half-done state.

-- The id of a registered type; refuses an unknown one, naming those that are.
create or replace function holdfast.type_named(p_name text) returns integer language plpgsql stable as $$
begin
  perform holdfast.check_types(array[p_name]);
  return (select t.id from holdfast.types as t where t.name = p_name);
end $$;

-- The id of a lane; refuses an unknown one, naming those that are.
create or replace function holdfast.lane_named(p_name text) returns smallint language plpgsql stable as $$
declare
  v_id smallint := (select l.id from holdfast.lanes as l where l.name = p_name);
begin
  if v_id is null then
    raise exception 'there is no lane named "%"', p_name
      using errcode = 'HF005',
        detail = jsonb_build_object('asked', p_name, 'known', (select jsonb_agg(l.name order by l.name) from holdfast.lanes as l));
  end if;
  return v_id;
end $$;

-- Makes sure the type has a gate and locks it. Everything below that changes a gate goes through here first.
create or replace function holdfast.lock_gate(p_type integer) returns void language plpgsql as $$
begin
  insert into holdfast.gates (type_id) values (p_type) on conflict do nothing;
  perform from holdfast.gates where type_id = p_type for update;
end $$;

-- After a gate has been changed: decides whether the type is gated and keyed, and notifies workers where jobs wait before it.
create or replace function holdfast.review_gate(p_type integer) returns void language plpgsql as $$
declare
  v_lanes smallint[] := array(select t.lane_id from holdfast.types as t where t.id = p_type and holdfast.first_before_gate(p_type) is not null);
begin
  update holdfast.gates as g
  set keyed = g.fair or g.ordered or g.key_max_running is not null or g.key_rate_count is not null
    or exists (select from holdfast.keys as k where k.type_id = p_type and (k.paused_at is not null or k.halted_at is not null or k.rests_until is not null))
  where g.type_id = p_type;
  update holdfast.types set gated = true where id = p_type and not gated;
  perform holdfast.drop_gate_if_open(p_type);
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- Pauses a type: its jobs wait, enqueue goes on; with p_for until that time is over. Waits for claims under way, which do not
-- know of it: from its end on none starts.
create or replace function holdfast.pause_type(p_type text, p_actor holdfast.actor, p_for interval default null) returns void language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  perform holdfast.pause_gate(v_type, p_actor, p_for);
  update holdfast.types set gated = true where id = v_type and not gated;
  perform holdfast.audit('pause_type', p_type, v_before, holdfast.gate_settings(v_type), p_actor);
end $$;

create or replace function holdfast.resume_type(p_type text, p_actor holdfast.actor default null) returns void
language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  perform holdfast.unpause_gate(v_type);
  update holdfast.gates set stopped_until = null where type_id = v_type and stopped_until is not null;
  perform holdfast.audit('resume_type', p_type, v_before, holdfast.gate_settings(v_type), p_actor);
  perform holdfast.review_gate(v_type);
end $$;

-- Pauses one key of a type; with p_for until that time is over, as pause_gate does it.
create or replace function holdfast.pause_key(p_type text, p_key text, p_actor holdfast.actor, p_for interval default null) returns void language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  insert into holdfast.keys as k (type_id, concurrency_key, paused_at, paused_by, paused_why, paused_until)
  values (v_type, p_key, holdfast.now(), p_actor.name, p_actor.why, holdfast.now() + p_for)
  on conflict (type_id, concurrency_key) do update
    set paused_at = excluded.paused_at, paused_by = excluded.paused_by, paused_why = excluded.paused_why, paused_until = excluded.paused_until
    where k.paused_at is null or k.paused_until is distinct from excluded.paused_until;
  perform holdfast.audit('pause_key', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_actor);
  perform holdfast.review_gate(v_type);
end $$;

-- Lets a key go on, whatever had stopped it: a pause, a rest, or the death of a job of it, where its jobs run in order.
create or replace function holdfast.resume_key(p_type text, p_key text, p_actor holdfast.actor default null) returns void
language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  update holdfast.keys as k set paused_at = null, paused_by = null, paused_why = null, paused_until = null, rests_until = null, halted_at = null, halted_by = null
  where k.type_id = v_type and k.concurrency_key = p_key;
  perform holdfast.audit('resume_key', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_actor);
  perform holdfast.review_gate(v_type);
end $$;

-- How large a share a key gets beside the others: a key of weight 2 gets twice as many turns as one of weight 1.
create or replace function holdfast.set_weight(p_type text, p_key text, p_weight real, p_actor holdfast.actor default null)
returns void language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  insert into holdfast.keys (type_id, concurrency_key, weight) values (v_type, p_key, p_weight)
  on conflict (type_id, concurrency_key) do update set weight = excluded.weight;
  perform holdfast.audit('set_weight', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_actor);
end $$;

-- Stops a type, or one key of it, for a while: what a handler asks for when it was told "too many requests".
create or replace function holdfast.stop_for(p_type integer, p_key text, p_for interval) returns void language plpgsql as $$
declare
  v_until timestamptz := holdfast.now() + p_for;
begin
  perform holdfast.lock_gate(p_type);
  if p_key is null then
    update holdfast.gates set stopped_until = greatest(stopped_until, v_until) where type_id = p_type;
  else
    insert into holdfast.keys as k (type_id, concurrency_key, rests_until) values (p_type, p_key, v_until)
    on conflict (type_id, concurrency_key) do update set rests_until = greatest(k.rests_until, v_until);
  end if;
  perform holdfast.review_gate(p_type);
end $$;

-- Writes down that a type is in another lane, and in which jobs of it may still turn up.
create or replace function holdfast.write_type_lane(p_type integer, p_lane smallint) returns void language sql volatile as $$
  update holdfast.types as t
  set lane_id = p_lane, left_lanes = holdfast.lanes_left(t.left_lanes, t.lane_id, p_lane), left_at = holdfast.now(),
      left_in = pg_current_xact_id()
  where t.id = p_type and t.lane_id <> p_lane
$$;

-- Puts a type into another lane, until that is released. Jobs enqueued from now on go there. Workers go on looking into the lane it left until
-- bring_strays has found that no job can turn up there any more.
create or replace function holdfast.set_type_lane(p_type text, p_lane text, p_actor holdfast.actor default null) returns void
language plpgsql as $$
declare
  v_type constant integer := holdfast.type_named(p_type);
  v_lane constant smallint := holdfast.lane_named(p_lane);
  v_before jsonb;
begin
  select jsonb_build_object('lane', l.name) into v_before
  from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.id = v_type;
  perform holdfast.write_type_lane(v_type, v_lane);
  update holdfast.types as t
  set defined = coalesce(t.defined, holdfast.type_settings(p_type) - 'version' || v_before),
      operator = coalesce(t.operator, '{}') || holdfast.as_said(jsonb_build_object('lane', p_lane), coalesce(p_actor.name, session_user), null)
  where t.id = v_type;
  perform holdfast.audit('move_type', p_type, v_before, jsonb_build_object('lane', p_lane), p_actor);
end $$;

-- Brings the jobs of types that changed their lane after them, at most p_limit a type. A lane is forgotten when no job of the
-- type stands in it, every transaction that wrote something before the change has ended, and an hour has passed for those
-- that had only read; where one of them keeps its snapshot for longer, its jobs do not come here (may_be_behind). Returns how many jobs were moved.
create or replace function holdfast.bring_strays(p_limit integer) returns integer
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_over xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_type holdfast.types;
  v_moved integer;
  v_total integer := 0;
begin
  for v_type in select * from holdfast.types as t where t.left_lanes <> '{}' order by t.id loop
    v_moved := holdfast.move_jobs_to_lane(v_type.name, p_limit);
    v_total := v_total + v_moved;
    update holdfast.types as t set left_lanes = '{}', left_at = null, left_in = null
    where t.id = v_type.id and v_moved = 0 and t.left_in = v_type.left_in and t.left_in < v_over
      and t.left_at < holdfast.now() - interval '1 hour'
      and not exists (select from holdfast.queue as q where q.type_id = t.id and q.lane_id = any (t.left_lanes) and q.lease_id is null);
  end loop;
  return v_total;
end $$;

-- Moves at most p_limit free jobs of a type to the lane the type is in now. Returns how many it moved.
create or replace function holdfast.move_jobs_to_lane(p_type text, p_limit integer) returns integer
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_type holdfast.types;
  v_moved integer;
begin
  select * into v_type from holdfast.types as t where t.id = holdfast.type_named(p_type);
  update holdfast.queue as q set lane_id = v_type.lane_id
  where q.ctid = any (array(
    select f.ctid from holdfast.queue as f
    where f.type_id = v_type.id and f.lane_id <> v_type.lane_id and f.lease_id is null limit p_limit for update skip locked));
  get diagnostics v_moved = row_count;
  if v_moved > 0 then
    perform holdfast.wake_lanes(array[v_type.lane_id], true);
  end if;
  return v_moved;
end $$;
