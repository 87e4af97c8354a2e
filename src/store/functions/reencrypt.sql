-- What reencrypt may encrypt of executions that were started before their types were encrypted.

-- Whether a plain input has to stay so: the database reads it for a condition, for items and for a sub-workflow of a task that has not completed, and
-- makes the job of it where a task has no payload of its own. p_all: every type is encrypted. A task of a type that is not encrypted is no reason:
-- it is given the input as its payload when that is exchanged. Volatile, so that whoever waited for the execution sees its tasks as they are then.
create or replace function holdfast.needs_plain_input(p_execution holdfast.executions, p_all boolean) returns boolean language sql volatile
set enable_seqscan = off set jit = off
as $$
  select exists (
    select from holdfast.tasks as t where t.execution_id = p_execution.id and t.status <> 'completed'
      and (t.condition is not null or t.each_of is not null or t.sub_workflow is not null
           or (holdfast.begins_with_input(t) and (p_all or exists (select from holdfast.types as y where y.name = t.type and y.encrypted))))
  ) and not (p_execution.status = 'completed' and not exists (
    select from holdfast.tasks as t where t.execution_id = p_execution.id and t.status not in ('completed', 'skipped')))
$$;

-- Whether a task may yet begin, with the input of its execution for its payload, as the job that it has. One that was cancelled gets another job.
create or replace function holdfast.begins_with_input(p_task holdfast.tasks) returns boolean language sql immutable as $$
  select p_task.payload is null and p_task.type is not null and p_task.each_of is null and p_task.status in ('blocked', 'skipped', 'dead')
$$;
