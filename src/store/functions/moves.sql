-- The other moves of operators: re-prioritise, reschedule, run now, and the jobs a filter means.

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
-- Takes no gate's lock: with it a producer's open transaction would hold up every claim of the type. Claims pass over the row meanwhile.
create or replace function holdfast.renew_job(
  p_job uuid, p_move text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text,
  p_approval jsonb, p_due timestamptz, p_wake_always boolean, p_owner text
) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_was holdfast.bodies;
  v_stood holdfast.live;
  v_run_at timestamptz;
  v_asks boolean;
  v_due timestamptz;
begin
  select * into v_was from holdfast.bodies as b where b.id = p_job;
  select * into v_stood from holdfast.live as l where l.job_id = p_job;
  v_run_at := case when p_due is null then v_was.run_at when p_due > v_now then p_due end;
  perform holdfast.tell_replaced(v_was, p_move, p_payload, p_priority, p_max_attempts, p_concurrency_key, v_run_at, p_owner);
  v_asks := holdfast.ask_again(p_job, v_was.payload::text = p_payload, p_approval, v_run_at);
  update holdfast.bodies as b
  set payload = p_payload::json, priority = p_priority, max_attempts = p_max_attempts, concurrency_key = p_concurrency_key, run_at = v_run_at,
      search_keys = (select holdfast.search_keys(t.searchable, p_payload::jsonb) from holdfast.types as t where t.id = b.type_id and t.searchable is not null)
  where b.id = p_job;
  if v_was.payload::text <> p_payload then
    -- What it has done so far was about the old one.
    delete from holdfast.checkpoints as c where c.job_id = p_job;
    delete from holdfast.steps as s where s.job_id = p_job;
  end if;
  perform holdfast.change_priority(array[p_job], p_priority);
  v_due := case
    -- Approval is asked for when the job in front has ended.
    when v_stood.place = 'following' then coalesce(p_due, v_stood.due_at)
    when v_asks then coalesce((select r.deadline from holdfast.approval_requests as r where r.job_id = p_job), 'infinity')
    -- It goes on waiting for people; the time is for afterwards.
    when v_stood.status = 'awaiting_approval' then null
    when v_stood.place = 'waiting' or p_due > v_now then p_due end;
  if v_due is not null then
    perform holdfast.put_off(array[p_job], v_due, case when v_asks then 'awaiting_approval' else 'scheduled' end);
    if v_due < v_now + interval '12 seconds' and v_stood.place <> 'following' then
      perform holdfast.wake_lanes(array[v_stood.lane_id], p_wake_always);
    end if;
  end if;
  if v_was.concurrency_key is distinct from p_concurrency_key then
    -- Before a gate it waits for a slot of its new key from now on.
    perform holdfast.follow_key(p_job);
  end if;
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
    select * from holdfast.live as l where l.job_id = any (v_live)
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
  perform holdfast.change_priority(v_go, p_priority);
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('set_priority', v_moved, jsonb_build_object('priority', p_priority), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- What a job that stands in waiting as blocked waits for.
create or replace function holdfast.why_blocked(p_job uuid) returns text language sql volatile as $$
  select case when exists (select from holdfast.newer_jobs as n where n.job_id = p_job)
    then 'its payload is of a newer version than every worker knows' else 'it waits for a signal' end
$$;

-- Makes jobs that do not run due at another time. A time that has come is the same as run_now. One that waits for a signal is not moved:
-- its time is that of the wait.
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
  v_asks uuid[];
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
    select s.*, case when s.status = 'awaiting_approval' then r.run_at else nullif(s.due_at, 'infinity') end as was_due,
           s.status <> 'processing' and not (s.status = 'blocked' and s.place = 'waiting') as go
    from holdfast.live as s left join holdfast.approval_requests as r on r.job_id = s.job_id where s.job_id = any (v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, v_now, 'reschedule', p_actor.name, p_actor.why, jsonb_build_object('due_at', s.was_due), jsonb_build_object('due_at', v_at)
    from stood as s where s.go
  )
  select array_agg(row (s.job_id, s.go, s.status, case when s.status = 'pending' then 'scheduled' else s.status end,
                        case when s.status = 'processing' then 'it runs already' when not s.go then holdfast.why_blocked(s.job_id) end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.go and s.status <> 'awaiting_approval'),
         array_agg(s.job_id) filter (where s.status = 'awaiting_approval')
  into v_moved, v_lanes, v_go, v_asks from stood as s;
  -- A job that waits for approval goes on waiting; the time is for afterwards.
  update holdfast.approval_requests as r set run_at = v_at where r.job_id = any (v_asks);
  perform holdfast.put_off(v_go, v_at, 'scheduled');
  perform holdfast.end_sleeps(v_go, v_at);
  -- Workers know when the next job is due; that may have changed.
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('reschedule', v_moved, jsonb_build_object('due_at', v_at), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- Makes jobs that wait for a time due at once. Gates and approval are not passed by. Followers are refused, but written: see change_priority.
create or replace function holdfast.run_now(p_jobs uuid[], p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_newer uuid[];
  v_moved holdfast.moved[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  update holdfast.following as f set due_at = f.due_at where f.job_id = any (v_live);
  v_newer := holdfast.still_newer(v_live);
  with stood as materialized (
    select s.*, s.status in ('scheduled', 'failed') as go from holdfast.live as s where s.job_id = any (v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'run_now', p_actor.name, p_actor.why, jsonb_build_object('due_at', s.due_at),
           jsonb_build_object('due_at', holdfast.now())
    from stood as s where s.go
  )
  select array_agg(row (s.job_id, s.go, s.status,
           case when not s.go then s.status when s.job_id = any (v_newer) then 'blocked' else 'pending' end, case s.status
           when 'pending' then 'it is due already'
           when 'blocked' then case s.place when 'following' then 'it waits for another job of its unique key' else holdfast.why_blocked(s.job_id) end
           when 'processing' then 'it runs already'
           when 'awaiting_approval' then 'it waits for approval' end)::holdfast.moved order by s.job_id),
         array_agg(s.job_id) filter (where s.go)
  into v_moved, v_go from stood as s;
  perform holdfast.end_sleeps(v_go, holdfast.now());
  perform holdfast.make_ready(v_go, holdfast.now(), true);
  perform holdfast.audit_moves('run_now', v_moved, jsonb_build_object('due_at', holdfast.now()), p_actor);
  return query select * from unnest(v_moved);
end $$;

-- The next live jobs, by id, that fit a filter. Reads in the order of the ids, so that a large set is walked once however
-- many steps it takes. A field that is null does not matter.
create or replace function holdfast.matching_jobs(
  p_type text, p_status text, p_lane text, p_concurrency_key text, p_priority smallint, p_created_before timestamptz,
  p_payload jsonb, p_after uuid, p_limit integer, p_tags text[] default null
) returns setof uuid
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
begin
  return query
    select s.job_id from holdfast.live as s left join holdfast.bodies as b on b.id = s.job_id
    where s.job_id > p_after and (v_type is null or s.type_id = v_type) and (v_lane is null or s.lane_id = v_lane)
      and (p_status is null or s.status = p_status) and (p_priority is null or s.priority = p_priority)
      and (p_concurrency_key is null or b.concurrency_key = p_concurrency_key)
      and (b.id is null or b.created_at < p_created_before)
      and (p_payload is null or b.payload::jsonb @> p_payload) and (p_tags is null or b.tags @> p_tags)
    order by s.job_id limit p_limit;
end $$;
