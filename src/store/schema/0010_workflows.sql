-- Why: workflows, their executions, and the tasks of these.
--   workflows    every graph that was ever started, one row a version
--   executions   one run of a workflow: its input, its status, where it comes from
--   tasks        one row a task of an execution, and one an item of a task that runs once for each item
-- Whoever changes a task holds the row of its execution; whoever ends a job touches neither (group_changes).
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.workflows (
  name        text not null constraint workflow_name_is_short check (length(name) between 1 and 100),
  version     integer not null,
  hash        text not null,
  -- As src/workflow/graph.ts has it.
  graph       jsonb not null,
  defined_at  timestamptz not null,
  primary key (name, version),
  constraint workflows_once unique (name, hash)
);

create table holdfast.executions (
  id               uuid primary key,
  workflow         text not null,
  version          integer not null,
  status           text not null default 'running' constraint status_is_known check (status in ('running', 'completed', 'failed', 'cancelled')),
  -- How many of its tasks have a job or a sub-workflow that has not ended. At none it is over: a blocked task always waits for one of these.
  started          integer not null default 0,
  -- True: one task that fails is enough for no other to start.
  stops            boolean not null,
  -- The service whose execution it is; null: the application's own.
  owner            text,
  created_at       timestamptz not null,
  ended_at         timestamptz,
  cancelled_by     text,
  cancelled_why    text,
  cancelled_from   text,
  -- Tick looks at it again: it is cancelled, and jobs of it live that somebody was at.
  look_again       boolean not null default false,
  -- The task of another execution that this one is, and the execution that this one repeats from a task on.
  parent_id        uuid,
  rerun_of         uuid,
  rerun_from       text,
  -- What its jobs are enqueued with where a task does not say.
  priority         smallint constraint priority_is_0_to_9 check (priority between 0 and 9),
  concurrency_key  text constraint concurrency_key_is_short check (length(concurrency_key) between 1 and 500),
  tags             text[] constraint tags_are_1_to_8 check (cardinality(tags) between 1 and 8),
  traceparent      text constraint traceparent_is_short check (length(traceparent) <= 100),
  input            json not null constraint input_is_at_most_64_kb check (octet_length(input::text) <= 65536)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index executions_of_workflow on holdfast.executions (workflow, id);

create index executions_by_owner on holdfast.executions (owner, id) where owner is not null;

-- An execution without tags pays nothing for it.
create index executions_by_tag on holdfast.executions using gin (tags) where tags is not null;

create index executions_to_look_at on holdfast.executions (id) where look_again;

create index executions_of_parent on holdfast.executions (parent_id) where parent_id is not null;

create index executions_ended on holdfast.executions (ended_at) where ended_at is not null;

-- A task is found by its execution, name and item, and by the id of its job through members; what an execution took over of an earlier one, by tasks_reused. No status stands in an index, so that a change of it
-- stays on its page.
create table holdfast.tasks (
  execution_id  uuid not null,
  name          text not null,
  -- -1: the task itself; from 0 on: an item of it.
  item          integer not null default -1,
  status        text not null default 'blocked' constraint status_is_known
                check (status in ('blocked', 'started', 'completed', 'dead', 'cancelled', 'discarded', 'skipped')),
  -- Why it was skipped: a condition, a failure before it, a failure anywhere (stopped), or somebody cancelled the execution.
  because       text constraint because_is_known check (because in ('condition', 'failed', 'stopped', 'cancelled')),
  -- Of a blocked task, how many of its parents have not ended; of one with items, how many of these.
  waits         integer not null default 0,
  items_left    integer,
  -- Its job, or the execution that it is: known before either exists. What an earlier execution did keeps the job of that one.
  job_id        uuid,
  reused        boolean not null default false,
  started_at    timestamptz,
  ended_at      timestamptz,
  parents       text[] not null default '{}',
  children      text[] not null default '{}',
  starts_when   text not null default 'succeeded' constraint starts_when_is_known check (starts_when in ('succeeded', 'failed', 'always')),
  condition     text,
  each_of       text,
  type          text,
  sub_workflow  text,
  sub_hash      text,
  options       jsonb,
  -- Null: the input of the execution.
  payload       json,
  -- Of a task that never had a job.
  error         jsonb,
  result        json,
  primary key (execution_id, name, item)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Only forget_job looks for these.
create index tasks_reused on holdfast.tasks (job_id) where reused;

-- For users of the database, as in 0007_alerts.sql.
comment on column holdfast.executions.id is 'The id of the execution.';
comment on column holdfast.executions.workflow is 'The name of its workflow.';
comment on column holdfast.executions.version is 'Which version of the graph of the workflow it follows.';
comment on column holdfast.executions.status is 'running, completed, failed or cancelled.';
comment on column holdfast.executions.owner is 'The service whose key started it over HTTP. Null: the application itself did.';
comment on column holdfast.executions.created_at is 'When it was started.';
comment on column holdfast.executions.ended_at is 'When it ended.';
comment on column holdfast.executions.cancelled_by is 'Who cancelled it.';
comment on column holdfast.executions.cancelled_why is 'Why they did.';
comment on column holdfast.executions.parent_id is 'The execution of which it is a task.';
comment on column holdfast.executions.rerun_of is 'The execution that it repeats.';
comment on column holdfast.executions.rerun_from is 'The task from which on it does.';
comment on column holdfast.executions.priority is 'The priority of its jobs where a task names none.';
comment on column holdfast.executions.concurrency_key is 'The concurrency key of its jobs where a task names none.';
comment on column holdfast.executions.tags is 'The tags of its jobs.';
comment on column holdfast.executions.input is 'What it was started with.';
