-- How a task of an execution starts. All of it runs under the lock of the execution's row.

-- Starts tasks whose parents have all ended, or skips them. ended: those that have ended with that, skipped ones, ones without an item, and ones that
-- could not be started, which are dead and say why. begun: how many are started; the caller counts them.
create or replace function holdfast.begin_tasks(p_execution holdfast.executions, p_names text[], p_wake_always boolean, out ended text[], out begun integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
declare
  v_plain text[];
  v_special text[];
  v_dead text[] := '{}';
  v_ran text[];
  v_failed text[];
  v_name text;
  v_what text;
begin
  begun := 0;
  select array_agg(p.name) filter (where p.status = 'completed'),
         array_agg(p.name) filter (where p.status in ('dead', 'cancelled', 'discarded') or p.because in ('failed', 'stopped', 'cancelled'))
  into v_ran, v_failed from holdfast.tasks as p
  where p.execution_id = p_execution.id and p.item = -1 and p.name = any (array(
    select distinct u.name from holdfast.tasks as t cross join lateral unnest(t.parents) as u (name)
    where t.execution_id = p_execution.id and t.name = any (p_names) and t.item = -1));
  with judged as materialized (
    select t.name, t.starts_when, t.condition is not null or t.each_of is not null or t.sub_workflow is not null as special,
           cardinality(t.parents) as parents, (select count(*) from unnest(t.parents) as u (name) where u.name = any (v_ran)) as ran,
           (select count(*) from unnest(t.parents) as u (name) where u.name = any (v_failed)) as failed
    from holdfast.tasks as t where t.execution_id = p_execution.id and t.name = any (p_names) and t.item = -1 and t.status = 'blocked'
  ), decided as (
    select j.*, case j.starts_when when 'succeeded' then j.failed = 0 and (j.parents = 0 or j.ran > 0) when 'failed' then j.failed > 0 else true end as goes
    from judged as j
  ), skipped as (
    update holdfast.tasks as t
    set status = 'skipped', because = case when d.starts_when = 'succeeded' and d.failed > 0 then 'failed' else 'condition' end, ended_at = holdfast.now()
    from decided as d where not d.goes and t.execution_id = p_execution.id and t.name = any (p_names) and t.name = d.name and t.item = -1
    returning t.name
  )
  select (select array_agg(s.name) from skipped as s), array_agg(d.name) filter (where d.goes and not d.special),
         array_agg(d.name) filter (where d.goes and d.special)
  into ended, v_plain, v_special from decided as d;
  foreach v_name in array coalesce(v_special, '{}') loop
    begin
      v_what := holdfast.begin_special(p_execution, v_name, p_wake_always);
    exception when others then
      if holdfast.is_of_no_row(sqlstate) then
        raise;
      end if;
      perform holdfast.fail_task(p_execution.id, v_name, sqlerrm);
      v_what := 'dead';
    end;
    v_plain := case v_what when 'plain' then v_plain || v_name else v_plain end;
    ended := case when v_what in ('ended', 'dead') then ended || v_name else ended end;
    begun := begun + (v_what = 'started')::integer;
    v_dead := case v_what when 'dead' then v_dead || v_name else v_dead end;
  end loop;
  if v_plain is not null then
    v_failed := holdfast.enqueue_plain(p_execution, v_plain, p_wake_always);
    begun := begun + cardinality(v_plain) - cardinality(v_failed);
    v_dead := v_dead || v_failed;
    ended := ended || v_dead;
  end if;
  if v_dead <> '{}' and p_execution.stops then
    ended := ended || holdfast.stop_tasks(p_execution.id, 'stopped');
  end if;
  ended := array(select distinct n from unnest(ended) as n);
end $$;

create or replace function holdfast.fail_task(p_execution uuid, p_name text, p_error text) returns void language sql volatile as $$
  update holdfast.tasks as t set status = 'dead', ended_at = holdfast.now(),
                                 error = jsonb_build_object('name', 'TaskError', 'message', 'the task could not be started: ' || p_error)
  where t.execution_id = p_execution and t.name = p_name and t.item = -1
$$;

-- Enqueues the jobs of tasks that were stored as started, with their execution. Where that fails they are blocked after all, and begin_tasks finds out
-- which of them cannot be enqueued. Returns how many started.
create or replace function holdfast.enqueue_first(p_execution holdfast.executions, p_wake_always boolean) returns integer
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  if p_execution.started > 0 then
    perform holdfast.enqueue_tasks(
      p_execution, array(select t.name from holdfast.tasks as t where t.execution_id = p_execution.id and t.status = 'started'), false, p_wake_always, true);
  end if;
  return p_execution.started;
exception when others then
  if holdfast.is_of_no_row(sqlstate) then
    raise;
  end if;
  update holdfast.tasks as t set status = 'blocked', started_at = null where t.execution_id = p_execution.id and t.status = 'started';
  update holdfast.executions as e set started = 0 where e.id = p_execution.id;
  return 0;
end $$;

-- Enqueues the jobs of tasks in one go; where that fails, one by one, so that one that cannot be enqueued keeps no other from it. Returns those that
-- could not.
create or replace function holdfast.enqueue_plain(p_execution holdfast.executions, p_names text[], p_wake_always boolean) returns text[]
language plpgsql as $$
declare
  v_name text;
  v_dead text[] := '{}';
begin
  begin
    perform holdfast.enqueue_tasks(p_execution, p_names, false, p_wake_always);
    return '{}';
  exception when others then
    if holdfast.is_of_no_row(sqlstate) then
      raise;
    end if;
  end;
  foreach v_name in array p_names loop
    begin
      perform holdfast.enqueue_tasks(p_execution, array[v_name], false, p_wake_always);
    exception when others then
      if holdfast.is_of_no_row(sqlstate) then
        raise;
      end if;
      perform holdfast.fail_task(p_execution.id, v_name, sqlerrm);
      v_dead := v_dead || v_name;
    end;
  end loop;
  return v_dead;
end $$;

-- Enqueues the jobs of tasks, or of the items of one, and marks them as started; p_begun: they were stored as that. Without a unique key, whatever their
-- type says: a task's job is its own, and one must not stand for another.
create or replace function holdfast.enqueue_tasks(
  p_execution holdfast.executions, p_names text[], p_items boolean, p_wake_always boolean, p_begun boolean default false
) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_jobs record;
begin
  with marked as (
    update holdfast.tasks as t set status = 'started', started_at = holdfast.now()
    where not p_begun and t.execution_id = p_execution.id and t.name = any (p_names) and (t.item >= 0) = p_items and t.status = 'blocked'
    returning t.job_id, t.type, t.payload, t.options
  ), begun as (
    select t.job_id, t.type, coalesce(t.payload, p_execution.input)::text as payload, t.options from (
      table marked
      union all
      select o.job_id, o.type, o.payload, o.options from holdfast.tasks as o
      where p_begun and o.execution_id = p_execution.id and o.name = any (p_names) and (o.item >= 0) = p_items and o.status = 'started') as t
  )
  select array_agg(b.job_id order by b.job_id) as ids, array_agg(b.type order by b.job_id) as types, array_agg(b.payload order by b.job_id) as payloads,
         array_agg(coalesce((b.options ->> 'priority')::smallint, p_execution.priority) order by b.job_id) as priorities,
         array_agg((b.options ->> 'maxAttempts')::smallint order by b.job_id) as max_attempts,
         array_agg((b.options ->> 'delayMs')::float8 order by b.job_id) as delays,
         array_agg(coalesce(b.options ->> 'concurrencyKey', p_execution.concurrency_key) order by b.job_id) as keys,
         array_agg(case when b.options -> 'tags' is not null then array(select jsonb_array_elements_text(b.options -> 'tags'))::text
                        else p_execution.tags::text end order by b.job_id) as tags,
         array_agg(p_execution.traceparent) as traces, count(b.options -> 'delayMs') as delayed,
         count(coalesce(b.options ->> 'tags', p_execution.tags::text)) as tagged
  into v_jobs from begun as b;
  if v_jobs.ids is null then
    return;
  end if;
  if cardinality(v_jobs.ids) = 1 and v_jobs.delayed + v_jobs.tagged = 0 then
    if holdfast.enqueue_job(
        v_jobs.ids[1], v_jobs.types[1], v_jobs.payloads[1], v_jobs.priorities[1], v_jobs.max_attempts[1], v_jobs.keys[1], p_wake_always, p_execution.owner,
        p_execution.traceparent,
        p_unique => case when exists (select from holdfast.types as t where t.name = v_jobs.types[1] and t.uniqueness is not null) then 'false' end) is not null then
      raise exception 'another job stands for it' using errcode = 'HF410';
    end if;
    return;
  end if;
  if exists (select from holdfast.enqueue_jobs(
      v_jobs.ids, v_jobs.types, v_jobs.payloads, v_jobs.priorities, v_jobs.max_attempts, case when v_jobs.delayed > 0 then v_jobs.delays else '{}' end,
      '{}', '{}', v_jobs.keys, true, false, p_wake_always,
      p_uniques => case when exists (select from holdfast.types as t where t.name = any (v_jobs.types) and t.uniqueness is not null)
                        then array_fill('false'::text, array[cardinality(v_jobs.ids)]) end,
      p_traces => case when p_execution.traceparent is not null then v_jobs.traces end, p_owner => p_execution.owner,
      p_tags => case when v_jobs.tagged > 0 then v_jobs.tags end)) then
    raise exception 'another job stands for it' using errcode = 'HF410';
  end if;
end $$;

-- Starts a task with a condition, with items or of a sub-workflow. Returns started, ended (skipped, or no item), or plain: only its condition was special.
create or replace function holdfast.begin_special(p_execution holdfast.executions, p_name text, p_wake_always boolean) returns text language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_task holdfast.tasks;
  v_read jsonb;
  v_items jsonb;
begin
  select * into v_task from holdfast.tasks as t where t.execution_id = p_execution.id and t.name = p_name and t.item = -1;
  if v_task.condition is not null or v_task.each_of is not null then
    v_read := jsonb_build_object('input', p_execution.input::jsonb) || coalesce((
      select jsonb_object_agg(p.name, holdfast.task_result(p)::jsonb) from holdfast.tasks as p
      where p.execution_id = p_execution.id and p.name = any (v_task.parents) and p.item = -1), '{}');
  end if;
  if v_task.condition is not null and not coalesce(jsonb_path_match(v_read, v_task.condition::jsonpath), false) then
    update holdfast.tasks as t set status = 'skipped', because = 'condition', ended_at = holdfast.now()
    where t.execution_id = p_execution.id and t.name = p_name and t.item = -1;
    return 'ended';
  end if;
  if v_task.each_of is null and v_task.sub_workflow is null then
    return 'plain';
  end if;
  if v_task.each_of is null then
    perform holdfast.begin_sub_workflow(p_execution, v_task, coalesce(v_task.payload, p_execution.input)::text, p_wake_always);
    update holdfast.tasks as t set status = 'started', started_at = holdfast.now()
    where t.execution_id = p_execution.id and t.name = p_name and t.item = -1;
    return 'started';
  end if;
  v_items := jsonb_path_query_array(v_read, v_task.each_of::jsonpath);
  if jsonb_array_length(v_items) > 10000 then
    raise exception 'each selects % items; at most 10,000 fit into one task', jsonb_array_length(v_items) using errcode = 'HF002';
  end if;
  update holdfast.tasks as t
  set status = case when v_items = '[]' then 'completed' else 'started' end, started_at = holdfast.now(), items_left = jsonb_array_length(v_items),
      ended_at = case when v_items = '[]' then holdfast.now() end
  where t.execution_id = p_execution.id and t.name = p_name and t.item = -1;
  if v_items = '[]' then
    return 'ended';
  end if;
  with item as (
    insert into holdfast.tasks (execution_id, name, item, status, started_at, job_id, type, sub_workflow, sub_hash, options, payload)
    select p_execution.id, p_name, (i.nth - 1)::integer, 'started', holdfast.now(), holdfast.new_job_id(), v_task.type, v_task.sub_workflow,
           v_task.sub_hash, v_task.options, i.value::json
    from jsonb_array_elements(v_items) with ordinality as i (value, nth)
    returning name, item, job_id
  )
  insert into holdfast.members (job_id, group_id, kind, task, item) select i.job_id, p_execution.id, 'execution', i.name, i.item from item as i;
  if v_task.sub_workflow is null then
    perform holdfast.enqueue_tasks(p_execution, array[p_name], true, p_wake_always, true);
  else
    perform holdfast.begin_sub_workflow(p_execution, t, t.payload::text, p_wake_always)
    from holdfast.tasks as t where t.execution_id = p_execution.id and t.name = p_name and t.item >= 0 order by t.item;
  end if;
  return 'started';
end $$;

-- Starts the execution that a task, or an item of one, is.
create or replace function holdfast.begin_sub_workflow(p_execution holdfast.executions, p_task holdfast.tasks, p_input text, p_wake_always boolean)
returns void language sql volatile as $$
  select holdfast.start_execution(
    p_task.job_id, p_task.sub_workflow, p_task.sub_hash, p_input,
    jsonb_strip_nulls(jsonb_build_object('owner', p_execution.owner, 'priority', p_execution.priority, 'concurrency_key', p_execution.concurrency_key,
      'tags', to_jsonb(p_execution.tags), 'traceparent', p_execution.traceparent, 'wake_always', p_wake_always)),
    p_parent => p_execution.id)
$$;

-- What a task has resulted in: what its job returned, or a list of that for each item.
create or replace function holdfast.task_result(p_task holdfast.tasks) returns json language sql stable
set enable_seqscan = off set jit = off
as $$
  select case when p_task.status <> 'completed' then null
              when p_task.each_of is null then p_task.result
              else (select coalesce(json_agg(coalesce(i.result, 'null') order by i.item), '[]') from holdfast.tasks as i
                    where i.execution_id = p_task.execution_id and i.name = p_task.name and i.item >= 0) end
$$;
