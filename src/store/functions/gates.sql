-- Flow control. Jobs of a type with a limit, a pause or an open breaker do not stand in the queue, where claims would
-- walk over them; they wait in `gated` and are admitted when their gate opens. Types without gates pay nothing for this.

-- Of these queue rows, all locked by the caller, moves those to their gate whose type is gated and that did not come
-- through it, or whose gate has closed since. A probe may pass an open breaker and nothing else. Returns the rows that may be
-- claimed.
create or replace function holdfast.move_aside(p_rows tid[], p_gated integer[]) returns tid[]
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_shut integer[] := array(
    select g.type_id from holdfast.gates as g
    where g.paused_at is not null or g.stopped_until > holdfast.now() or g.breaker_hold = 'open');
  v_broken integer[] := array(
    select g.type_id from holdfast.gates as g where g.breaker_opened_at is not null and g.breaker_hold = 'auto');
  v_moved tid[];
begin
  with aside as (
    delete from holdfast.queue as q
    where q.ctid = any (p_rows) and q.type_id = any (p_gated)
      and (q.pass = 0 or q.type_id = any (v_shut) or (q.pass = 1 and q.type_id = any (v_broken)))
    returning q.ctid, q.job_id, q.ready_at, q.type_id, q.lane_id, q.priority, q.attempt
  ), given_up as (
    delete from holdfast.admissions as h using aside as a where h.job_id = a.job_id returning h.type_id, h.concurrency_key
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select a.job_id, a.ready_at - a.priority * l.ageing, a.ready_at, a.type_id, a.lane_id, a.priority, a.attempt,
           coalesce(b.concurrency_key, '')
    from aside as a join holdfast.lanes as l on l.id = a.lane_id left join holdfast.bodies as b on b.id = a.job_id
    returning type_id, concurrency_key
  ), arrived as (
    -- The key whose slot was given up is looked at too: it may be another, and be passed over as full.
    insert into holdfast.dirty_keys (type_id, concurrency_key)
    select g.type_id, g.concurrency_key from gated as g union select u.type_id, u.concurrency_key from given_up as u
  )
  select array_agg(a.ctid) into v_moved from aside as a;
  if v_moved is null then
    return p_rows;
  end if;
  return array(select r from unnest(p_rows) as r where not r = any (v_moved));
end $$;

-- Runs under the plan settings of claim_jobs.
-- Whether one of the next p_limit free jobs came through a gate.
create or replace function holdfast.admitted_ahead(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_limit integer)
returns boolean
language plpgsql as $$
begin
  return exists (
    select from (
      select q.pass from holdfast.queue as q
      where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
        and (p_types is null or q.type_id = any (p_types))
      order by q.seq limit p_limit
    ) as near where near.pass > 0);
end $$;

-- Runs under the plan settings of claim_jobs.
-- Locks free jobs of one priority in their order, at most p_limit and none behind the last of p_gated that came through a gate.
-- One by one, and never one that is not taken: whoever claims meanwhile would pass over it and go on behind it, and it would
-- wait for one of their rare looks from the head. The price: 4 µs of processor time more for each row.
create or replace function holdfast.lock_startable(
  p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_limit integer, p_gated integer,
  out rows tid[], out jobs uuid[], out last_seq bigint, out gated_left integer
)
language plpgsql as $$
declare
  v_line cursor for
    select q.ctid as row_at, q.job_id, q.seq, q.pass from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit p_limit
    for update skip locked;
  v_row record;
begin
  gated_left := p_gated;
  open v_line;
  while gated_left > 0 loop
    fetch v_line into v_row;
    exit when not found;
    rows := rows || v_row.row_at;
    jobs := jobs || v_row.job_id;
    last_seq := v_row.seq;
    gated_left := gated_left - (v_row.pass > 0)::integer;
  end loop;
  close v_line;
  jobs := array(select j from unnest(jobs) as j order by j);
end $$;

-- Takes jobs that were admitted and do not run yet back to their gate, all of a type or those of one key; where a breaker's probe is
-- among them, the next one may go at once. Runs under the gate's lock. A claim under way may have locked more of them than it takes; only where one has, it is waited for, and the
-- other claims with it. Gates are locked before claims: whoever claims never waits for a gate.
create or replace function holdfast.pull_back(p_type integer, p_key text) returns void language plpgsql as $$
begin
  perform holdfast.pull_back_unlocked(p_type, p_key);
  if exists (select from holdfast.admitted_not_running(p_type, p_key)) then
    perform pg_advisory_xact_lock(holdfast.claims_lock());
    perform holdfast.pull_back_unlocked(p_type, p_key);
  end if;
end $$;

create or replace function holdfast.admitted_not_running(p_type integer, p_key text) returns table (job_id uuid)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select q.job_id from holdfast.admissions as h join holdfast.queue as q on q.job_id = h.job_id
  where h.type_id = p_type and (p_key is null or h.concurrency_key = p_key) and h.lease_id is null
    and q.lease_id is null and q.pass > 0
$$;

-- The same for those that nobody has locked.
create or replace function holdfast.pull_back_unlocked(p_type integer, p_key text) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  with admitted as materialized (
    select q.ctid as row_at from holdfast.queue as q
    where q.job_id = any (array(select a.job_id from holdfast.admitted_not_running(p_type, p_key) as a))
      and q.lease_id is null and q.pass > 0
    for update skip locked
  ), pulled as (
    delete from holdfast.queue as q where q.ctid = any (array(select a.row_at from admitted as a))
    returning q.job_id, q.ready_at, q.type_id, q.lane_id, q.priority, q.attempt, q.pass
  ), unprobed as (
    update holdfast.gates as g set breaker_probe_at = holdfast.now()
    where g.type_id = p_type and g.breaker_opened_at is not null and exists (select from pulled as p where p.pass = 2)
  ), given_up as (
    delete from holdfast.admissions as h using pulled as p where h.job_id = p.job_id returning h.job_id, h.concurrency_key
  ), arrived as (
    insert into holdfast.dirty_keys (type_id, concurrency_key) select distinct p_type, g.concurrency_key from given_up as g
  )
  insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
  select p.job_id, p.ready_at - p.priority * l.ageing, p.ready_at, p.type_id, p.lane_id, p.priority, p.attempt,
         coalesce(g.concurrency_key, '')
  from pulled as p left join given_up as g on g.job_id = p.job_id join holdfast.lanes as l on l.id = p.lane_id;
end $$;

-- Held shared by every claim while it runs, and alone by whoever makes a rule that claims under way do not know of.
create or replace function holdfast.claims_lock() returns bigint language sql immutable parallel safe
as $$ select hashtextextended('holdfast.claims', 0) $$;
