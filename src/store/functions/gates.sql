-- Flow control. A job of a type with a limit, a pause or an open breaker stands in the queue before its gate (pass > 0), out of the way
-- of other claims, and is claimed under the lock of the gate's row. Types without gates pay nothing for this.

-- The position of a job before its gate: since when it is ready, moved back by one ageing step per priority, in microseconds.
create or replace function holdfast.gate_position(p_ready timestamptz, p_priority integer, p_ageing interval) returns bigint
language sql stable parallel safe
as $$ select (extract(epoch from p_ready - p_priority * p_ageing) * 1000000)::bigint $$;

-- Of these queue rows, all locked by the caller and free, puts those before their gate whose type has been gated since they were
-- queued. Returns the others.
create or replace function holdfast.move_aside(p_rows tid[], p_gated integer[]) returns tid[]
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_free tid[] := array(select q.ctid from holdfast.queue as q where q.ctid = any (p_rows) and q.type_id <> all (p_gated));
begin
  update holdfast.queue as q
  set pass = 1, concurrency_key = coalesce(b.concurrency_key, ''),
      seq = holdfast.gate_seq(g.ordered, b.concurrency_key, b.position, b.created_at, q.attempt, q.ready_at, q.priority, l.ageing)
  from unnest(p_rows) as r (row_at)
  join holdfast.queue as n on n.ctid = r.row_at left join holdfast.bodies as b on b.id = n.job_id
  left join holdfast.gates as g on g.type_id = n.type_id join holdfast.lanes as l on l.id = n.lane_id
  where q.ctid = n.ctid and n.type_id = any (p_gated);
  return v_free;
end $$;

-- The jobs that hold a slot of a gated type: those that run, and those that were cancelled and whose handler may still be at work.
-- Derived from the jobs themselves, so that nothing has to be given back and nothing can be left behind.
create or replace function holdfast.gate_running(p_type integer) returns table (job_id uuid, concurrency_key text)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_leases bigint[] := array(select g.lease_id from holdfast.gate_leases as g where g.type_id = p_type);
  v_jobs uuid[] := array(select unnest(e.jobs) from holdfast.leases as e where e.id = any (v_leases));
begin
  -- One walk through the index for all jobs; joined with them it would be a descent for each.
  return query
    select q.job_id, q.concurrency_key from holdfast.queue as q
    where q.job_id = any (v_jobs) and q.lease_id = any (v_leases) and q.type_id = p_type
    union all
    select c.job_id, c.concurrency_key from holdfast.cancellations as c where c.type_id = p_type;
end $$;

-- How many slots of a type are taken. Of a key with a limit no more run at once than that, however many are claimed to run one
-- after the other.
create or replace function holdfast.gate_taken(p_type integer, p_key_max integer) returns integer language sql stable as $$
  select coalesce(sum(case when k.key = '' then k.jobs else least(k.jobs, p_key_max) end), 0)::integer
  from (select r.concurrency_key as key, count(*) as jobs from holdfast.gate_running(p_type) as r group by r.concurrency_key) as k
$$;

-- How many jobs, of those wished for, a gate lets start now, whatever their keys; and how many slots of the type are free, null where
-- it has no limit of them. What a type uses counts as well: as many start as every gate on the way lets through.
-- probe: a breaker is open and one may try. held: only people open it. next_at: when looking again is worth while because of the clock.
-- What was claimed under leases that are open is never less than what runs: only where that reaches the limit are the jobs counted.
-- p_lease: the lease of the claim that asks. What that has taken already, also of another type that uses the same, runs nowhere yet.
-- p_types: whose jobs pass the gate of a dependency; null: p_gate is that of a type.
create or replace function holdfast.gate_room(
  p_gate holdfast.gates, p_wish integer, p_now timestamptz, p_lease bigint default null, p_types integer[] default null,
  out room integer, out slots integer, out probe boolean, out held boolean, out next_at timestamptz
)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_types integer[] := coalesce(p_types, array[p_gate.type_id]);
  v_mine bigint := 0;
  v_used bigint;
  v_first timestamptz;
  v_shared holdfast.gates;
  v_other record;
begin
  room := 0;
  probe := p_gate.breaker_opened_at is not null and p_gate.breaker_hold = 'auto';
  held := (p_gate.paused_at is not null and p_gate.paused_until is null) or p_gate.breaker_hold = 'open';
  if held then
    return;
  end if;
  next_at := greatest(p_gate.stopped_until, p_gate.paused_until, case when probe then p_gate.breaker_probe_at end);
  if next_at > p_now then
    return;
  end if;
  next_at := null;
  room := case when probe then least(1, p_wish) else p_wish end;
  if p_lease is not null and (p_gate.max_running is not null or p_gate.rate_count is not null) then
    v_mine := (select coalesce(sum(l.jobs), 0) from holdfast.gate_leases as l where l.type_id = any (v_types) and l.lease_id = p_lease);
  end if;
  if p_gate.rate_count is not null then
    select sum(s.count), min(s.at) into v_used, v_first from holdfast.starts as s
    where s.type_id = p_gate.type_id and s.at > p_now - holdfast.rate_window(p_gate.rate_per);
    room := greatest(0, least(room, p_gate.rate_count - coalesce(v_used, 0) - v_mine));
    if room = 0 then
      next_at := v_first + holdfast.rate_window(p_gate.rate_per);
      return;
    end if;
  end if;
  if p_gate.max_running is not null then
    slots := p_gate.max_running
      - (select coalesce(sum(l.jobs), 0) from holdfast.gate_leases as l where l.type_id = any (v_types))
      - (select count(*) from holdfast.cancellations as c where c.type_id = any (v_types));
    if slots < room then
      slots := p_gate.max_running - v_mine
        - (select coalesce(sum(holdfast.gate_taken(g.type_id, g.key_max_running)), 0) from holdfast.gates as g where g.type_id = any (v_types));
    end if;
    if slots <= 0 then
      room := 0;
      return;
    end if;
  end if;
  if p_gate.uses <> '{}' then
    for v_shared in select g.* from holdfast.gates as g where g.type_id = any (p_gate.uses) loop
      v_other := holdfast.gate_room(v_shared, room, p_now, p_lease, holdfast.users_of(v_shared.type_id));
      room := v_other.room;
      slots := least(slots, v_other.slots);
      probe := probe or v_other.probe;
      held := v_other.held;
      next_at := v_other.next_at;
      exit when room = 0;
    end loop;
  end if;
end $$;

-- The gated types of a lane whose gate jobs wait before and may be open, as far as can be seen without its lock; when the first job
-- before each is ready, moved back by one ageing step per priority; and what they use.
create or replace function holdfast.open_gates(
  p_lane smallint, p_types integer[], out types integer[], out ranks timestamptz[], out uses integer[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_aside text[] := case when exists (select from holdfast.set_aside) then holdfast.passed_over('admit') end;
  v_gate holdfast.gates;
  v_head bigint;
begin
  for v_gate in
    select g.* from holdfast.types as t join holdfast.gates as g on g.type_id = t.id
    where t.gated and t.lane_id = p_lane and (p_types is null or t.id = any (p_types)) and (v_aside is null or t.name <> all (v_aside))
    order by t.id
  loop
    v_head := holdfast.first_before_gate(v_gate.type_id);
    if v_head is not null and (holdfast.gate_room(v_gate, 1, v_now)).room > 0 then
      types := types || v_gate.type_id;
      uses := uses || v_gate.uses;
      ranks := ranks || case when not v_gate.ordered then to_timestamp(v_head / 1000000.0) else (
        select q.ready_at - q.priority * l.ageing from holdfast.queue as q join holdfast.lanes as l on l.id = p_lane
        where q.type_id::bigint = v_gate.type_id and q.pass > 0 and q.lease_id is null order by q.seq limit 1) end;
    end if;
  end loop;
end $$;

-- The position of the first job that waits before the gate of a type; null where none does.
create or replace function holdfast.first_before_gate(p_type integer) returns bigint language sql stable
as $$ select f.seq from holdfast.first_free(p_type) as f $$;

-- Looks at every gate, as the clock asks for: says whether one of these types has jobs before it and may be open, when the next will be,
-- at the latest in half a second while jobs wait for anything but people, and what claims have set aside since the last look.
-- Corrects the flag "gated" of types: one that lost it while a job of it was being put before the gate gets it back, and one that nothing holds
-- back any more loses it.
create or replace function holdfast.look_at_gates(p_types integer[], out open boolean, out next_at timestamptz, out said jsonb)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_gate holdfast.gates;
  v_gated boolean;
  v_room record;
begin
  open := false;
  if exists (select from holdfast.gates as g where g.ends_at <= v_now) or exists (select from holdfast.keys as k where k.paused_until <= v_now) then
    perform holdfast.end_all_over(v_now);
  end if;
  next_at := (select min(g.ends_at) from holdfast.gates as g where g.ends_at > v_now);
  for v_gate in select g.* from holdfast.gates as g order by g.type_id loop
    -- Null: the gate of a dependency, before which no job stands.
    v_gated := (select t.gated from holdfast.types as t where t.id = v_gate.type_id);
    continue when v_gated is null;
    if holdfast.first_before_gate(v_gate.type_id) is not null then
      if not v_gated then
        update holdfast.types as t set gated = true where t.id = v_gate.type_id;
      end if;
      continue when p_types is not null and v_gate.type_id <> all (p_types);
      if exists (select from holdfast.starts as s where s.type_id = any (v_gate.type_id || v_gate.uses) and s.at > v_now + interval '1 second') then
        -- Where somebody has the gate, they see to it.
        perform holdfast.follow_clock_back(f.type_id, v_now) from (
          select g.type_id from holdfast.gates as g where g.type_id = any (v_gate.type_id || v_gate.uses) for update skip locked) as f;
      end if;
      v_room := holdfast.gate_room(v_gate, 1, v_now);
      open := open or v_room.room > 0;
      if not v_room.held then
        next_at := least(next_at, v_room.next_at, v_now + interval '500 milliseconds');
      end if;
    elsif v_gated then
      perform holdfast.drop_gate_if_open(v_gate.type_id);
    end if;
  end loop;
  if exists (select from holdfast.set_aside as s where s.duty = 'admit' and not s.told) then
    with told as (
      update holdfast.set_aside as s set told = true where s.duty = 'admit' and not s.told returning s.of, s.error
    )
    select jsonb_build_array(jsonb_build_object('duty', 'admit', 'done', 0, 'ms', 0,
             'failed', jsonb_agg(jsonb_build_object('of', t.of, 'error', t.error)))) into said from told as t;
  end if;
end $$;

-- Whether anything holds jobs of a type back, or may: a limit, a rate, a pause, a stop, an open breaker, or one of these for a key or for
-- what it uses. A limit that is taken away for a time only is one that will: until then what runs is counted.
create or replace function holdfast.gate_holds(p_type integer) returns boolean language sql stable as $$
  select exists (
      select from holdfast.gates as g where g.type_id = any (holdfast.and_used(array[p_type])) and (
        g.max_running is not null or g.rate_count is not null or g.fair or g.ordered or g.key_max_running is not null or g.key_rate_count is not null
        or g.paused_at is not null or g.timed is not null or g.breaker_opened_at is not null or g.breaker_hold = 'open' or g.stopped_until > holdfast.now()))
    or exists (
      select from holdfast.keys as k where k.type_id = p_type and (k.paused_at is not null or k.halted_at is not null or k.rests_until > holdfast.now()))
$$;

-- Lets jobs of a type go straight into the queue again once nothing holds them back, and none waits or runs that came to the gate.
-- Where somebody has the gate it is left to the next one who comes by.
create or replace function holdfast.drop_gate_if_open(p_type integer) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
begin
  if not (select t.gated from holdfast.types as t where t.id = p_type) or holdfast.gate_holds(p_type)
     or exists (select from holdfast.queue as q where q.type_id = p_type and q.pass > 0) then
    return;
  end if;
  perform from holdfast.gates as g where g.type_id = p_type for update skip locked;
  if found and not holdfast.gate_holds(p_type) then
    update holdfast.gates as g set keyed = false where g.type_id = p_type and g.keyed;
    update holdfast.types as t set gated = false where t.id = p_type and t.gated;
  end if;
end $$;

-- A lock that every claim holds in share mode while it runs, and that whoever makes a rule takes alone, so that no claim is under way that does not know
-- of the rule. Gates are locked after it.
create or replace function holdfast.claims_lock() returns bigint language sql immutable parallel safe
as $$ select hashtextextended('holdfast.claims', 0) $$;
