-- Where a live job can stand, and what moves it from one place to another. A live job has one row, in queue, waiting or following. Only this file
-- knows all three tables, so that another place means another line here and nowhere else, and put_ready is what puts a job into the queue. The hottest paths
-- write to one or two of the tables themselves, because a list of rows that is made and read again would cost them more than the work itself:
-- enqueue_job and enqueue_all_plain (new jobs that nothing holds back), promote_free (due ones that nothing holds back), claim_jobs,
-- end_completed, and move_aside, which puts jobs of the queue before their gate.

-- Every live job, with its place and status. due_at: since when it is ready, or when it will be. follows: the job it waits for.
create or replace view holdfast.live as
  select q.job_id, 'queue'::text as place, case when q.lease_id is null then 'pending' else 'processing' end as status, q.type_id,
         q.lane_id, q.priority, q.attempt, q.ready_at as due_at, q.lease_id, null::uuid as follows
  from holdfast.queue as q
  union all
  select w.job_id, 'waiting'::text, w.status, w.type_id, w.lane_id, w.priority, w.attempt, w.due_at, null::bigint, null::uuid
  from holdfast.waiting as w
  union all
  select f.job_id, 'following'::text, 'blocked'::text, f.type_id, f.lane_id, f.priority, 1::smallint, f.due_at, null::bigint, f.follows
  from holdfast.following as f;

-- The places of the view: for statements that look at each with a limit of its own.
create or replace function holdfast.places() returns text[] language sql immutable parallel safe
as $$ select '{queue,waiting,following}'::text[] $$;

-- Says where a job that has not ended stands, and its status. One statement, one snapshot: a job that is just moving from one
-- table to another is found in one of them, never in none. No row: it has ended, or there is none.
create or replace function holdfast.whereabouts(p_job uuid) returns table (place text, status text)
language sql stable
set enable_seqscan = off set jit = off
as $$
  select l.place, l.status from holdfast.live as l where l.job_id = p_job
  -- Cancelled, but its handler may still be at work.
  union all select 'stopping', 'processing' from holdfast.cancellations as c where c.job_id = p_job
$$;

-- Locks the row of a job that stood at p_place a moment ago, and says whether it still stands there. p_running: also a row that a
-- worker has claimed. p_wait: waits for whoever has the row; otherwise the answer is false where somebody has it.
create or replace function holdfast.lock_place(p_job uuid, p_place text, p_running boolean, p_wait boolean) returns boolean
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  if p_wait then
    case p_place
      when 'queue' then perform from holdfast.queue as q where q.job_id = p_job and (p_running or q.lease_id is null) for update;
      when 'waiting' then perform from holdfast.waiting as w where w.job_id = p_job for update;
      when 'following' then perform from holdfast.following as f where f.job_id = p_job for update;
    end case;
    return found;
  end if;
  case p_place
    when 'queue' then perform from holdfast.queue as q where q.job_id = p_job and (p_running or q.lease_id is null) for update skip locked;
    when 'waiting' then perform from holdfast.waiting as w where w.job_id = p_job for update skip locked;
    when 'following' then perform from holdfast.following as f where f.job_id = p_job for update skip locked;
  end case;
  return found;
end $$;

-- Locks the rows of live jobs and says where each stands, except those that somebody else works on: nobody waits here.
create or replace function holdfast.lock_unheld(p_jobs uuid[]) returns table (job_id uuid, place text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select q.job_id, 'queue' from holdfast.queue as q where q.job_id = any (p_jobs) order by q.job_id for update skip locked;
  return query select w.job_id, 'waiting' from holdfast.waiting as w where w.job_id = any (p_jobs) order by w.job_id for update skip locked;
  return query select f.job_id, 'following' from holdfast.following as f where f.job_id = any (p_jobs) order by f.job_id for update skip locked;
end $$;

-- Locks the rows of live jobs and says where each stands. Ended and unknown jobs have no row. One job is waited for; of many, those
-- that somebody else works on are passed over, so that nobody waits here who holds rows.
create or replace function holdfast.lock_jobs(p_jobs uuid[]) returns table (job_id uuid, place text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  if cardinality(p_jobs) > 1 then
    return query select * from holdfast.lock_unheld(p_jobs);
    return;
  end if;
  job_id := p_jobs[1];
  for v_look in 1..100 loop
    select l.place into place from holdfast.live as l where l.job_id = p_jobs[1];
    if not found then
      return;
    elsif holdfast.lock_place(job_id, place, true, true) then
      return next;
      return;
    end if;
    -- It moved on between the two looks.
  end loop;
  raise exception 'job % moved between tables a hundred times while it was being locked', p_jobs[1] using errcode = '40001', hint = 'Try again.';
end $$;

-- Locks a job that waits, wherever that is, so that it can neither start nor move before this transaction ends. Claims and
-- promotions pass over it meanwhile. No row: it runs or has ended.
create or replace function holdfast.lock_waiting(p_job uuid) returns table (place text, status text)
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  for v_look in 1..100 loop
    select w.place, w.status into place, status from holdfast.whereabouts(p_job) as w;
    if not found or status = 'processing' then
      return;
    elsif holdfast.lock_place(p_job, place, false, true) then
      return next;
      return;
    end if;
    -- It moved on between the two looks.
  end loop;
  raise exception 'job % moved between tables a hundred times while it was being locked', p_job using errcode = '40001', hint = 'Try again.';
end $$;

-- Takes jobs, locked by the caller, out of the places where they stand, and returns them as they stood. Runs under the plan settings
-- of its callers.
create or replace function holdfast.take_out(p_jobs uuid[]) returns setof holdfast.live language sql volatile as $$
  with queued as (
    delete from holdfast.queue as q where q.job_id = any (p_jobs) returning q.*
  ), waited as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.*
  ), followed as (
    delete from holdfast.following as f where f.job_id = any (p_jobs) returning f.*
  )
  select q.job_id, 'queue', case when q.lease_id is null then 'pending' else 'processing' end, q.type_id, q.lane_id, q.priority,
         q.attempt, q.ready_at, q.lease_id, null::uuid from queued as q
  union all
  select w.job_id, 'waiting', w.status, w.type_id, w.lane_id, w.priority, w.attempt, w.due_at, null, null from waited as w
  union all
  select f.job_id, 'following', 'blocked', f.type_id, f.lane_id, f.priority, 1::smallint, f.due_at, null, f.follows from followed as f
$$;

-- Puts jobs that are ready, and stand nowhere, where they belong: into the queue, or before the gate of their type, in the lane
-- that the type is in now; and notifies workers of these lanes. One with a position in the queue (seq) keeps it; the others get
-- theirs in the order of the list. Those that no worker can read yet are blocked (versions.sql). p_always: as in wake_lanes.
create or replace function holdfast.put_ready(p_jobs holdfast.ready[], p_always boolean) returns void
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_lanes smallint[];
  v_newer uuid[];
begin
  if p_jobs is null or p_jobs = '{}' then
    return;
  end if;
  v_newer := holdfast.still_newer(array(select r.job_id from unnest(p_jobs) as r));
  if v_newer <> '{}' then
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
    select r.job_id, 'infinity', r.type_id, t.lane_id, r.priority, r.attempt, 'blocked', holdfast.key_position_of(r.job_id, r.attempt)
    from unnest(p_jobs) as r join holdfast.types as t on t.id = r.type_id where r.job_id = any (v_newer);
    p_jobs := array(select r from unnest(p_jobs) as r where r.job_id <> all (v_newer));
  end if;
  with job as materialized (
    select r.*, t.lane_id, t.gated, l.ageing
    from unnest(p_jobs) with ordinality as r (job_id, type_id, priority, attempt, ready_at, seq, nth)
    join holdfast.types as t on t.id = r.type_id join holdfast.lanes as l on l.id = t.lane_id
    order by r.nth
  ), queued as (
    insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt)
    select coalesce(j.seq, nextval('holdfast.queue_seq')), j.ready_at, j.job_id, j.type_id, j.lane_id, j.priority, j.attempt
    from job as j where not j.gated
  ), gated as (
    insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt, pass, concurrency_key)
    select holdfast.gate_seq(g.ordered, b.concurrency_key, b.position, b.created_at, j.attempt, j.ready_at, j.priority, j.ageing),
           j.ready_at, j.job_id, j.type_id, j.lane_id, j.priority, j.attempt, 1, coalesce(b.concurrency_key, '')
    from job as j left join holdfast.bodies as b on b.id = j.job_id left join holdfast.gates as g on g.type_id = j.type_id where j.gated
  )
  select array_agg(distinct j.lane_id) into v_lanes from job as j;
  perform holdfast.wake_lanes(v_lanes, p_always);
end $$;

-- Puts jobs that wait for a time, and are locked by the caller, where they belong now. p_ready_at: since when they count as ready;
-- null: since their due time.
create or replace function holdfast.make_ready(p_jobs uuid[], p_ready_at timestamptz, p_always boolean) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_ready holdfast.ready[];
begin
  with moved as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs)
    returning w.job_id, w.type_id, w.priority, w.attempt, w.due_at
  )
  select array_agg((m.job_id, m.type_id, m.priority, m.attempt, coalesce(p_ready_at, m.due_at), null)::holdfast.ready order by m.due_at, m.job_id)
  into v_ready from moved as m;
  perform holdfast.put_ready(v_ready, p_always);
end $$;

-- Makes jobs that do not run, and are locked by the caller, wait until p_due. Those in the queue or before a gate are put into
-- waiting as p_status; those that wait already get the new time, and p_status where it is one that people decide about or they were
-- blocked until now; those that follow another job keep following it.
create or replace function holdfast.put_off(p_jobs uuid[], p_due timestamptz, p_status text) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  update holdfast.following as f set due_at = p_due where f.job_id = any (p_jobs);
  update holdfast.waiting as w
  set due_at = p_due, status = case when p_status = 'awaiting_approval' or w.status = 'blocked' then p_status else w.status end where w.job_id = any (p_jobs);
  insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
  select o.job_id, p_due, o.type_id, o.lane_id, o.priority, o.attempt, p_status, holdfast.key_position_of(o.job_id, o.attempt)
  from holdfast.take_out(array(
    select l.job_id from holdfast.live as l where l.job_id = any (p_jobs) and l.place not in ('waiting', 'following'))) as o;
end $$;

-- Gives jobs that do not run, and are locked by the caller, another priority, wherever they stand. In the queue they keep their
-- position; before a gate they get a new one, unless their key is ordered. A row of following is always written, by put_off too: if its leader ended
-- while the caller had it locked, the end of the leader passed over it. The write makes check_leader look at the commit, and that starts it.
create or replace function holdfast.change_priority(p_jobs uuid[], p_priority smallint) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  update holdfast.queue as q
  set priority = p_priority, seq = case
    when q.pass = 0 or (q.concurrency_key <> '' and exists (select from holdfast.gates as g where g.type_id = q.type_id and g.ordered)) then q.seq
    else holdfast.gate_position(q.ready_at, p_priority, l.ageing) end
  from holdfast.lanes as l where q.job_id = any (p_jobs) and l.id = q.lane_id and q.priority <> p_priority;
  update holdfast.waiting as w set priority = p_priority where w.job_id = any (p_jobs) and w.priority <> p_priority;
  update holdfast.following as f set priority = p_priority where f.job_id = any (p_jobs);
end $$;

-- Moves a job to the position that its key and position in its body ask for, after these were changed, wherever it stands.
create or replace function holdfast.follow_key(p_job uuid) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  update holdfast.queue as q
  set concurrency_key = coalesce(b.concurrency_key, ''),
      seq = holdfast.gate_seq(g.ordered, b.concurrency_key, b.position, b.created_at, q.attempt, q.ready_at, q.priority, l.ageing)
  from holdfast.bodies as b, holdfast.gates as g, holdfast.lanes as l
  where q.job_id = p_job and q.pass > 0 and b.id = q.job_id and g.type_id = q.type_id and l.id = q.lane_id;
  update holdfast.waiting as w set key_position = holdfast.key_position_of(w.job_id, w.attempt)
  where w.job_id = p_job and w.key_position is distinct from holdfast.key_position_of(w.job_id, w.attempt);
  update holdfast.following as f set key_position = holdfast.follower_position(f.job_id, f.follows)
  where f.job_id = p_job and f.key_position is distinct from holdfast.follower_position(f.job_id, f.follows);
end $$;

-- Whether a live job of an ordered key stands before this one outside of the queue. Stable: it sees what its caller's statement sees.
create or replace function holdfast.is_behind(p_type integer, p_key text, p_position bigint, p_job uuid) returns boolean language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
begin
  return exists (select from holdfast.waiting as w where w.key_position is not null and w.type_id = p_type
                   and (w.key_position).key = p_key and ((w.key_position).position, w.job_id) < (p_position, p_job))
    or exists (select from holdfast.following as f where f.key_position is not null and f.type_id = p_type
                 and (f.key_position).key = p_key and ((f.key_position).position, f.job_id) < (p_position, p_job));
end $$;

-- The job that holds an ordered key: the one that runs, or else the first of all that live.
create or replace function holdfast.holder_of_key(p_type integer, p_key text) returns table (job_id uuid, status text, due_at timestamptz)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
  select h.job_id, coalesce(l.status, 'processing'), l.due_at from (select coalesce(
    (select r.job_id from holdfast.gate_running(p_type) as r where r.concurrency_key = p_key limit 1),
    (select h.job_id from (
       (select q.job_id, q.seq from holdfast.queue as q
        where q.type_id = p_type and q.concurrency_key = p_key and q.pass > 0 order by q.seq, q.job_id limit 1)
       union all
       (select w.job_id, (w.key_position).position from holdfast.waiting as w
        where w.key_position is not null and w.type_id = p_type and (w.key_position).key = p_key
        order by (w.key_position).position, w.job_id limit 1)
       union all
       (select f.job_id, (f.key_position).position from holdfast.following as f
        where f.key_position is not null and f.type_id = p_type and (f.key_position).key = p_key
        order by (f.key_position).position, f.job_id limit 1)) as h order by h.seq, h.job_id limit 1)) as job_id) as h
  left join holdfast.live as l on l.job_id = h.job_id where h.job_id is not null
$$;

-- Puts all jobs of a type before its gate, in the order that its gate asks for now. Runs after that order has changed, under be_alone. If a job
-- that does not run stays locked, the call fails, because an order that leaves out one job does not hold; a job that runs and is locked is ending. It
-- reads the tables twice, because a job that moves to another table during the first reading may be seen in neither. Where the type is no longer
-- ordered, it clears the positions: jobs enqueued meanwhile have none, and would come before those that kept theirs if the type became ordered again.
create or replace function holdfast.reorder_keys(p_type integer) returns void
language plpgsql
set jit = off set lock_timeout = '5s'
as $$
begin
  for v_look in 1..2 loop
    perform from holdfast.waiting as w where w.type_id = p_type for update;
    perform from holdfast.following as f where f.type_id = p_type for update;
    perform from holdfast.queue as q where q.type_id = p_type and q.lease_id is null for update;
  end loop;
  update holdfast.bodies as b set position = null
  where b.position is not null and not exists (select from holdfast.gates as g where g.type_id = p_type and g.ordered) and b.id in (
    select l.job_id from holdfast.live as l where l.type_id = p_type
    union all select d.job_id from holdfast.dead_letters as d where d.type_id = p_type);
  with running as materialized (
    select q.job_id from holdfast.queue as q where q.type_id = p_type and q.lease_id is not null and q.pass > 0 for update skip locked
  )
  update holdfast.queue as q
  set pass = greatest(q.pass, 1), concurrency_key = coalesce(b.concurrency_key, ''),
      seq = holdfast.gate_seq(g.ordered, b.concurrency_key, b.position, b.created_at, q.attempt, q.ready_at, q.priority, l.ageing)
  from holdfast.bodies as b, holdfast.gates as g, holdfast.lanes as l
  where q.type_id = p_type and (q.lease_id is null or q.job_id in (select r.job_id from running as r))
    and b.id = q.job_id and g.type_id = q.type_id and l.id = q.lane_id;
  update holdfast.waiting as w set key_position = holdfast.key_position_of(w.job_id, w.attempt) where w.type_id = p_type;
  update holdfast.following as f set key_position = holdfast.follower_position(f.job_id, f.follows) where f.type_id = p_type;
end $$;
