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
-- call: a limit that does not hold is none. To be called once, before anything else is locked. p_ordering: the types whose order is to change;
-- whoever stores jobs of those with a key is waited for too (order_lock).
create or replace function holdfast.be_alone(p_types integer[], p_lane smallint, p_ordering text[] default '{}') returns void
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
      perform pg_advisory_xact_lock(holdfast.order_lock(o.type)) from (select distinct t as type from unnest(p_ordering) as t order by t) as o;
      perform from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
      join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id
      where q.type_id = any (p_types) and q.pass = 0 or q.lane_id = p_lane for update of q;
      return;
    exception when lock_not_available then
      -- What was locked in here is free again.
    end;
    perform pg_sleep(0.1);
  end loop;
  raise exception 'a transaction has held a job that is to be counted or put in order for too long, so the limit was not set' using errcode = 'HF006',
    hint = 'End it, as a handler that called completeWith does by its commit, or a producer that has enqueued in it, and try again.';
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
