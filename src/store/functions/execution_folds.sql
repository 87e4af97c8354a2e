-- How an execution goes on: what became of its jobs is folded into its tasks, and what may start then starts.

-- Advances one execution, and the one it is a task of, where its end is news for that. False: somebody else is at it.
create or replace function holdfast.advance_execution(p_execution uuid) returns boolean language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_execution holdfast.executions;
begin
  if not holdfast.fold_execution(p_execution) then
    return false;
  end if;
  select * into v_execution from holdfast.executions as e where e.id = p_execution and (e.look_again or e.parent_id is not null);
  if v_execution.look_again then
    perform holdfast.cancel_left(v_execution);
  end if;
  if v_execution.parent_id is not null and exists (select from holdfast.group_changes as c where c.group_id = v_execution.parent_id) then
    -- Where somebody else holds the parent, tick comes back to it.
    perform holdfast.advance_execution(v_execution.parent_id);
  end if;
  return true;
end $$;

-- How tasks are found here and in begin_tasks: by an index scan of the names that are meant, and a hash of what is to be told them. The planner knows nothing
-- of an execution that has just been stored; left to itself it compares each of a thousand tasks with each of a thousand.

-- Folds what became of the jobs of an execution, starts what may start, and ends it where nothing is left. False: somebody else is at it.
create or replace function holdfast.fold_execution(p_execution uuid) returns boolean language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_execution holdfast.executions;
  v_jobs uuid[];
  v_became text[];
  v_revived uuid[];
  v_ended text[];
  v_items text[];
  v_tasks text[];
  v_numbers integer[];
  v_failed boolean;
  v_done integer;
  v_ready text[];
begin
  select * into v_execution from holdfast.executions as e where e.id = p_execution for update skip locked;
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
      select * into v_execution from holdfast.executions as e where e.id = p_execution;
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
    v_done := cardinality(v_ended);
    if v_execution.status = 'running' then
      if v_failed and v_execution.stops then
        v_ended := v_ended || holdfast.stop_tasks(p_execution, 'stopped');
      end if;
      v_execution.started := holdfast.carry_on(v_execution, v_done, v_ended, v_ready, false);
    elsif v_done > 0 then
      update holdfast.executions as e set started = e.started - v_done where e.id = p_execution returning e.started into v_execution.started;
      if v_execution.started = 0 then
        perform holdfast.close_group(p_execution);
      end if;
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
-- execution where no task is started any more, and p_may_end: no news of it is on its way. p_execution: as it is now. p_done: how many of the ended ones
-- had started. p_ready: tasks that may start besides. Returns how many are started then. Where as many start as have ended, as in a chain, the row of the
-- execution is not written.
create or replace function holdfast.carry_on(
  p_execution holdfast.executions, p_done integer, p_ended text[], p_ready text[], p_wake_always boolean, p_may_end boolean default true
) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
as $$
declare
  v_below text[];
  v_parents integer[];
  v_freed text[];
  v_begun integer;
  v_more integer := -p_done;
begin
  loop
    if p_ended <> '{}' then
      select array_agg(b.name), array_agg(b.parents) into v_below, v_parents from (
        select c.name, count(*) as parents from holdfast.tasks as t cross join lateral unnest(t.children) as c (name)
        where t.execution_id = p_execution.id and t.name = any (p_ended) and t.item = -1 group by c.name) as b;
      -- The counter of one that waits for nobody any more is not written: it starts or is skipped now, and only of a blocked task is it read.
      with told as (
        update holdfast.tasks as t set waits = t.waits - b.parents from unnest(v_below, v_parents) as b (name, parents)
        where t.execution_id = p_execution.id and t.name = any (v_below) and t.name = b.name and t.item = -1 and t.status = 'blocked' and t.waits > b.parents
      )
      select array_agg(t.name) into v_freed from holdfast.tasks as t join unnest(v_below, v_parents) as b (name, parents) on t.name = b.name
      where t.execution_id = p_execution.id and t.name = any (v_below) and t.item = -1 and t.status = 'blocked' and t.waits <= b.parents;
      p_ready := p_ready || v_freed;
    end if;
    exit when p_ready = '{}' or p_ready is null;
    select b.ended, b.begun into p_ended, v_begun from holdfast.begin_tasks(p_execution, p_ready, p_wake_always) as b;
    v_more := v_more + v_begun;
    p_ready := '{}';
  end loop;
  if p_may_end and p_execution.started + v_more = 0 then
    return holdfast.finish_execution(p_execution.id);
  elsif v_more <> 0 then
    update holdfast.executions as e set started = e.started + v_more where e.id = p_execution.id;
  end if;
  return p_execution.started + v_more;
end $$;
