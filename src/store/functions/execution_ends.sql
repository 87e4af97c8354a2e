-- How an execution ends, is opened again, and is cancelled or resumed.

-- Ends an execution of which no task is started any more: nothing can start from here on. Its counter is checked against the tasks, once.
-- Returns how many are started by that.
create or replace function holdfast.finish_execution(p_execution uuid) returns integer language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_started integer;
  v_failed boolean;
  v_ended holdfast.executions;
begin
  select count(*) filter (where t.status = 'started'), coalesce(bool_or(t.status in ('dead', 'cancelled', 'discarded')), false) into v_started, v_failed
  from holdfast.tasks as t where t.execution_id = p_execution and t.item = -1;
  if v_started > 0 then
    update holdfast.executions as e set started = v_started where e.id = p_execution;
    return v_started;
  end if;
  update holdfast.executions as e set status = case when v_failed then 'failed' else 'completed' end, ended_at = holdfast.now(), started = 0
  where e.id = p_execution and e.status = 'running' returning e.* into v_ended;
  perform holdfast.close_group(p_execution);
  perform holdfast.tell_parent(v_ended, 'live', case when v_failed then 'dead' else 'completed' end);
  perform holdfast.tell_waiters(array[p_execution]);
  return 0;
end $$;

-- An execution that has ended costs no settle a look any more. Where somebody is just reviving a job of it, it stays open: their change comes, and where
-- it does not, close_orphans does that.
create or replace function holdfast.close_group(p_execution uuid) returns void language sql volatile as $$
  delete from holdfast.open_groups as g where g.group_id in (
    select o.group_id from holdfast.open_groups as o where o.group_id = p_execution for update skip locked)
$$;

-- Says to the execution that this one is a task of what it was and is.
create or replace function holdfast.tell_parent(p_execution holdfast.executions, p_was text, p_became text) returns void language plpgsql as $$
begin
  if p_execution.parent_id is not null then
    perform holdfast.hold_open(p_execution.parent_id, 'execution');
    insert into holdfast.group_changes (group_id, job_id, was, became, jobs) values (p_execution.parent_id, p_execution.id, p_was, p_became, 1);
  end if;
end $$;

-- The results that a workflow names as its output, as one JSON: of one task, or of several under their names. Null: it names none, or that task has not completed.
-- Encrypted where the results are.
create or replace function holdfast.execution_output(p_execution uuid) returns json language sql stable
set enable_seqscan = off set jit = off
as $$
  select case jsonb_typeof(w.graph -> 'output')
    when 'string' then (select holdfast.task_result(t) from holdfast.tasks as t where t.execution_id = e.id and t.name = w.graph ->> 'output' and t.item = -1)
    when 'object' then (select json_object_agg(o.key, holdfast.task_result(t)) from jsonb_each_text(w.graph -> 'output') as o
                        join holdfast.tasks as t on t.execution_id = e.id and t.name = o.value and t.item = -1) end
  from holdfast.executions as e join holdfast.workflows as w on w.name = e.workflow and w.version = e.version where e.id = p_execution
$$;

-- Opens an execution again: jobs of it live that had ended. What was given up because of a failure, or a cancel, waits again for what it waited for. Returns
-- the tasks that wait for nobody.
create or replace function holdfast.reopen_execution(p_execution uuid, p_live uuid[]) returns text[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
declare
  v_before holdfast.executions;
  v_open text[];
begin
  select * into v_before from holdfast.executions as e where e.id = p_execution;
  update holdfast.tasks as t set status = 'started', ended_at = null, error = null
  from holdfast.members as m where m.job_id = any (p_live) and m.group_id = p_execution and t.execution_id = p_execution and t.name = m.task and t.item = coalesce(m.item, -1)
    and t.status in ('dead', 'cancelled', 'discarded');
  update holdfast.tasks as t set status = 'started', ended_at = null, items_left = i.started
  from (select o.name, count(*) as started from holdfast.tasks as o
        where o.execution_id = p_execution and o.item >= 0 and o.status = 'started' group by o.name) as i
  where t.execution_id = p_execution and t.name = i.name and t.item = -1 and t.items_left is distinct from i.started;
  update holdfast.tasks as t set status = 'blocked', because = null, ended_at = null
  where t.execution_id = p_execution and t.item = -1 and t.status = 'skipped' and t.because in ('failed', 'stopped', 'cancelled');
  v_open := array(select p.name from holdfast.tasks as p where p.execution_id = p_execution and p.item = -1 and p.status in ('blocked', 'started'));
  update holdfast.tasks as t set waits = (select count(*) from unnest(t.parents) as u (name) where u.name = any (v_open))
  where t.execution_id = p_execution and t.item = -1 and t.status = 'blocked';
  update holdfast.executions as e
  set status = 'running', ended_at = null, started = (
    select count(*) from holdfast.tasks as t where t.execution_id = p_execution and t.item = -1 and t.status = 'started')
  where e.id = p_execution;
  perform holdfast.hold_open(p_execution, 'execution');
  if v_before.status <> 'running' then
    perform holdfast.tell_parent(v_before, case v_before.status when 'cancelled' then 'cancelled' else 'dead' end, 'live');
  end if;
  return array(select t.name from holdfast.tasks as t where t.execution_id = p_execution and t.item = -1 and t.status = 'blocked' and t.waits = 0);
end $$;

-- Takes over what an earlier execution of the same graph did: tasks that completed or were skipped by a condition, and do not depend on p_from. Under its
-- lock, so that nobody resumes it meanwhile: what it does itself is not repeated beside it, nor beside a handler of it that is still stopping.
create or replace function holdfast.reuse_tasks(p_execution uuid, p_earlier uuid, p_from text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_again text[];
  v_open text[];
  v_earlier text;
begin
  perform from holdfast.lock_execution(p_earlier, null);
  perform holdfast.fold_execution(p_earlier);
  select e.status into v_earlier from holdfast.executions as e where e.id = p_earlier;
  if v_earlier is null then
    raise exception 'no execution % is kept', p_earlier using errcode = 'HF404', detail = 'id';
  elsif v_earlier = 'running' then
    raise exception 'execution % is running; cancel it first', p_earlier using errcode = 'HF006';
  elsif holdfast.is_stopping(p_earlier) then
    raise exception 'handlers of execution % are still stopping; try again in a moment', p_earlier using errcode = 'HF006';
  end if;
  with recursive again (name) as (
    select p_from
    union
    select c.name from again as a join holdfast.tasks as t on t.execution_id = p_earlier and t.name = a.name and t.item = -1
    cross join lateral unnest(t.children) as c (name)
  )
  select array_agg(a.name) into v_again from again as a;
  update holdfast.tasks as t
  set status = o.status, because = o.because, job_id = o.job_id, reused = true, items_left = o.items_left, started_at = o.started_at, ended_at = o.ended_at,
      result = o.result
  from holdfast.tasks as o
  where t.execution_id = p_execution and o.execution_id = p_earlier and o.name = t.name and o.item = -1 and t.item = -1 and t.name <> all (v_again)
    and (o.status = 'completed' or (o.status = 'skipped' and o.because = 'condition'));
  insert into holdfast.tasks (execution_id, name, item, status, job_id, reused, started_at, ended_at, type, sub_workflow, sub_hash, options, payload, result)
  select p_execution, o.name, o.item, o.status, o.job_id, true, o.started_at, o.ended_at, o.type, o.sub_workflow, o.sub_hash, o.options, o.payload, o.result
  from holdfast.tasks as o join holdfast.tasks as t on t.execution_id = p_execution and t.name = o.name and t.item = -1 and t.reused
  where o.execution_id = p_earlier and o.item >= 0;
  v_open := array(select p.name from holdfast.tasks as p where p.execution_id = p_execution and p.item = -1 and not p.reused);
  update holdfast.tasks as t set waits = (select count(*) from unnest(t.parents) as u (name) where u.name = any (v_open))
  where t.execution_id = p_execution and t.item = -1 and t.status = 'blocked';
end $$;

-- Every task of every execution that is kept, as SQL sees it. input: what its job was given, or will be; of one that is for each item, what the
-- execution was. Encrypted where that is, and not for readers (roles.sql).
create or replace view holdfast.execution_tasks as
  select t.execution_id, e.workflow, e.version, t.name as task, nullif(t.item, -1) as item, t.status, t.because, t.job_id, t.type, t.sub_workflow, t.parents,
         t.reused, t.started_at, t.ended_at, t.error, t.result, coalesce(t.payload, e.input) as input
  from holdfast.tasks as t join holdfast.executions as e on e.id = t.execution_id;

-- Removes executions whose time of keeping is over, with their tasks. One that is a task of another stays as long as that one:
-- to resume it means to resume both. Returns how many went.
create or replace function holdfast.sweep_executions(p_completed interval, p_dead interval, p_limit integer) returns integer language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_gone uuid[];
begin
  v_gone := array(
    select e.id from holdfast.executions as e
    where e.ended_at < v_now - least(p_completed, p_dead) and e.started = 0
      and e.ended_at < v_now - case e.status when 'failed' then greatest(p_completed, p_dead) else p_completed end
      and (e.parent_id is null or not exists (select from holdfast.executions as p where p.id = e.parent_id))
    order by e.ended_at limit p_limit for update skip locked);
  delete from holdfast.tasks as t where t.execution_id = any (v_gone);
  delete from holdfast.members as m where m.group_id = any (v_gone);
  delete from holdfast.executions as e where e.id = any (v_gone);
  return cardinality(v_gone);
end $$;
