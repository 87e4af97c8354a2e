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

-- Starts an execution: its tasks are stored, and those that wait for nobody start. p_options: {"priority", "concurrency_key", "tags", "traceparent",
-- "owner", "wake_always", and who asked for a rerun: "by", "why", "from"}. p_own: by task, the id and the payload of what has to be encrypted outside. p_parent: the execution that this one is a task of.
-- p_rerun_of, p_from: what that execution did before this task is taken over; what depends on it, or did not complete, is done again.
-- Returns false where an execution has that id already; one of another workflow is refused, and so is the id of a job.
create or replace function holdfast.start_execution(
  p_id uuid, p_workflow text, p_hash text, p_input text, p_options jsonb default '{}', p_own jsonb default null, p_parent uuid default null,
  p_rerun_of uuid default null, p_from text default null
) returns boolean
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_workflow holdfast.workflows;
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
  insert into holdfast.executions (id, workflow, version, stops, owner, created_at, parent_id, rerun_of, rerun_from, priority, concurrency_key, tags,
                                   traceparent, input)
  values (p_id, p_workflow, v_workflow.version, v_workflow.graph ->> 'onFailure' = 'stop', p_options ->> 'owner', holdfast.now(), p_parent, p_rerun_of,
          p_from, (p_options ->> 'priority')::smallint, p_options ->> 'concurrency_key',
          case when p_options -> 'tags' is not null then array(select jsonb_array_elements_text(p_options -> 'tags')) end,
          p_options ->> 'traceparent', p_input::json)
  on conflict do nothing;
  if not found then
    if exists (select from holdfast.executions as e where e.id = p_id
               and (e.workflow <> p_workflow or e.owner is distinct from p_options ->> 'owner')) then
      raise exception 'id % belongs to another execution', p_id using errcode = 'HF410';
    end if;
    return false;
  end if;
  with task as materialized (
    select t ->> 'name' as name, array(select jsonb_array_elements_text(t -> 'after')) as parents, t from jsonb_array_elements(v_workflow.graph -> 'tasks') as t
  ), below as (
    select p.name as parent, array_agg(task.name) as children from task cross join lateral unnest(task.parents) as p (name) group by p.name
  )
  insert into holdfast.tasks (execution_id, name, waits, job_id, parents, children, starts_when, condition, each_of, type, sub_workflow, sub_hash, options,
                              payload)
  select p_id, task.name, cardinality(task.parents),
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
  v_ready := array(select t.name from holdfast.tasks as t where t.execution_id = p_id and t.item = -1 and t.status = 'blocked' and t.waits = 0);
  perform holdfast.carry_on(p_id, '{}', v_ready, coalesce((p_options ->> 'wake_always')::boolean, false));
  -- A sub-workflow without anything to run has ended already.
  if exists (select from holdfast.group_changes as c where c.group_id = p_id) then
    perform holdfast.fold_execution(p_id);
  end if;
  return true;
end $$;

-- Advances one execution, and the one it is a task of, where its end is news for that. False: somebody else is at it.
create or replace function holdfast.advance_execution(p_execution uuid) returns boolean language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_parent uuid;
begin
  if not holdfast.fold_execution(p_execution) then
    return false;
  end if;
  perform holdfast.cancel_left(e) from holdfast.executions as e where e.id = p_execution and e.look_again;
  select e.parent_id into v_parent from holdfast.executions as e where e.id = p_execution;
  if v_parent is not null and exists (select from holdfast.group_changes as c where c.group_id = v_parent) then
    -- Where somebody else holds the parent, tick comes back to it.
    perform holdfast.advance_execution(v_parent);
  end if;
  return true;
end $$;

-- How tasks are found here and in begin_tasks: by an index scan of the names that are meant, and a hash of what is to be told them. The planner knows nothing
-- of an execution that has just been stored; left to itself it compares each of a thousand tasks with each of a thousand.

-- Folds what became of the jobs of an execution, starts what may start, and ends it where nothing is left. False: somebody else is at it.
create or replace function holdfast.fold_execution(p_execution uuid) returns boolean language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
declare
  v_stops boolean;
  v_running boolean;
  v_jobs uuid[];
  v_became text[];
  v_revived uuid[];
  v_ended text[];
  v_items text[];
  v_tasks text[];
  v_numbers integer[];
  v_failed boolean;
  v_ready text[];
begin
  select e.stops, e.status = 'running' into v_stops, v_running from holdfast.executions as e where e.id = p_execution for update skip locked;
  if not found then
    return false;
  end if;
  loop
    -- A job that changed more than once since the last look is asked what it is now; the order of the rows says nothing. Of one of which nothing is kept by
    -- then, they say it all the same: what has completed or was discarded was never live again, and a dead one is kept.
    with gone as (
      delete from holdfast.group_changes as c where c.group_id = p_execution returning c.job_id, c.became
    ), once as (
      select g.job_id, count(*) as times, min(g.became) as became, bool_or(g.became = 'live') as revived,
             coalesce(max(g.became) filter (where g.became = 'completed'), max(g.became) filter (where g.became = 'discarded'),
                      min(g.became) filter (where g.became <> 'live')) as ended
      from gone as g group by g.job_id
    )
    select array_agg(o.job_id), array_agg(case when o.times = 1 then o.became else coalesce(holdfast.member_status(o.job_id), o.ended) end),
           array_agg(o.job_id) filter (where o.revived)
    into v_jobs, v_became, v_revived from once as o;
    exit when v_jobs is null;
    v_ready := '{}';
    if v_revived is not null then
      v_ready := holdfast.reopen_execution(p_execution, v_revived);
      v_running := true;
    end if;
    select array_agg(m.task), array_agg(coalesce(m.item, -1)), array_agg(c.id), array_agg(c.became) into v_tasks, v_numbers, v_jobs, v_became
    from unnest(v_jobs, v_became) as c (id, became) join holdfast.members as m on m.job_id = c.id
    where m.job_id = any (v_jobs) and c.became <> 'live';
    with ended as (
      update holdfast.tasks as t
      set status = c.became, ended_at = holdfast.now(), error = null,
          result = case when c.became = 'completed' then
            case when t.sub_workflow is null then (select r.result from holdfast.results as r where r.job_id = c.id limit 1)
                 else holdfast.execution_output(c.id) end end
      from unnest(v_tasks, v_numbers, v_jobs, v_became) as c (name, item, id, became)
      where t.execution_id = p_execution and t.name = any (v_tasks) and t.name = c.name and t.item = c.item and t.status = 'started'
      returning t.name, t.item, t.status
    )
    select array_agg(e.name) filter (where e.item = -1), coalesce(bool_or(e.item = -1 and e.status <> 'completed'), false),
           array_agg(e.name) filter (where e.item >= 0)
    into v_ended, v_failed, v_items from ended as e;
    if v_items is not null then
      select v_ended || f.ended, v_failed or f.failed into v_ended, v_failed from holdfast.fold_items(p_execution, v_items) as f;
    end if;
    v_ended := coalesce(v_ended, '{}');
    if v_ended <> '{}' then
      update holdfast.executions as e set started = e.started - cardinality(v_ended) where e.id = p_execution;
    end if;
    if v_running and v_failed and v_stops then
      v_ended := v_ended || holdfast.stop_tasks(p_execution, 'stopped');
    end if;
    if v_running then
      perform holdfast.carry_on(p_execution, v_ended, v_ready, false);
    elsif (select e.started = 0 from holdfast.executions as e where e.id = p_execution) then
      perform holdfast.close_group(p_execution);
    end if;
  end loop;
  return true;
end $$;

-- What a member of an execution is now: live, or how it ended. Null: nothing of it is kept.
create or replace function holdfast.member_status(p_job uuid) returns text language sql stable
set enable_seqscan = off set jit = off
as $$
  select case s.status when 'completed' then 'completed' when 'dead' then 'dead' when 'failed' then s.failed when 'cancelled' then 'cancelled'
                       when 'discarded' then 'discarded' else case when s.status is not null then 'live' end end
  from (
    select e.status, 'dead' as failed from holdfast.executions as e where e.id = p_job
    union all
    select holdfast.status_of(p_job), 'live' where not exists (select from holdfast.executions as e where e.id = p_job)
  ) as s
$$;

-- Of tasks that run once for each item: counts down what is left, and ends those whose last item has ended. One item that failed is enough for the task
-- to have failed. p_items: the task of each item that has just ended.
create or replace function holdfast.fold_items(p_execution uuid, p_items text[], out ended text[], out failed boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
begin
  with part as (
    select i.task, count(*) as items from unnest(p_items) as i (task) group by i.task
  ), counted as (
    update holdfast.tasks as t set items_left = t.items_left - p.items
    from part as p where t.execution_id = p_execution and t.name = any (p_items) and t.name = p.task and t.item = -1 and t.status = 'started'
    returning t.name, t.items_left
  )
  select coalesce(array_agg(c.name) filter (where c.items_left = 0), '{}') into ended from counted as c;
  failed := false;
  if ended = '{}' then
    return;
  end if;
  with over as (
    update holdfast.tasks as t set ended_at = holdfast.now(), status = coalesce(
      (select 'dead' from holdfast.tasks as i where i.execution_id = p_execution and i.name = t.name and i.item >= 0 and i.status <> 'completed' limit 1),
      'completed')
    where t.execution_id = p_execution and t.name = any (ended) and t.item = -1 returning t.status
  )
  select bool_or(o.status <> 'completed') into failed from over as o;
end $$;

-- Skips what waits and would only start after a success, and says which tasks these were.
create or replace function holdfast.stop_tasks(p_execution uuid, p_because text) returns text[] language sql volatile
set enable_seqscan = off set jit = off
as $$
  with skipped as (
    update holdfast.tasks as t set status = 'skipped', because = p_because, ended_at = holdfast.now()
    where t.execution_id = p_execution and t.item = -1 and t.status = 'blocked' and (t.starts_when = 'succeeded' or p_because = 'cancelled')
    returning t.name
  )
  select coalesce(array_agg(s.name), '{}') from skipped as s
$$;

-- Goes down the graph from tasks that have ended: whose parents have all ended, starts or is skipped, and what is skipped goes on from there. Ends the
-- execution where no task is started any more, and p_may_end: no news of it is on its way. p_ready: tasks that may start besides.
create or replace function holdfast.carry_on(p_execution uuid, p_ended text[], p_ready text[], p_wake_always boolean, p_may_end boolean default true) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
declare
  v_below text[];
  v_parents integer[];
  v_freed text[];
begin
  loop
    if p_ended <> '{}' then
      select array_agg(b.name), array_agg(b.parents) into v_below, v_parents from (
        select c.name, count(*) as parents from holdfast.tasks as t cross join lateral unnest(t.children) as c (name)
        where t.execution_id = p_execution and t.name = any (p_ended) and t.item = -1 group by c.name) as b;
      -- The counter of one that waits for nobody any more is not written: it starts or is skipped now, and only of a blocked task is it read.
      with told as (
        update holdfast.tasks as t set waits = t.waits - b.parents from unnest(v_below, v_parents) as b (name, parents)
        where t.execution_id = p_execution and t.name = any (v_below) and t.name = b.name and t.item = -1 and t.status = 'blocked' and t.waits > b.parents
      )
      select array_agg(t.name) into v_freed from holdfast.tasks as t join unnest(v_below, v_parents) as b (name, parents) on t.name = b.name
      where t.execution_id = p_execution and t.name = any (v_below) and t.item = -1 and t.status = 'blocked' and t.waits <= b.parents;
      p_ready := p_ready || v_freed;
    end if;
    exit when p_ready = '{}' or p_ready is null;
    p_ended := holdfast.begin_tasks(p_execution, p_ready, p_wake_always);
    p_ready := '{}';
  end loop;
  if p_may_end and (select e.started = 0 from holdfast.executions as e where e.id = p_execution) then
    perform holdfast.finish_execution(p_execution);
  end if;
end $$;
