-- A job that has ended can be forgotten before its time, because somebody asks that what is known of them be deleted.

-- The tasks that a job or an execution is: its own, and those of executions that took over what it did.
create or replace function holdfast.tasks_of(p_id uuid) returns setof holdfast.tasks language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select t.* from holdfast.members as m join holdfast.tasks as t on t.execution_id = m.group_id and t.name = m.task and t.item = coalesce(m.item, -1)
  where m.job_id = p_id and t.job_id = p_id
  union all
  select t.* from holdfast.tasks as t where t.job_id = p_id and t.reused
$$;

-- Locks the executions that have a copy of what a job returned: those with a task that is this job, and those with a task that is one of these. Whoever folds
-- an execution copies results into it, and whoever repeats one out of it; each of them may just have made another that has a copy. The higher ones
-- first, as in lock_execution.
create or replace function holdfast.lock_holders(p_job uuid) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_locked uuid[] := '{}';
  v_more uuid[];
begin
  loop
    with recursive holders (id, height) as (
      select p_job, 0
      union
      select t.execution_id, h.height + 1 from holders as h cross join lateral holdfast.tasks_of(h.id) as t
    )
    select array_agg(n.id order by n.height desc, n.id) into v_more
    from (select h.id, max(h.height) as height from holders as h where h.height > 0 and h.id <> all (v_locked) group by h.id) as n;
    exit when v_more is null;
    for v_nth in 1 .. cardinality(v_more) loop
      perform from holdfast.executions as e where e.id = v_more[v_nth] for update;
    end loop;
    v_locked := v_locked || v_more;
  end loop;
end $$;

-- Clears what the tasks that are this job, or this execution, have of its result, and goes on upwards: the output of an execution is the result of its task.
create or replace function holdfast.forget_in_tasks(p_id uuid) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_sub constant boolean := exists (select from holdfast.executions as e where e.id = p_id);
  v_task holdfast.tasks;
begin
  for v_task in select * from holdfast.tasks_of(p_id) loop
    update holdfast.tasks as t
    set result = case when v_sub and t.status = 'completed' then holdfast.execution_output(p_id) end,
        payload = case when v_sub then t.payload when t.item >= 0 then 'null'::json end
    where t.execution_id = v_task.execution_id and t.name = v_task.name and t.item = v_task.item;
    perform holdfast.forget_in_tasks(v_task.execution_id);
  end loop;
end $$;

-- Removes everything that is kept of a job that has ended: its payload, result, attempts, errors, log. What stays is a line in the audit
-- log, and for their usual time its keys: without them the same enqueue would run a second time what was done already.
-- No row: no such job is kept.
create or replace function holdfast.forget_job(p_job uuid, p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_job record;
begin
  -- Before the body, as in resume_job.
  perform holdfast.lock_holders(p_job);
  perform from holdfast.bodies as b where b.id = p_job for update;
  select j.type, j.status into v_job from holdfast.jobs as j where j.id = p_job;
  if not found then
    return;
  end if;
  if v_job.status not in ('completed', 'cancelled', 'discarded') then
    return query select p_job, false, v_job.status, v_job.status,
      case v_job.status when 'dead' then 'it is dead; replay or discard it first' else 'it has not ended; cancel it first' end;
    return;
  end if;
  perform holdfast.archive_again_without(p_job);
  delete from holdfast.bodies as b where b.id = p_job;
  delete from holdfast.history as h where h.job_id = p_job;
  delete from holdfast.results as r where r.job_id = p_job;
  update holdfast.error_groups as g set message = null, job_id = null where g.job_id = p_job;
  perform holdfast.forget_in_tasks(p_job);
  delete from holdfast.log_lines as l where l.job_id = p_job;
  delete from holdfast.progress as p where p.job_id = p_job;
  delete from holdfast.checkpoints as c where c.job_id = p_job;
  delete from holdfast.start_deadlines as d where d.job_id = p_job;
  delete from holdfast.job_webhooks as w where w.job_id = p_job;
  delete from holdfast.steps as s where s.job_id = p_job;
  delete from holdfast.signals as g where g.job_id = p_job;
  delete from holdfast.newer_jobs as n where n.job_id = p_job;
  delete from holdfast.moves as m where m.job_id = p_job;
  delete from holdfast.approvals as a where a.job_id = p_job;
  delete from holdfast.approval_requests as a where a.job_id = p_job;
  perform holdfast.audit('forget_job', p_job::text, jsonb_build_object('type', v_job.type, 'status', v_job.status), null, p_actor);
  return query select p_job, true, v_job.status, v_job.status, null::text;
end $$;
