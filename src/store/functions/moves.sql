-- The other moves of operators: re-prioritise, reschedule, run now, and the jobs a filter means.

-- Puts jobs that wait for a time where they belong now: into the queue, or before their gate. Their lanes are called.
create or replace function holdfast.make_ready(p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_lanes smallint[];
begin
  with moved as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.job_id, w.type_id, w.priority, w.attempt
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt
    from moved as m join holdfast.types as t on t.id = m.type_id where not t.gated order by m.job_id
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select m.job_id, v_now - m.priority * l.ageing, v_now, m.type_id, t.lane_id, m.priority, m.attempt, coalesce(b.concurrency_key, '')
    from moved as m join holdfast.types as t on t.id = m.type_id join holdfast.lanes as l on l.id = t.lane_id
    left join holdfast.bodies as b on b.id = m.job_id where t.gated
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.dirty_keys (type_id, concurrency_key) select distinct type_id, concurrency_key from gated
  )
  select array_agg(distinct t.lane_id) into v_lanes from moved as m join holdfast.types as t on t.id = m.type_id;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- Writes into a job's story that a unique enqueue, of the service p_owner or else of this database user, has replaced it: what it was, and which replacement this is. Of these
-- the last twenty are kept: a job that is debounced a million times must not have a story of a million payloads.
create or replace function holdfast.tell_replaced(
  p_was holdfast.bodies, p_move text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text,
  p_run_at timestamptz, p_owner text
) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_before jsonb;
  v_after jsonb;
  v_times integer := 1 + coalesce((
    select (m.after ->> 'replacements')::integer from holdfast.moves as m
    where m.job_id = p_was.id and m.move in ('replace', 'debounce') order by m.at desc limit 1), 0);
begin
  select coalesce(jsonb_object_agg(c.field, c.was), '{}'), coalesce(jsonb_object_agg(c.field, c.becomes), '{}') into v_before, v_after
  from (values ('priority', to_jsonb(p_was.priority), to_jsonb(p_priority)),
               ('max_attempts', to_jsonb(p_was.max_attempts), to_jsonb(p_max_attempts)),
               ('concurrency_key', to_jsonb(p_was.concurrency_key), to_jsonb(p_concurrency_key)),
               ('due_at', to_jsonb(p_was.run_at), to_jsonb(p_run_at))) as c (field, was, becomes)
  where c.was is distinct from c.becomes;
  insert into holdfast.moves (job_id, at, move, actor, before, after)
  values (p_was.id, holdfast.now(), p_move, coalesce(p_owner, session_user),
          v_before || jsonb_strip_nulls(jsonb_build_object(
            'payload', case when p_was.payload::text <> p_payload then p_was.payload::text end,
            'approved_by', (select jsonb_agg(a.actor order by a.at) from holdfast.approvals as a
                            where a.job_id = p_was.id and a.verdict = 'approve'))),
          v_after || jsonb_build_object('replacements', v_times));
  if v_times > 20 then
    delete from holdfast.moves as m where m.job_id = p_was.id and m.move in ('replace', 'debounce')
      and (m.after ->> 'replacements')::integer <= v_times - 20;
  end if;
end $$;

-- Gives a job that waits, and is locked by lock_waiting, a new body; and a new time, where p_due says one. It keeps its position in the queue
-- as long as it stays due: a key that is replaced again and again must run some time. p_approval: what the newcomer asks for.
-- Takes no gate's lock: a slot is given back by deleting its row, which can only make room, and whoever admits next sees it.
-- With the lock a producer's open transaction would hold up every settle of the type.
create or replace function holdfast.renew_job(
  p_job uuid, p_move text, p_place text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text,
  p_approval jsonb, p_due timestamptz, p_wake_always boolean, p_owner text
) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_was holdfast.bodies;
  v_run_at timestamptz;
  v_asks boolean;
  v_due timestamptz := p_due;
  v_lane smallint;
begin
  select * into v_was from holdfast.bodies as b where b.id = p_job;
  v_run_at := case when p_due is null then v_was.run_at when p_due > v_now then p_due end;
  perform holdfast.tell_replaced(v_was, p_move, p_payload, p_priority, p_max_attempts, p_concurrency_key, v_run_at, p_owner);
  v_asks := holdfast.ask_again(p_job, v_was.payload::text = p_payload, p_approval, v_run_at);
  if v_asks then
    v_due := coalesce((select r.deadline from holdfast.approval_requests as r where r.job_id = p_job), 'infinity');
  end if;
  update holdfast.bodies as b
  set payload = p_payload::json, priority = p_priority, max_attempts = p_max_attempts, concurrency_key = p_concurrency_key, run_at = v_run_at
  where b.id = p_job;
  if p_place = 'following' then
    update holdfast.following as f set priority = p_priority, due_at = coalesce(p_due, f.due_at) where f.job_id = p_job;
  elsif p_place = 'waiting' then
    update holdfast.waiting as w
    set priority = p_priority, status = case when v_asks then 'awaiting_approval' else w.status end,
        due_at = case when not v_asks and w.status = 'awaiting_approval' then w.due_at else coalesce(v_due, w.due_at) end
    where w.job_id = p_job
    returning case when w.due_at < v_now + interval '12 seconds' then w.lane_id end into v_lane;
  elsif v_asks or p_due > v_now then
    with ungated as (
      delete from holdfast.gated as g where g.job_id = p_job returning g.type_id, g.lane_id, g.attempt
    )
    insert into holdfast.waiting as w (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select p_job, v_due, stood.type_id, stood.lane_id, p_priority, stood.attempt, case when v_asks then 'awaiting_approval' else 'scheduled' end
    from (select q.type_id, q.lane_id, q.attempt from holdfast.leave_queue(array[p_job]) as q union all select * from ungated) as stood
    returning w.lane_id into v_lane;
  elsif p_place = 'gated' then
    update holdfast.gated as g
    set priority = p_priority, rank = g.ready_at - p_priority * l.ageing, concurrency_key = coalesce(p_concurrency_key, '')
    from holdfast.lanes as l where g.job_id = p_job and l.id = g.lane_id;
    insert into holdfast.dirty_keys (type_id, concurrency_key) values (v_was.type_id, coalesce(p_concurrency_key, ''));
  elsif v_was.concurrency_key is distinct from p_concurrency_key
        and exists (select from holdfast.queue as q where q.job_id = p_job and q.pass > 0) then
    -- Its slot is one of the old key. Of the new one it has none, so it goes back and is admitted like the others.
    with back as (
      insert into holdfast.gated as g (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select p_job, q.ready_at - p_priority * l.ageing, q.ready_at, q.type_id, q.lane_id, p_priority, q.attempt, coalesce(p_concurrency_key, '')
      from holdfast.leave_queue(array[p_job]) as q join holdfast.lanes as l on l.id = q.lane_id
      returning g.type_id, g.concurrency_key, g.lane_id
    ), arrived as (
      insert into holdfast.dirty_keys (type_id, concurrency_key) select b.type_id, b.concurrency_key from back as b
    )
    select b.lane_id into v_lane from back as b;
  else
    update holdfast.queue as q set priority = p_priority where q.job_id = p_job and q.priority <> p_priority;
  end if;
  perform holdfast.wake_lanes(array_remove(array[v_lane], null), p_wake_always);
end $$;

-- Gives jobs that do not run another priority. In the queue a job keeps its position in the queue: among those of its new priority
-- it stands by its age. Workers that have read past that position find it with their next read from the head.
create or replace function holdfast.set_priority(p_jobs uuid[], p_priority smallint, p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select * from holdfast.where_jobs_stand(v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'set_priority', p_actor.name, p_actor.why, jsonb_build_object('priority', s.priority),
           jsonb_build_object('priority', p_priority)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, s.status,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  update holdfast.queue as q set priority = p_priority where q.job_id = any (v_go);
  update holdfast.waiting as w set priority = p_priority where w.job_id = any (v_go);
  update holdfast.following as f set priority = p_priority where f.job_id = any (v_go);
  update holdfast.gated as g set priority = p_priority, rank = g.ready_at - p_priority * l.ageing
  from holdfast.lanes as l where g.job_id = any (v_go) and l.id = g.lane_id;
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('set_priority', v_moved, jsonb_build_object('priority', p_priority), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- Makes jobs that do not run due at another time. A time that has come is the same as run_now.
create or replace function holdfast.reschedule_jobs(p_jobs uuid[], p_run_at timestamptz, p_delay_ms double precision, p_actor holdfast.actor)
returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_at timestamptz := coalesce(p_run_at, v_now + p_delay_ms * interval '1 millisecond');
  v_live uuid[];
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_at <= v_now then
    return query select * from holdfast.run_now(p_jobs, p_actor);
    return;
  end if;
  v_live := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, case when s.status = 'awaiting_approval' then r.run_at else nullif(s.due_at, 'infinity') end as was_due
    from holdfast.where_jobs_stand(v_live) as s left join holdfast.approval_requests as r on r.job_id = s.job_id
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, v_now, 'reschedule', p_actor.name, p_actor.why, jsonb_build_object('due_at', s.was_due), jsonb_build_object('due_at', v_at)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, case when s.status = 'pending' and s.place <> 'following' then 'scheduled' else s.status end,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  -- A job that waits for approval goes on waiting; the time is for afterwards.
  update holdfast.approval_requests as r set run_at = v_at from holdfast.waiting as w
  where r.job_id = any (v_go) and w.job_id = r.job_id and w.status = 'awaiting_approval';
  update holdfast.waiting as w set due_at = v_at where w.job_id = any (v_go) and w.status <> 'awaiting_approval';
  update holdfast.following as f set due_at = v_at where f.job_id = any (v_go);
  with ungated as (
    delete from holdfast.gated as g where g.job_id = any (v_go) returning g.job_id, g.type_id, g.lane_id, g.priority, g.attempt
  )
  insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
  select q.job_id, v_at, q.type_id, q.lane_id, q.priority, q.attempt, 'scheduled' from holdfast.leave_queue(v_go) as q
  union all
  select g.job_id, v_at, g.type_id, g.lane_id, g.priority, g.attempt, 'scheduled' from ungated as g;
  -- Workers know when the next job is due; that may have changed.
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('reschedule', v_moved, jsonb_build_object('due_at', v_at), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- Makes jobs that wait for a time due at once. Gates and approval are not passed by.
create or replace function holdfast.run_now(p_jobs uuid[], p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, s.status in ('scheduled', 'failed') as go from holdfast.where_jobs_stand(v_live) as s
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'run_now', p_actor.name, p_actor.why, jsonb_build_object('due_at', s.due_at),
           jsonb_build_object('due_at', holdfast.now())
    from stood as s where s.go
  )
  select array_agg(row (s.job_id, s.go, s.status, case when s.go then 'pending' else s.status end, case s.status
           when 'pending' then case s.place when 'following' then 'it waits for another job of its unique key' else 'it is due already' end
           when 'processing' then 'it runs already'
           when 'awaiting_approval' then 'it waits for approval' end)::holdfast.moved order by s.job_id),
         array_agg(s.job_id) filter (where s.go)
  into v_moved, v_go from stood as s;
  perform holdfast.make_ready(v_go);
  perform holdfast.audit_moves('run_now', v_moved, jsonb_build_object('due_at', holdfast.now()), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- The next live jobs, by id, that fit a filter. Reads in the order of the ids, so that a large set is walked once however
-- many steps it takes. A field that is null does not matter.
create or replace function holdfast.matching_jobs(
  p_type text, p_status text, p_lane text, p_concurrency_key text, p_priority smallint, p_created_before timestamptz,
  p_payload jsonb, p_after uuid, p_limit integer
) returns setof uuid
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
begin
  return query
    select s.job_id from (
      select q.job_id, q.type_id, q.lane_id, q.priority, case when q.lease_id is null then 'pending' else 'processing' end as status
      from holdfast.queue as q where q.job_id > p_after
      union all
      select w.job_id, w.type_id, w.lane_id, w.priority, w.status from holdfast.waiting as w where w.job_id > p_after
      union all
      select g.job_id, g.type_id, g.lane_id, g.priority, 'pending' from holdfast.gated as g where g.job_id > p_after
      union all
      select f.job_id, f.type_id, f.lane_id, f.priority, 'pending' from holdfast.following as f where f.job_id > p_after
    ) as s
    left join holdfast.bodies as b on b.id = s.job_id
    where (v_type is null or s.type_id = v_type) and (v_lane is null or s.lane_id = v_lane)
      and (p_status is null or s.status = p_status) and (p_priority is null or s.priority = p_priority)
      and (p_concurrency_key is null or b.concurrency_key = p_concurrency_key)
      and (b.id is null or b.created_at < p_created_before)
      and (p_payload is null or b.payload::jsonb @> p_payload)
    order by s.job_id limit p_limit;
end $$;
