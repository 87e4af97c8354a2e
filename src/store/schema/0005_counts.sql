-- Why: counters and measurements that metrics, backpressure and alerts read, so that nobody scans a queue.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.depths (
  type_id    integer not null,
  priority   smallint not null,
  waiting    bigint not null,
  -- Those that wait for a time or for people, and how many of them wait for their next attempt, and for an approval.
  scheduled  bigint not null,
  retrying   bigint not null default 0,
  unapproved bigint not null default 0,
  -- Those that wait for a signal or for another job: nobody could run them, so they are no depth and have no age.
  blocked    bigint not null,
  oldest_at  timestamptz,
  primary key (type_id, priority)
);

-- How many jobs of a type were ever enqueued, and how many ran, when it was counted last. Nobody counts while enqueueing: a
-- job that was enqueued lives or has ended, and both are known in the one snapshot of a count.
create table holdfast.enqueued (
  type_id  integer primary key,
  total    bigint not null,
  running  bigint not null
);

create table holdfast.depths_measured (
  one          boolean primary key default true constraint there_is_one check (one),
  measured_at  timestamptz not null default '-infinity',
  cost         interval not null default '0'
);

insert into holdfast.depths_measured default values;

-- Past soft, low priorities are refused first; past hard, all. What does not wait for a worker has limits of its own: past scheduled or
-- unapproved, an enqueue that would add to them is refused; past retrying or blocked, which jobs come to later, every enqueue is. A null
-- limit is none.
create table holdfast.depth_limits (
  scope   text not null constraint scope_is_known check (scope in ('queue', 'lane', 'type')),
  name    text not null,
  soft    bigint constraint soft_is_positive check (soft >= 1),
  hard    bigint constraint hard_is_positive check (hard >= 1),
  oldest  interval constraint oldest_is_positive check (oldest > interval '0'),
  scheduled   bigint constraint scheduled_is_positive check (scheduled >= 1),
  retrying    bigint constraint retrying_is_positive check (retrying >= 1),
  unapproved  bigint constraint unapproved_is_positive check (unapproved >= 1),
  blocked     bigint constraint blocked_is_positive check (blocked >= 1),
  primary key (scope, name),
  constraint soft_is_below_hard check (soft <= hard)
);

-- An import of two million jobs, paced, is scheduled.
insert into holdfast.depth_limits (scope, name, soft, hard, scheduled, retrying, unapproved, blocked)
values ('queue', '', 100000, 500000, 2500000, 500000, 100000, 500000);

-- Up to when the paced jobs of a type are spread. The next paced call begins there, so that all of them together keep to the pace.
create table holdfast.paces (
  type_id  integer primary key,
  next_at  timestamptz not null
);

create table holdfast.totals (
  type_id    integer primary key,
  completed  bigint not null default 0,
  failed     bigint not null default 0,
  lost       bigint not null default 0,
  dead       bigint not null default 0,
  expired    bigint not null default 0,
  cancelled  bigint not null default 0,
  replayed   bigint not null default 0,
  resumed    bigint not null default 0,
  late       bigint not null default 0,
  snoozed      bigint not null default 0,
  handed_back  bigint not null default 0,
  -- Of those that failed.
  timed_out      bigint not null default 0,
  out_of_memory  bigint not null default 0,
  crashed        bigint not null default 0
);

-- How long attempts took. bucket: how many of the bounds in src/job/buckets.ts the attempt was longer than.
create table holdfast.durations (
  type_id  integer not null,
  bucket   smallint not null,
  count    bigint not null,
  seconds  double precision not null,
  primary key (type_id, bucket)
);

-- How long attempts had been due when they began, in the same buckets.
create table holdfast.waits (
  type_id   integer not null,
  priority  smallint not null,
  bucket    smallint not null,
  count     bigint not null,
  seconds   double precision not null,
  primary key (type_id, priority, bucket)
);

-- Which code workers run, by the name that their deployment gave it. Workers that were given none have no build.
create table holdfast.builds (
  id          integer generated always as identity primary key,
  name        text not null unique constraint build_name_is_short check (length(name) between 1 and 100),
  first_seen  timestamptz not null default holdfast.now(),
  -- The drain is an order to all its workers, also to those that start later: claim no more.
  drain_asked_at   timestamptz,
  drain_asked_by   text,
  drain_asked_why  text,
  -- Attempts of its workers that were counted.
  completed  bigint not null default 0,
  failed     bigint not null default 0
);

-- Completed jobs that were looked at again, by type and minute, and whether they had done their work: kept for 35 days.
create table holdfast.verifications (
  type_id    integer not null,
  at         timestamptz not null,
  confirmed  integer not null,
  refuted    integer not null,
  primary key (type_id, at)
);

-- The same in all.
create table holdfast.verified (
  type_id    integer primary key,
  confirmed  bigint not null,
  refuted    bigint not null
);

-- Jobs that run only on workers of one build: those of a smoke test. Empty but while one goes on.
create table holdfast.pins (
  job_id    uuid primary key,
  build_id  integer not null,
  -- When the pin may be forgotten: long after the end of its smoke test.
  until     timestamptz not null
);

-- How attempts ended by build, type and minute, to compare builds: kept for six hours, and only of workers that have a build.
create table holdfast.build_counts (
  build_id   integer not null,
  type_id    integer not null,
  at         timestamptz not null,
  completed  integer not null,
  failed     integer not null,
  lost       integer not null,
  dead       integer not null,
  primary key (build_id, type_id, at)
);

-- How long they took. bucket: as src/job/fine-buckets.ts has them, whose bounds grow by 4 %.
create table holdfast.build_runs (
  build_id  integer not null,
  type_id   integer not null,
  at        timestamptz not null,
  bucket    smallint not null,
  count     integer not null,
  primary key (build_id, type_id, at, bucket)
);

-- What is counted of the fleet as a whole. connection_errors: statements that failed because the database could not be reached.
-- worker_restarts: workers that went without stopping, where another one has started on the same host since.
-- enqueue_requests, status_requests: requests to enqueue and to see a job that servers answered, status_errors: the latter with 5xx.
create table holdfast.fleet_counts (
  what   text primary key constraint count_is_known check (what in
    ('connection_errors', 'worker_restarts', 'enqueue_requests', 'status_requests', 'status_errors')),
  total  bigint not null
);

-- Requests to enqueue that servers refused, by HTTP status.
create table holdfast.enqueue_errors (
  status  smallint primary key,
  total   bigint not null
);

-- What workers do beside running jobs: how often there was something to do, how often it failed, and how long it took.
create table holdfast.duties (
  duty      text primary key,
  runs      bigint not null,
  failures  bigint not null,
  seconds   double precision not null
);

-- When a worker last went through everything that had its time, and how long it was told to keep what completed and what died.
create table holdfast.retention_ran (
  one        boolean primary key default true constraint there_is_one check (one),
  ran_at     timestamptz not null,
  completed  interval not null,
  dead       interval not null
);

-- The days that were handed on, and one that is being written. run: who began it last. archived_at null: it has not been finished.
create table holdfast.archived_days (
  day          date primary key,
  run          uuid not null,
  begun_at     timestamptz not null,
  archived_at  timestamptz,
  archived_by  text,
  jobs         bigint
);

-- What was noted already, so that a note whose answer was lost can be sent again and counts once.
create table holdfast.notes (
  id  uuid primary key,
  at  timestamptz not null
);

-- Dead letters as they were counted last.
create table holdfast.dead_depths (
  type_id  integer primary key,
  dead     bigint not null
);

create table holdfast.dead_measured (
  one          boolean primary key default true constraint there_is_one check (one),
  measured_at  timestamptz not null default '-infinity',
  cost         interval not null default '0'
);

insert into holdfast.dead_measured default values;

-- How the numbers of a type stood when they were looked at, for charts. A look writes a row only for a type whose numbers changed since its last
-- row. The counters are those since ever, so a look that was missed costs detail and no job, and thinning out is deleting.
-- Rows are about 10 s apart; after 2 hours the last of each minute is kept, after 2 days that of each hour, 35 days long (thin_samples).
create table holdfast.samples (
  -- 0: the fleet, of which only workers and wanted are known.
  type_id    integer not null,
  at         timestamptz not null,
  -- Between the row before and this moment nothing changed.
  since      timestamptz not null,
  lane_id    smallint not null default 0,
  enqueued   bigint not null default 0,
  completed  bigint not null default 0,
  failed     bigint not null default 0,
  lost       bigint not null default 0,
  dead       bigint not null default 0,
  expired    bigint not null default 0,
  cancelled  bigint not null default 0,
  running    bigint not null default 0,
  -- A list for each priority that has jobs: priority, waiting, scheduled, blocked, and when the oldest became due, in seconds since 1970.
  depths     jsonb not null default '[]',
  -- How many attempts took how long: the position is bucket + 1 of durations.
  runs       bigint[] not null default '{}',
  -- A list for each priority: the priority, and how many attempts had been due for how long, by bucket.
  waits      jsonb not null default '[]',
  workers    integer not null default 0,
  -- How many workers were wanted, as GET /autoscale says it of its standard settings.
  wanted     integer not null default 0,
  primary key (type_id, at)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

-- Failures as they are recorded: of which type and error group, how many at once, and one of the jobs. Only ever added to, so that nobody
-- waits for another; keep_error_groups takes the rows away and adds them up.
create table holdfast.error_counts (
  type_id      integer not null,
  fingerprint  text collate "C" not null,
  at           timestamptz not null,
  job_id       uuid not null,
  count        integer not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Failures of one type that are the same for people, and the latest of them as an example. Kept as long as dead letters are.
create table holdfast.error_groups (
  type_id      integer not null,
  fingerprint  text collate "C" not null,
  name         text,
  -- At most 1000 characters. Null: the job of the example was forgotten.
  message      text,
  job_id       uuid,
  first_at     timestamptz not null,
  last_at      timestamptz not null,
  primary key (type_id, fingerprint)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index error_groups_oldest_first on holdfast.error_groups (last_at);

-- How many failures each had on which day of UTC.
create table holdfast.error_days (
  type_id      integer not null,
  fingerprint  text collate "C" not null,
  day          date not null,
  count        bigint not null,
  primary key (type_id, fingerprint, day)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- To find the jobs of a group. A job that never failed is in neither.
create index history_by_fingerprint on holdfast.history ((error ->> 'fingerprint'), job_id) where error ->> 'fingerprint' is not null;

create index dead_letters_by_fingerprint on holdfast.dead_letters ((error ->> 'fingerprint'), job_id) where error ->> 'fingerprint' is not null;
