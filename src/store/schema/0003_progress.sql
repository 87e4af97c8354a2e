-- Why: what handlers say while they run (progress, log lines, checkpoints), what they return, and who waits for it.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- The latest of each job. Kept as long as the job is.
create table holdfast.progress (
  job_id    uuid primary key,
  attempt   smallint not null,
  fraction  double precision not null constraint progress_is_0_to_1 check (fraction between 0 and 1),
  note      text constraint note_is_at_most_500_characters check (length(note) <= 500),
  at        timestamptz not null
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Ids only grow, so whoever has read up to one can ask for what came after. A sequence of their own and no identity: until
-- PostgreSQL 17 the partitions would not have it.
create sequence holdfast.log_line_seq;

create table holdfast.log_lines (
  id       bigint not null default nextval('holdfast.log_line_seq'),
  job_id   uuid not null,
  attempt  smallint not null,
  at       timestamptz not null,
  level    text not null default 'info' constraint level_is_known check (level in ('info', 'warn', 'error')),
  line     text not null constraint line_is_at_most_4000_characters check (length(line) <= 4000)
) partition by range (at);

create index log_lines_by_job on holdfast.log_lines (job_id, id);

create table holdfast.log_lines_rest partition of holdfast.log_lines default;

-- Where the next attempt is to go on.
create table holdfast.checkpoints (
  job_id    uuid primary key,
  attempt   smallint not null,
  value     json not null constraint checkpoint_is_at_most_64_kb check (octet_length(value::text) <= 65536),
  at        timestamptz not null
) with (fillfactor = 60);

-- What handlers returned, one row for a job that completed with a result. Not a column of history, which every attempt would pay for.
create table holdfast.results (
  job_id  uuid not null,
  at      timestamptz not null,
  result  json not null
) partition by range (at);

create index results_by_job on holdfast.results (job_id);

create table holdfast.results_rest partition of holdfast.results default;

-- Who waits for the end of which job, one row for a job and a process; whoever ends one of these jobs notifies. Unlogged: after a crash of the
-- server it is empty, and those who wait register again when they are connected.
create unlogged table holdfast.waiters (
  job_id   uuid not null,
  process  uuid not null,
  since    timestamptz not null,
  primary key (job_id, process)
);

-- What handlers have done for good, step by step: the next attempt is given the result and does not do it again. Kept as long as the job is.
--   name      as the handler names it; of several of one name the second is name#2
--   position  which step it was, counted in the order of the calls
--   after     how many steps had completed when it was called; null: one had failed, so that another attempt may go another way
--   done      how many had completed with it; null: it has not
--   until     when a sleep is over, or the wait for a signal
create table holdfast.steps (
  job_id    uuid not null,
  name      text not null constraint step_name_is_short check (length(name) between 1 and 220),
  kind      text not null constraint step_kind_is_known check (kind in ('step', 'once', 'sleep', 'signal')),
  state     text not null constraint step_state_is_known check (state in ('waiting', 'completed')),
  position  integer not null,
  after     integer,
  done      integer,
  result    json constraint step_result_is_at_most_64_kb check (octet_length(result::text) <= 65536),
  until     timestamptz,
  attempt   smallint not null,
  at        timestamptz not null,
  constraint steps_once primary key (job_id, name)
) with (fillfactor = 90);

create index steps_waiting on holdfast.steps (job_id) where state = 'waiting';

-- What was sent to jobs while they wait or run. delivered: the position of the step that took it; null: none has yet. unsure: when it was
-- committed nobody could tell whether its job had just begun to wait; tick looks after those.
create table holdfast.signals (
  id         bigint generated always as identity primary key,
  job_id     uuid not null,
  name       text not null constraint signal_name_is_short check (length(name) between 1 and 200),
  payload    json not null constraint signal_is_at_most_64_kb check (octet_length(payload::text) <= 65536),
  actor      text not null,
  at         timestamptz not null,
  delivered  integer,
  unsure     boolean not null default false
);

create index signals_of_job on holdfast.signals (job_id, id);

create index signals_unsure on holdfast.signals (job_id) where unsure;
