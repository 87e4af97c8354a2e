-- Why: jobs that belong together: which job is a member of which group, what became of the members, and batches.
--   members         which group a job belongs to
--   open_groups     groups with a member that has not ended, or that wait for more members
--   group_changes   what became of members since somebody last added it up
--   batches         groups of kind batch, with their counts and callbacks
-- Whoever ends a job adds a row to group_changes and locks no row of its group, so that ten thousand members can end at once.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- task, item: which task of an execution the job is, and which item of a fan-out. Null for members of a batch.
create table holdfast.members (
  job_id    uuid primary key,
  group_id  uuid not null,
  kind      text not null constraint kind_is_known check (kind in ('batch', 'execution')),
  task      text,
  item      integer
);

create index members_of_group on holdfast.members (group_id, job_id);

-- While this table is empty, ending a job costs one look at it and nothing more. Whoever adds or revives a member holds its row in share
-- mode until they commit; whoever ends the group takes it for update, and so knows that no member is on its way.
create table holdfast.open_groups (
  group_id  uuid primary key,
  kind      text not null constraint kind_is_known check (kind in ('batch', 'execution'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Only ever added to; advance_groups takes the rows away and adds them up. was, became: live, completed, dead, cancelled or discarded; was is null for
-- a new member. Of a batch one row counts many jobs and names none; of an execution each job has its own.
create table holdfast.group_changes (
  group_id  uuid not null,
  job_id    uuid,
  was       text constraint was_is_known check (was in ('live', 'completed', 'dead', 'cancelled', 'discarded')),
  became    text not null constraint became_is_known check (became in ('live', 'completed', 'dead', 'cancelled', 'discarded')),
  jobs      integer not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index group_changes_of_group on holdfast.group_changes (group_id);

create table holdfast.batches (
  id            uuid primary key,
  name          text constraint name_is_short check (length(name) between 1 and 200),
  -- The service whose batch it is; null: the application's own.
  owner         text,
  created_at    timestamptz not null,
  status        text not null default 'running' constraint status_is_known check (status in ('running', 'succeeded', 'failed', 'cancelled')),
  -- How many members are in each status; what stands in group_changes is not in it yet.
  live          integer not null default 0,
  completed     integer not null default 0,
  dead          integer not null default 0,
  cancelled     integer not null default 0,
  discarded     integer not null default 0,
  -- It does not end before somebody closes it, even while it has no live member.
  kept_open     boolean not null default false,
  -- A batch that has ended and gets a live member again begins another round, with callbacks of its own.
  round         integer not null default 1,
  -- By kind (success, failure, complete): the job to enqueue, as enqueue_jobs takes it.
  callbacks     jsonb not null default '{}',
  finished_at   timestamptz,
  cancelled_at  timestamptz,
  cancelled_by  text,
  cancelled_why text,
  cancelled_from text,
  -- While its members are being cancelled: up to which of them that has come.
  cancelled_to  uuid,
  -- Tick looks at it again: members are left to be cancelled, or all had ended while somebody was adding or reviving one.
  look_again    boolean not null default false
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index batches_to_look_at on holdfast.batches (id) where look_again;

create index batches_by_owner on holdfast.batches (owner, id) where owner is not null;

create index batches_finished on holdfast.batches (finished_at) where finished_at is not null;

-- The jobs that ends of batches have enqueued. The key is the promise: one job for each batch, round and kind.
create table holdfast.batch_callbacks (
  batch_id  uuid not null,
  round     integer not null,
  kind      text not null constraint kind_is_known check (kind in ('success', 'failure', 'complete')),
  job_id    uuid not null,
  primary key (batch_id, round, kind)
);

create index batch_callbacks_by_job on holdfast.batch_callbacks (job_id);
