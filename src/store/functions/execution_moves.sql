-- What people do to executions: cancel, resume, and ask why a task waits. p_owner: the service that asks, which sees only its own; null: all.

-- The execution and all that its tasks are, and theirs.
create or replace function holdfast.executions_below(p_execution uuid) returns setof uuid language sql stable
set enable_seqscan = off set jit = off
as $$
  with recursive tree (id) as (
    select p_execution
    union all
    select e.id from tree as t join holdfast.executions as e on e.parent_id = t.id
  )
  select t.id from tree as t
$$;

-- The execution, locked with all below it; no row where none is kept or it is somebody else's. Below it before anything else is held: who folds one of those
-- tells the one above, and would wait for what the caller opens there while the caller waits for them.
create or replace function holdfast.lock_execution(p_execution uuid, p_owner text) returns setof holdfast.executions language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  perform from holdfast.executions as e where e.id = p_execution and (p_owner is null or e.owner = p_owner) for update;
  if found then
    perform from holdfast.executions as e where e.id = any (array(select holdfast.executions_below(p_execution))) order by e.id for update;
    return query select * from holdfast.executions as e where e.id = p_execution;
  end if;
end $$;

-- Cancels an execution: nothing of it starts any more, and its jobs are cancelled, running ones too, as are the executions that its tasks are. A job that
-- somebody is at in this very moment is passed over: whoever cancels waits for it (jobs_to_cancel), and where they do not live to do that, ticks come back.
create or replace function holdfast.cancel_execution(p_execution uuid, p_owner text, p_actor holdfast.actor) returns setof holdfast.moved language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_execution holdfast.executions;
begin
  select * into v_execution from holdfast.lock_execution(p_execution, p_owner);
  if not found then
    return;
  elsif v_execution.status <> 'running' then
    return query select p_execution, false, v_execution.status, v_execution.status, format('it has already ended: %s', v_execution.status);
    return;
  end if;
  perform holdfast.fold_execution(p_execution);
  update holdfast.executions as e
  set status = 'cancelled', ended_at = holdfast.now(), cancelled_by = p_actor.name, cancelled_why = p_actor.why, cancelled_from = p_actor.origin
  where e.id = p_execution and e.status = 'running';
  if not found then
    return query select p_execution, false, e.status, e.status, format('it has already ended: %s', e.status) from holdfast.executions as e where e.id = p_execution;
    return;
  end if;
  perform holdfast.stop_tasks(p_execution, 'cancelled');
  perform holdfast.cancel_left(e) from holdfast.executions as e where e.id = p_execution;
  perform holdfast.cancel_execution(t.job_id, p_owner, p_actor) from holdfast.tasks as t
  where t.execution_id = p_execution and t.status = 'started' and t.sub_workflow is not null and t.job_id is not null;
  perform holdfast.fold_execution(p_execution);
  perform holdfast.tell_parent(v_execution, 'live', 'cancelled');
  perform holdfast.tell_waiters(array[p_execution]);
  if (select e.started = 0 from holdfast.executions as e where e.id = p_execution) then
    perform holdfast.close_group(p_execution);
  end if;
  perform holdfast.audit('cancel_execution', p_execution::text, jsonb_build_object('status', 'running'), jsonb_build_object('status', 'cancelled'), p_actor);
  return query select p_execution, true, 'running', 'cancelled', null::text;
end $$;

-- Cancels what is live of the jobs of a cancelled execution, whose row the caller has locked; ticks come back to it while somebody is at one of them. They
-- are not waited for here: everybody who has news of this execution would wait, too.
create or replace function holdfast.cancel_left(p_execution holdfast.executions) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_jobs uuid[] := '{}';
begin
  if p_execution.status = 'cancelled' then
    perform holdfast.cancel_jobs(
      array(select j from holdfast.own_jobs_to_cancel(p_execution.id) as j),
      holdfast.actor(p_execution.cancelled_by, p_execution.cancelled_why, p_execution.cancelled_from), false);
    v_jobs := array(select j from holdfast.own_jobs_to_cancel(p_execution.id) as j);
  end if;
  update holdfast.executions as e set look_again = v_jobs <> '{}' where e.id = p_execution.id and e.look_again <> (v_jobs <> '{}');
end $$;

create or replace function holdfast.own_jobs_to_cancel(p_execution uuid) returns setof uuid language sql stable
set enable_seqscan = off set jit = off
as $$
  select s.job_id from holdfast.tasks as s where s.execution_id = p_execution and s.status = 'started' and s.type is not null
    and exists (select from holdfast.whereabouts(s.job_id) as w where w.place <> 'stopping')
$$;

-- Jobs that live although their execution, or one above it, is cancelled.
create or replace function holdfast.jobs_to_cancel(p_execution uuid) returns setof uuid language sql stable
set enable_seqscan = off set jit = off
as $$
  select j from holdfast.executions_below(p_execution) as r (id) join holdfast.executions as e on e.id = r.id and e.status = 'cancelled'
  cross join lateral holdfast.own_jobs_to_cancel(r.id) as j
$$;

-- Whether a handler of an execution that has ended is still at work, or one of an execution that a task of it is.
create or replace function holdfast.is_stopping(p_execution uuid) returns boolean language sql stable
set enable_seqscan = off set jit = off
as $$
  select exists (select from holdfast.executions_below(p_execution) as r (id) join holdfast.executions as e on e.id = r.id
                 where e.status <> 'running' and e.started > 0)
$$;

-- Goes on with an execution that failed or was cancelled. Dead jobs are replayed, and cancelled ones that had begun are resumed: both keep their steps. What
-- had not begun, and what is kept no more, is made again under a new id; what could not be started starts under the id it has, and what was given up waits
-- again. A payload is encrypted for the id of its job, so one that would need a new id is refused. p_confirmed: the sensitive types that are meant, as for
-- replay_dead.
create or replace function holdfast.resume_execution(p_execution uuid, p_owner text, p_actor holdfast.actor, p_confirmed text[]) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_execution holdfast.executions;
  v_dead uuid[];
  v_free uuid[];
  v_begun uuid[];
  v_locked text;
  v_again text[];
  v_live uuid[] := '{}';
  v_ready text[];
begin
  select * into v_execution from holdfast.lock_execution(p_execution, p_owner);
  if not found then
    return;
  end if;
  perform holdfast.fold_execution(p_execution);
  select * into v_execution from holdfast.executions as e where e.id = p_execution;
  if v_execution.status not in ('failed', 'cancelled') or holdfast.is_stopping(p_execution) then
    return query select p_execution, false, v_execution.status, v_execution.status,
      case v_execution.status when 'running' then 'it is running' when 'completed' then 'it has completed'
                              else 'handlers of it are still stopping; try again in a moment' end;
    return;
  end if;
  v_dead := array(select t.job_id from holdfast.tasks as t
                  where t.execution_id = p_execution and t.status = 'dead' and t.type is not null
                    and exists (select from holdfast.dead_letters as d where d.job_id = t.job_id) order by t.job_id);
  v_begun := array(select t.job_id from holdfast.tasks as t
                   where t.execution_id = p_execution and t.status = 'cancelled' and t.type is not null and holdfast.status_of(t.job_id) = 'cancelled'
                     and exists (select from holdfast.bodies as b where b.id = t.job_id)
                     and (holdfast.has_started(t.job_id, 1::smallint) or coalesce(t.payload, v_execution.input)::text like '{"$enc"%') order by t.job_id);
  select t.name into v_locked from holdfast.tasks as t
  where t.execution_id = p_execution and coalesce(t.payload, v_execution.input)::text like '{"$enc"%' and t.type is not null and t.job_id is not null
    and (t.status in ('cancelled', 'discarded') or (t.status = 'dead' and t.error is null)) and t.job_id <> all (v_dead || v_begun)
  order by t.name limit 1;
  if v_locked is not null then
    raise exception 'the job of task % cannot go on, and its payload is encrypted for that job alone', v_locked using errcode = 'HF006',
      hint = 'Run the workflow again from that task.';
  end if;
  -- What has no job that could go on begins again. One that could not be started has an error, and never had a job: it keeps its id.
  with fresh as (
    update holdfast.tasks as t set status = 'blocked', because = null, ended_at = null, error = null,
                                   job_id = case when t.job_id is not null then holdfast.new_job_id() end
    where t.execution_id = p_execution and t.type is not null and (t.each_of is null or t.items_left is null)
      and (t.status in ('cancelled', 'discarded') or (t.status = 'dead' and t.error is null)) and t.job_id <> all (v_dead || v_begun)
    returning t.name, t.item, t.job_id
  ), joined as (
    insert into holdfast.members (job_id, group_id, kind, task, item)
    select f.job_id, p_execution, 'execution', f.name, nullif(f.item, -1) from fresh as f where f.job_id is not null
  )
  select array_agg(distinct f.name) into v_again from fresh as f where f.item >= 0;
  update holdfast.tasks as t set status = 'blocked', error = null, ended_at = null
  where t.execution_id = p_execution and t.item = -1 and t.status = 'dead' and t.error is not null;
  if v_again is not null then
    perform holdfast.enqueue_tasks(v_execution, v_again, true, true);
  end if;
  -- One that somebody replays or discards at this moment is theirs: they may be waiting for this very execution.
  v_free := array(select d.job_id from holdfast.dead_letters as d where d.job_id = any (v_dead) order by d.job_id for update skip locked);
  if v_free <> '{}' then
    v_live := array(select r.job_id from holdfast.replay_dead(v_free, null, p_actor, p_confirmed) as r where r.done);
  end if;
  v_live := v_live || array(select r.job_id from unnest(v_begun) as b (id) cross join lateral holdfast.resume_job(b.id, p_actor, p_confirmed) as r where r.done);
  v_live := v_live || array(
    select r.job_id from holdfast.tasks as t cross join lateral holdfast.resume_execution(t.job_id, p_owner, p_actor, p_confirmed) as r
    where t.execution_id = p_execution and t.status in ('dead', 'cancelled') and t.sub_workflow is not null and t.job_id is not null and r.done);
  -- Those that live again count as started from here on: what waits for them, or for their failure, must not start before they have ended.
  v_ready := holdfast.reopen_execution(p_execution, v_live);
  perform holdfast.carry_on(e, 0, '{}', v_ready, true, false) from holdfast.executions as e where e.id = p_execution;
  perform holdfast.fold_execution(p_execution);
  if exists (select from holdfast.executions as e where e.id = p_execution and e.status = 'running' and e.started = 0) then
    perform holdfast.finish_execution(p_execution);
  end if;
  perform holdfast.audit('resume_execution', p_execution::text, jsonb_build_object('status', v_execution.status), jsonb_build_object('status', 'running'), p_actor);
  return query select p_execution, true, v_execution.status, e.status, null::text from holdfast.executions as e where e.id = p_execution;
end $$;

-- What is known of a task without a job: which parents it waits for, why it never started, or which execution it is. Of one whose job is no longer kept, how it
-- ended. Null: the id is of no task.
create or replace function holdfast.explain_task(p_job uuid) returns jsonb language sql stable
set enable_seqscan = off set jit = off
as $$
  select jsonb_build_object('status', t.status, 'type', coalesce(t.type, t.sub_workflow), 'lane', '', 'workers', 0, 'place', null, 'task', jsonb_build_object(
    'name', t.name, 'execution', e.id, 'workflow', e.workflow, 'because', t.because, 'error', t.error ->> 'message', 'sub', t.sub_workflow,
    'parents', (select coalesce(jsonb_agg(p.name order by p.name), '[]') from holdfast.tasks as p
                where p.execution_id = e.id and p.name = any (t.parents) and p.item = -1 and p.status in ('blocked', 'started')),
    'held_by', (select coalesce(jsonb_agg(p.job_id order by p.name), '[]') from holdfast.tasks as p
                where p.execution_id = e.id and p.name = any (t.parents) and p.item = -1 and p.status in ('blocked', 'started') and p.job_id is not null)))
  from holdfast.members as m join holdfast.executions as e on e.id = m.group_id
  join holdfast.tasks as t on t.execution_id = e.id and t.name = m.task and t.item = coalesce(m.item, -1) and t.job_id = p_job
  where m.job_id = p_job
$$;
