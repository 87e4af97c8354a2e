-- Slots that are given back, and limits that are set while jobs run. A lane, and the counting of what runs already in a lane or of a type.

-- Held shared by whatever ends attempts (settle, rescue, a claim given back) while it runs, and alone by whoever counts what runs. Not by
-- complete_attempt, which runs for as long as its caller likes; whoever counts locks the rows of the jobs too, as that does.
-- It comes before every other lock: whoever ends attempts holds their rows, and then waits for gates and for claims.
create or replace function holdfast.settles_lock() returns bigint language sql immutable parallel safe
as $$ select hashtextextended('holdfast.settles', 0) $$;

-- Waits until it is alone: no settle, no claim, the gates of these types, and the rows of their jobs that run and no gate counts, or of those
-- that run in this lane. Whoever sets a limit counts after this. It waits for no row while others wait for it: completeWith holds the row of
-- its job until the caller's transaction ends, and takes no lock of settles, so that it cannot hold up those of other jobs. So where a lock is
-- not to be had within moments, all are given back for a while, with the end of the inner block. One that is never to be had fails the
-- call: a limit that does not hold is none. To be called once, before anything else is locked.
create or replace function holdfast.be_alone(p_types integer[], p_lane smallint) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set lock_timeout = '1s'
as $$
begin
  for v_look in 1..100 loop
    begin
      perform pg_advisory_xact_lock(holdfast.settles_lock());
      perform pg_advisory_xact_lock(holdfast.claims_lock());
      perform from holdfast.gates as g where g.type_id = any (p_types) order by g.type_id for update;
      perform set_config('lock_timeout', '50ms', true);
      perform from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
      join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id
      where q.type_id = any (p_types) and q.pass = 0 or q.lane_id = p_lane for update of q;
      return;
    exception when lock_not_available then
      -- What was locked in here is free again.
    end;
    perform pg_sleep(0.1);
  end loop;
  raise exception 'a transaction has held a job that is to be counted for too long, so the limit was not set' using errcode = 'HF006',
    hint = 'End it, as a handler that called completeWith does by its commit, and try again.';
end $$;

-- Puts jobs of a type that run already, and stood freely, under the gate: a limit set now counts them too. Runs under be_alone.
create or replace function holdfast.count_running(p_type integer) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  with running as materialized (
    select q.ctid as row_at from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
    join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id
    where q.type_id = p_type and q.pass = 0
  ), counted as (
    update holdfast.queue as q
    set pass = 1, concurrency_key = coalesce(b.concurrency_key, ''),
        seq = holdfast.gate_seq(g.ordered, b.concurrency_key, b.position, b.created_at, q.attempt, q.ready_at, q.priority, l.ageing)
    from running as r join holdfast.queue as n on n.ctid = r.row_at left join holdfast.bodies as b on b.id = n.job_id
    left join holdfast.gates as g on g.type_id = n.type_id join holdfast.lanes as l on l.id = n.lane_id
    where q.ctid = n.ctid
    returning q.lease_id
  )
  insert into holdfast.gate_leases as g (type_id, lease_id, jobs) select p_type, c.lease_id, count(*) from counted as c group by c.lease_id
  on conflict (type_id, lease_id) do update set jobs = g.jobs + excluded.jobs;
end $$;

-- The same for a lane that gets a limit of slots, under be_alone. A job that is being cancelled counts:
-- its slot is given back when its handler has ended, as of those that were cancelled before. Of these, one that is locked is ending.
create or replace function holdfast.count_running_in_lane(p_lane smallint) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  insert into holdfast.lane_slots (job_id, lane_id)
  select q.job_id, p_lane from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
  join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id and q.lane_id = p_lane
  on conflict do nothing;
  with stopping as materialized (
    select c.job_id from holdfast.cancellations as c join holdfast.bodies as b on b.id = c.job_id
    join holdfast.types as t on t.id = b.type_id where t.lane_id = p_lane for update of c skip locked
  )
  insert into holdfast.lane_slots (job_id, lane_id) select s.job_id, p_lane from stopping as s on conflict do nothing;
end $$;

-- A lane as it is with these fields.
create or replace function holdfast.lane_with(p_lane holdfast.lanes, p_fields jsonb) returns holdfast.lanes language plpgsql immutable as $$
begin
  p_lane.slots := case when p_fields ? 'slots' then (p_fields ->> 'slots')::integer else p_lane.slots end;
  p_lane.worker_slots := case when p_fields ? 'worker_slots' then (p_fields ->> 'worker_slots')::integer else p_lane.worker_slots end;
  p_lane.poll_ms := coalesce((p_fields ->> 'poll_ms')::integer, p_lane.poll_ms);
  p_lane.lease_ms := case when p_fields ? 'lease_ms' then (p_fields ->> 'lease_ms')::integer else p_lane.lease_ms end;
  p_lane.enabled := coalesce((p_fields ->> 'enabled')::boolean, p_lane.enabled);
  p_lane.ageing := coalesce((p_fields ->> 'ageing_ms')::double precision * interval '1 millisecond', p_lane.ageing);
  return p_lane;
end $$;

-- Changes a lane, or makes it. Only the fields that are named change. Workers read it before their next look.
-- Locks and writes nothing where nothing changes: every worker of a fleet that starts may name the same fields. Otherwise it waits
-- for claims under way, and where a lane gets its first limit for whatever ends attempts, so that what it counts is what runs.
create or replace function holdfast.set_lane(p_lane text, p_fields jsonb, p_actor holdfast.actor, p_create boolean) returns void
language plpgsql as $$
declare
  v_told constant text[] := '{id,changed_by,changed_why,changed_at}';
  v_made boolean;
  v_lane smallint;
  v_before holdfast.lanes;
  v_after holdfast.lanes;
begin
  if exists (select from holdfast.lanes as l where l.name = p_lane and l is not distinct from holdfast.lane_with(l, p_fields)) then
    return;
  end if;
  -- One at a time: what is read under it stays so.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.lanes', 0));
  v_made := p_create and not exists (select from holdfast.lanes as l where l.name = p_lane);
  if v_made then
    insert into holdfast.lanes (name) values (p_lane);
  end if;
  v_lane := holdfast.lane_named(p_lane);
  select * into v_before from holdfast.lanes as l where l.id = v_lane;
  v_after := holdfast.lane_with(v_before, p_fields);
  if v_after is not distinct from v_before and not v_made then
    return;
  end if;
  if v_before.slots is null and v_after.slots is not null then
    perform holdfast.be_alone(null, v_lane);
  end if;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  update holdfast.lanes as l
  set slots = v_after.slots, worker_slots = v_after.worker_slots, poll_ms = v_after.poll_ms, lease_ms = v_after.lease_ms,
      enabled = v_after.enabled, ageing = v_after.ageing, changed_by = p_actor.name, changed_why = p_actor.why, changed_at = holdfast.now()
  where l.id = v_lane;
  perform holdfast.audit('set_lane', p_lane, case when not v_made then to_jsonb(v_before) - v_told end, to_jsonb(v_after) - v_told, p_actor);
  if v_before.slots is null and v_after.slots is not null then
    perform holdfast.count_running_in_lane(v_lane);
  end if;
  perform holdfast.wake_lanes(array[v_lane], true);
end $$;

-- Gives back the slots of attempts that the caller has just ended: those of a lane. A slot of a type or key is free with the end of the
-- job's row; whoever is idle is called where jobs wait for it. p_types: the types of those that came through a gate; may repeat.
create or replace function holdfast.free_slots(p_jobs uuid[], p_types integer[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_lanes smallint[];
begin
  if exists (select from holdfast.lane_slots) then
    with freed as (
      delete from holdfast.lane_slots as s where s.job_id = any (p_jobs) returning s.lane_id
    )
    select array_agg(distinct f.lane_id) into v_lanes from freed as f
    where exists (select from holdfast.queue as q where q.lane_id = f.lane_id and q.pass = 0 and q.lease_id is null)
       or exists (select from holdfast.types as t
                  where t.lane_id = f.lane_id and t.gated and holdfast.first_before_gate(t.id) is not null);
    perform holdfast.wake_lanes(v_lanes, false);
  end if;
  if p_types is not null and exists (select from holdfast.idle_workers) then
    perform holdfast.wake_lanes(array(
      select distinct t.lane_id from holdfast.types as t
      where t.id = any (holdfast.and_sharing(p_types)) and holdfast.first_before_gate(t.id) is not null), false);
  end if;
end $$;
