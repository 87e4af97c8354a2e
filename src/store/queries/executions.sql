-- name: registerWorkflow
-- Makes a graph known. Answers with its version, or with what the database finds wrong with it.
select version, problems from holdfast.register_workflow($1::text, $2::text, $3::text::jsonb)

-- name: workflowVersion
-- The version of a graph; no row: nobody has registered it.
select version from holdfast.workflows where name = $1::text and hash = $2::text

-- name: startExecution
-- Starts an execution in the transaction it runs in. Created is false where it was there already.
select holdfast.start_execution($1::text::uuid, $2::text, $3::text, $4::text, $5::text::jsonb, $6::text::jsonb, null, $7::text::uuid, $8::text) as created

-- name: executionById
-- One execution, with the graph it runs by. No row: none of that id is kept.
select e.id, e.workflow, e.version, w.hash, w.graph, e.status, e.owner, e.parent_id, e.rerun_of, e.rerun_from, e.priority, e.concurrency_key,
       to_jsonb(e.tags) as tags, e.input, date_part('epoch', e.created_at) * 1000 as created_at, date_part('epoch', e.ended_at) * 1000 as ended_at
from holdfast.executions as e join holdfast.workflows as w on w.name = e.workflow and w.version = e.version
where e.id = $1::text::uuid and ($2::text is null or e.owner = $2::text)

-- name: startableWorkflow
-- The version $2 of a workflow, or the latest, with the types of all jobs it may make, those of its sub-workflows too. No row: it is not registered.
with recursive top as (
  select w.version, w.hash, w.graph from holdfast.workflows as w
  where w.name = $1::text and ($2::text is null or w.version = $2::text::integer) order by w.version desc limit 1
), used (graph) as (
  select t.graph from top as t
  union
  select s.graph from used as u cross join lateral jsonb_array_elements(u.graph -> 'tasks') as t
  join holdfast.workflows as s on s.name = t -> 'workflow' ->> 'name' and s.hash = t -> 'workflow' ->> 'hash'
)
select top.version, top.hash, top.graph, (
  select coalesce(jsonb_agg(distinct t ->> 'type'), '[]') from used as u cross join lateral jsonb_array_elements(u.graph -> 'tasks') as t
  where t ->> 'type' is not null) as types
from top

-- name: tasksByStatus
-- How many tasks of an execution are in each status, items not counted, and what their types redact.
select coalesce((select jsonb_object_agg(s.status, s.count) from (
         select t.status, count(*) from holdfast.tasks as t where t.execution_id = $1::text::uuid and t.item = -1 group by t.status) as s), '{}') as counts,
       (select coalesce(jsonb_agg(distinct r.path), '[]') from (
         select distinct t.type from holdfast.tasks as t where t.execution_id = $1::text::uuid and t.item = -1) as u
        join holdfast.types as y on y.name = u.type cross join lateral jsonb_array_elements_text(y.redact) as r (path)) as redact

-- name: tasksOfExecution
-- Its tasks and their items, each with what its job failed of: those of the names $2, in the status $3, after the one of the name $4 and the item $5,
-- where these are given, and $6 of them.
select t.name, t.item, t.status, t.because, t.job_id, t.reused, to_jsonb(t.parents) as parents, t.type, t.sub_workflow, t.each_of is not null as fans_out, y.encrypted, y.redact,
       coalesce(t.payload, e.input) as payload, t.result, coalesce(t.error, d.error) as error,
       date_part('epoch', t.started_at) * 1000 as started_at, date_part('epoch', t.ended_at) * 1000 as ended_at
from holdfast.executions as e
cross join lateral (
  select * from holdfast.tasks as t
  where t.execution_id = e.id and ($2::text[] is null or t.name = any ($2::text[])) and ($3::text is null or t.status = $3::text)
    and ($4::text is null or (t.name, t.item) > ($4::text, $5::text::integer))
  order by t.name, t.item limit $6::text::integer) as t
left join holdfast.types as y on y.name = t.type
left join lateral (select l.error from holdfast.dead_letters as l where t.status = 'dead' and l.job_id = t.job_id limit 1) as d on true
where e.id = $1::text::uuid order by t.name, t.item

-- name: taskOfJob
-- Which task of which execution a job is. No row: it is none.
select e.id as execution, e.workflow, m.task as name, m.item, e.input, to_jsonb(t.parents) as parents
from holdfast.members as m join holdfast.executions as e on e.id = m.group_id
join holdfast.tasks as t on t.execution_id = e.id and t.name = m.task and t.item = -1 where m.job_id = $1::text::uuid

-- name: resultsOfTasks
-- What these tasks of an execution resulted in, and each of their items.
select t.name, t.item, t.status, t.job_id, t.type, t.each_of is not null as fans_out, y.encrypted, t.result
from holdfast.tasks as t left join holdfast.types as y on y.name = t.type
where t.execution_id = $1::text::uuid and t.name = any ($2::text[]) order by t.name, t.item

-- name: listExecutions
-- One page of executions, newest first, without their tasks.
select e.id, e.workflow, e.version, e.status, e.owner, e.parent_id, e.rerun_of, e.rerun_from,
       date_part('epoch', e.created_at) * 1000 as created_at, date_part('epoch', e.ended_at) * 1000 as ended_at
from holdfast.executions as e
where ($1::text is null or e.workflow = $1::text) and ($2::text is null or e.status = $2::text) and ($3::text is null or e.owner = $3::text)
  and ($4::text is null or e.id < $4::text::uuid)
  and ($6::text is null or e.created_at >= $6::text::timestamptz) and ($7::text is null or e.created_at < $7::text::timestamptz)
  and ($8::text[] is null or e.tags @> $8::text[])
order by e.id desc limit $5::text::integer

-- name: cancelExecution
-- Cancels an execution and its jobs. No row: none of that id is kept, or it is not theirs.
select job_id::text as id, done, was, status, because
from holdfast.cancel_execution($1::text::uuid, $2::text, holdfast.actor($3::text, $4::text, $5::text))

-- name: jobsToCancel
-- Jobs that live although their execution was cancelled: somebody was at them when it was.
select j.id::text as id from holdfast.jobs_to_cancel($1::text::uuid) as j (id)

-- name: resumeExecution
-- Goes on with an execution that failed or was cancelled.
select job_id::text as id, done, was, status, because
from holdfast.resume_execution($1::text::uuid, $2::text, holdfast.actor($3::text, $4::text, $5::text), $6::text[])

-- name: listWorkflows
-- Every registered workflow in its latest version, with the types of its own tasks.
select w.name, w.version, w.graph, date_part('epoch', w.defined_at) * 1000 as defined_at
from (select distinct on (l.name) l.* from holdfast.workflows as l order by l.name, l.version desc) as w order by w.name
