-- Executions of workflows. A task starts, and the job of it is made, by whoever folds the end of its last parent: advance_execution, under the lock
-- of the execution's row. So of two that see the same end one makes the job, and a crash before its commit leaves the end to the next.

-- Registers a graph and returns its version: the one it has, or the next. p_graph: as src/workflow/graph.ts has it, checked there; here the types and
-- the jsonpaths are, which only the database knows. Returns the problems of all tasks at once: {"task", "field", "problem"}.
create or replace function holdfast.register_workflow(p_name text, p_hash text, p_graph jsonb, out version integer, out problems jsonb)
language plpgsql as $$
declare
  v_task jsonb;
  v_field text;
begin
  select w.version into version from holdfast.workflows as w where w.name = p_name and w.hash = p_hash;
  if found then
    return;
  end if;
  problems := '[]';
  for v_task in select t from jsonb_array_elements(p_graph -> 'tasks') as t loop
    if v_task ->> 'type' is not null and not exists (select from holdfast.types as t where t.name = v_task ->> 'type') then
      problems := problems || jsonb_build_object('task', v_task ->> 'name', 'field', 'type',
        'problem', format('is %s, and no job type of that name is registered', v_task -> 'type'));
    end if;
    foreach v_field in array array['if', 'each'] loop
      begin
        perform case v_field when 'if' then jsonb_path_match('{}', (v_task ->> v_field)::jsonpath)::text
                             else jsonb_path_query_array('{}', (v_task ->> v_field)::jsonpath, silent => true)::text end;
      exception when others then
        problems := problems || jsonb_build_object('task', v_task ->> 'name', 'field', v_field, 'problem',
          case sqlstate when '22038' then format('is %s, which is no predicate; compare it with something, such as %s',
                                                 v_task -> v_field, to_jsonb((v_task ->> v_field) || ' == true'))
               else format('is %s, which is no jsonpath: %s', v_task -> v_field, sqlerrm) end);
      end;
    end loop;
  end loop;
  if problems <> '[]' then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('holdfast.workflow ' || p_name, 0));
  insert into holdfast.workflows (name, version, hash, graph, defined_at)
  select p_name, coalesce(max(w.version), 0) + 1, p_hash, p_graph, holdfast.now() from holdfast.workflows as w where w.name = p_name
  on conflict on constraint workflows_once do nothing;
  select w.version into version from holdfast.workflows as w where w.name = p_name and w.hash = p_hash;
end $$;

-- Whether a task of a graph starts with its execution, whatever its input is.
create or replace function holdfast.is_first(p_task jsonb) returns boolean language sql immutable as $$
  select p_task -> 'after' = '[]' and p_task ->> 'when' <> 'failed' and coalesce(p_task -> 'if', p_task -> 'each', p_task -> 'workflow') is null
$$;

-- Starts an execution: its tasks are stored, and those that wait for nobody start. Most of these are stored as started, so that their row and that of the
-- execution are written once; after a rerun nobody knows yet what is done again. p_options: {"priority", "concurrency_key", "tags", "traceparent",
-- "owner", "wake_always", and who asked for a rerun: "by", "why", "from"}. p_own: by task, the id and the payload of what has to be encrypted outside. p_parent: the execution that this one is a task of.
-- p_rerun_of, p_from: what that execution did before this task is taken over; what depends on it, or did not complete, is done again.
-- Returns false where an execution has that id already; one of another workflow is refused, and so is the id of a job.
create or replace function holdfast.start_execution(
  p_id uuid, p_workflow text, p_hash text, p_input text, p_options jsonb default '{}', p_own jsonb default null, p_parent uuid default null,
  p_rerun_of uuid default null, p_from text default null
) returns boolean
language plpgsql
set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_workflow holdfast.workflows;
  v_execution holdfast.executions;
  v_wake_always boolean := coalesce((p_options ->> 'wake_always')::boolean, false);
  v_ready text[];
begin
  select * into v_workflow from holdfast.workflows as w where w.name = p_workflow and w.hash = p_hash;
  if not found then
    raise exception 'the workflow % is not registered as it is defined here', p_workflow using errcode = 'HF012';
  end if;
  -- Whoever waits for that job, or folds its end, would take this execution for it.
  if p_parent is null and (exists (select from holdfast.bodies as b where b.id = p_id) or exists (select from holdfast.members as m where m.job_id = p_id)) then
    raise exception 'id % belongs to a job', p_id using errcode = 'HF410';
  end if;
  insert into holdfast.executions (id, workflow, version, started, stops, owner, created_at, parent_id, rerun_of, rerun_from, priority, concurrency_key, tags,
                                   traceparent, input)
  values (p_id, p_workflow, v_workflow.version,
          case when p_rerun_of is null then (select count(*) from jsonb_array_elements(v_workflow.graph -> 'tasks') as t where holdfast.is_first(t)) else 0 end,
          v_workflow.graph ->> 'onFailure' = 'stop', p_options ->> 'owner', holdfast.now(), p_parent, p_rerun_of,
          p_from, (p_options ->> 'priority')::smallint, p_options ->> 'concurrency_key',
          case when p_options -> 'tags' is not null then array(select jsonb_array_elements_text(p_options -> 'tags')) end,
          p_options ->> 'traceparent', p_input::json)
  on conflict do nothing returning * into v_execution;
  if not found then
    if exists (select from holdfast.executions as e where e.id = p_id
               and (e.workflow <> p_workflow or e.owner is distinct from p_options ->> 'owner')) then
      raise exception 'id % belongs to another execution', p_id using errcode = 'HF410';
    end if;
    return false;
  end if;
  with task as materialized (
    select t ->> 'name' as name, array(select jsonb_array_elements_text(t -> 'after')) as parents, p_rerun_of is null and holdfast.is_first(t) as begins, t
    from jsonb_array_elements(v_workflow.graph -> 'tasks') as t
  ), below as (
    select p.name as parent, array_agg(task.name) as children from task cross join lateral unnest(task.parents) as p (name) group by p.name
  )
  insert into holdfast.tasks (execution_id, name, status, started_at, waits, job_id, parents, children, starts_when, condition, each_of, type, sub_workflow,
                              sub_hash, options, payload)
  select p_id, task.name, case when task.begins then 'started' else 'blocked' end, case when task.begins then holdfast.now() end, cardinality(task.parents),
         case when t ->> 'each' is null then coalesce((p_own -> task.name ->> 'id')::uuid, holdfast.new_job_id()) end,
         task.parents, coalesce(b.children, '{}'), t ->> 'when', t ->> 'if', t ->> 'each', t ->> 'type',
         t -> 'workflow' ->> 'name', t -> 'workflow' ->> 'hash', nullif(t -> 'options', '{}'),
         coalesce(p_own -> task.name ->> 'payload', t ->> 'payload')::json
  from task left join below as b on b.parent = task.name;
  if p_rerun_of is not null then
    perform holdfast.reuse_tasks(p_id, p_rerun_of, p_from);
    perform holdfast.audit('rerun_execution', p_rerun_of::text, null, jsonb_build_object('execution', p_id, 'from', p_from),
                           holdfast.actor(p_options ->> 'by', p_options ->> 'why', p_options ->> 'from'));
  end if;
  if exists (select from holdfast.tasks as t join holdfast.types as y on y.name = t.type
             where t.execution_id = p_id and y.encrypted and not t.reused and coalesce(t.payload::text, '') not like '{"$enc"%') then
    raise exception 'payloads of a task of % have to be encrypted, and this process has no keys', p_workflow using errcode = 'HF009',
      hint = 'Start it in a process that has encryption keys, or over HTTP at a server that has them.';
  end if;
  insert into holdfast.members (job_id, group_id, kind, task)
  select t.job_id, p_id, 'execution', t.name from holdfast.tasks as t where t.execution_id = p_id and t.job_id is not null and not t.reused;
  insert into holdfast.open_groups (group_id, kind) values (p_id, 'execution');
  v_execution.started := holdfast.enqueue_first(v_execution, v_wake_always);
  v_ready := array(select t.name from holdfast.tasks as t where t.execution_id = p_id and t.item = -1 and t.status = 'blocked' and t.waits = 0);
  if v_ready <> '{}' or v_execution.started = 0 then
    perform holdfast.carry_on(v_execution, 0, '{}', v_ready, v_wake_always);
  end if;
  -- A sub-workflow without anything to run has ended already.
  if exists (select from holdfast.group_changes as c where c.group_id = p_id) then
    perform holdfast.fold_execution(p_id);
  end if;
  return true;
end $$;
