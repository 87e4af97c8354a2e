-- Why: what becomes of a job that stands for a unique key: it is looked for, held still, given a new body, or followed.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the functions.

-- Where a job that has not ended stands, and its status. One statement, one snapshot: a job that is just moving from one
-- table to another is found in one of them, never in none. No row: it has ended, or there is none.
create function holdfast.whereabouts(p_job uuid) returns table (place text, status text)
language sql stable
set enable_seqscan = off set jit = off
as $$
  select 'queue', case when q.lease_id is null then 'pending' else 'processing' end from holdfast.queue as q where q.job_id = p_job
  union all select 'waiting', w.status from holdfast.waiting as w where w.job_id = p_job
  union all select 'gated', 'pending' from holdfast.gated as g where g.job_id = p_job
  union all select 'following', 'pending' from holdfast.following as f where f.job_id = p_job
  -- Cancelled, but its handler may still be at work.
  union all select 'stopping', 'processing' from holdfast.cancellations as c where c.job_id = p_job
$$;

-- The status of a job, ended or not; null where nothing of it is kept.
create function holdfast.status_of(p_job uuid) returns text
language sql stable
set enable_seqscan = off set jit = off
as $$
  select coalesce(
    (select w.status from holdfast.whereabouts(p_job) as w),
    (select 'dead' from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.outcome::text from holdfast.history as h
     where h.job_id = p_job and h.outcome in ('completed', 'cancelled', 'discarded') limit 1))
$$;

-- Locks a job that waits, wherever that is, so that it can neither start nor move before this transaction ends. Claims and
-- promotions pass over it meanwhile. No row: it runs or has ended.
create function holdfast.hold_still(p_job uuid) returns table (place text, status text)
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  loop
    select w.place, w.status into place, status from holdfast.whereabouts(p_job) as w;
    if not found or status = 'processing' then
      return;
    end if;
    case place
      when 'queue' then perform from holdfast.queue as q where q.job_id = p_job and q.lease_id is null for update;
      when 'waiting' then perform from holdfast.waiting as w where w.job_id = p_job for update;
      when 'gated' then perform from holdfast.gated as g where g.job_id = p_job for update;
      when 'following' then perform from holdfast.following as f where f.job_id = p_job for update;
    end case;
    if found then
      return next;
      return;
    end if;
    -- It moved on between the two looks.
  end loop;
end $$;

-- Gives a job that waits, and is held still, a new body; and a new time, where p_due says one. It keeps its place in line
-- as long as it stays due: a key that is replaced again and again must run some time.
create function holdfast.renew_job(
  p_job uuid, p_place text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text,
  p_due timestamptz, p_wake_always boolean
) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lane smallint;
  v_type integer;
  v_attempt smallint;
  v_pass smallint;
begin
  update holdfast.bodies as b
  set payload = p_payload::json, priority = p_priority, max_attempts = p_max_attempts, concurrency_key = p_concurrency_key,
      run_at = case when p_due > v_now then p_due when p_due is not null then null else b.run_at end
  where b.id = p_job;
  if p_place = 'following' then
    update holdfast.following as f set priority = p_priority, due_at = coalesce(p_due, f.due_at) where f.job_id = p_job;
  elsif p_place = 'waiting' then
    -- Who has approved it so far has approved something else. The new time is for afterwards.
    delete from holdfast.approvals as a using holdfast.waiting as w
    where a.job_id = p_job and w.job_id = p_job and w.status = 'awaiting_approval';
    update holdfast.approval_requests as r set run_at = p_due from holdfast.waiting as w
    where r.job_id = p_job and w.job_id = p_job and w.status = 'awaiting_approval';
    update holdfast.waiting as w
    set priority = p_priority, due_at = case when w.status = 'awaiting_approval' then w.due_at else coalesce(p_due, w.due_at) end
    where w.job_id = p_job
    returning case when w.due_at < v_now + interval '12 seconds' then w.lane_id end into v_lane;
    perform holdfast.wake_lanes(array_remove(array[v_lane], null), p_wake_always);
  elsif p_due > v_now then
    with from_queue as (
      delete from holdfast.queue as q where q.job_id = p_job returning q.type_id, q.lane_id, q.attempt, q.pass
    ), from_gate as (
      delete from holdfast.gated as g where g.job_id = p_job returning g.type_id, g.lane_id, g.attempt, 0::smallint
    )
    select * into v_type, v_lane, v_attempt, v_pass from (select * from from_queue union all select * from from_gate) as moved;
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    values (p_job, p_due, v_type, v_lane, p_priority, v_attempt, 'scheduled');
    if v_pass > 0 then
      perform holdfast.free_slots(array[p_job], array[p_job]);
    end if;
  elsif p_place = 'queue' then
    update holdfast.queue as q set priority = p_priority where q.job_id = p_job and q.priority <> p_priority;
  else
    update holdfast.gated as g
    set priority = p_priority, rank = g.ready_at - p_priority * l.ageing, concurrency_key = coalesce(p_concurrency_key, '')
    from holdfast.lanes as l where g.job_id = p_job and l.id = g.lane_id returning g.type_id into v_type;
    insert into holdfast.arrivals (type_id, concurrency_key) values (v_type, coalesce(p_concurrency_key, ''));
  end if;
end $$;

-- Makes the jobs due that wait behind these, where these have ended; a job that waits for its next attempt has not.
-- A follower that is being replaced at this moment is passed over: check_leader sees to it when that is committed.
create function holdfast.start_followers(p_leaders uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_jobs uuid[];
  v_lanes smallint[];
begin
  -- Almost always nobody follows anybody; then this one look is all it costs.
  if not exists (select from holdfast.following) then
    return;
  end if;
  v_jobs := array(
    select f.job_id from holdfast.following as f
    where f.follows = any (p_leaders) and not exists (select from holdfast.whereabouts(f.follows))
    order by f.job_id for update skip locked);
  if v_jobs = '{}' then
    return;
  end if;
  with freed as (
    delete from holdfast.following as f where f.job_id = any (v_jobs)
    returning f.job_id, f.due_at, f.type_id, f.lane_id, f.priority
  ), due as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select f.job_id, case when r.job_id is null then greatest(f.due_at, v_now) else coalesce(r.deadline, 'infinity') end,
           f.type_id, f.lane_id, f.priority, 1, case when r.job_id is null then 'scheduled' else 'awaiting_approval' end
    from freed as f left join holdfast.approval_requests as r on r.job_id = f.job_id
  )
  select array_agg(distinct f.lane_id) into v_lanes from freed as f;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- When a follower is about to be committed: makes sure that whoever ends its leader will see it, by locking the leader's
-- row for the rest of the commit, or starts it where the leader has ended. Locking it earlier would let a producer's long
-- transaction hold up a worker's settling. It never waits for a lock: where somebody holds the leader's row this very
-- moment, the follower is marked unsure and the next promotion looks after it.
create function holdfast.check_leader() returns trigger
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_place text := (select w.place from holdfast.whereabouts(new.follows) as w);
begin
  case v_place
    when 'queue' then perform from holdfast.queue as q where q.job_id = new.follows for update skip locked;
    when 'waiting' then perform from holdfast.waiting as w where w.job_id = new.follows for update skip locked;
    when 'gated' then perform from holdfast.gated as g where g.job_id = new.follows for update skip locked;
    when 'stopping' then perform from holdfast.cancellations as c where c.job_id = new.follows for update skip locked;
    else
      perform holdfast.start_followers(array[new.follows]);
      return null;
  end case;
  if not found then
    update holdfast.following as f set unsure = true where f.job_id = new.job_id;
    perform holdfast.wake_lanes(array[new.lane_id], true);
  end if;
  return null;
end $$;

create constraint trigger check_leader after insert or update on holdfast.following
  deferrable initially deferred for each row when (not new.unsure) execute function holdfast.check_leader();
