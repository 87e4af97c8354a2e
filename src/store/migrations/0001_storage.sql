-- Why: the tables a job lives in. A body is written once and never rewritten; what changes is one narrow row.
--   bodies        what was asked for, immutable, one partition a day (by the time inside the UUIDv7)
--   queue         jobs that are free to run or running: the only table a claim reads
--   waiting       jobs that may not run yet, with the time they become due
--   leases        one row per claimed batch; a heartbeat renews it, its end frees the jobs in it
--   history       one row per ended attempt, one partition a day, dropped and never deleted from
--   dead_letters  jobs that ended dead, one partition a day
-- Lock: none that matters, everything is new. Cost: milliseconds.
-- Old workers: there are none. Back: drop schema holdfast cascade.

create schema if not exists holdfast;

-- The one clock. Whatever is decided by time is decided by this function; tests replace it to move time.
create function holdfast.now() returns timestamptz language sql volatile parallel safe
as 'select pg_catalog.clock_timestamp()';

create table holdfast.lanes (
  id         smallint generated always as identity primary key,
  name       text not null constraint lanes_name unique,
  -- Ageing: a job waiting this long counts as one priority higher than a job that has just come.
  ageing     interval not null default '1 minute' constraint ageing_is_positive check (ageing > interval '0'),
  constraint lane_name_is_short check (name ~ '^[a-z][a-z0-9_-]{0,62}$')
);
insert into holdfast.lanes (name) values ('default'), ('interactive'), ('maintenance'), ('system');

create table holdfast.types (
  id             integer generated always as identity primary key,
  name           text not null constraint types_name unique,
  lane_id        smallint not null references holdfast.lanes,
  priority       smallint not null default 5 constraint priority_is_0_to_9 check (priority between 0 and 9),
  max_attempts   smallint not null default 5 constraint attempts_are_1_to_20 check (max_attempts between 1 and 20),
  timeout_ms     integer not null default 300000 constraint timeout_is_positive check (timeout_ms > 0),
  registered_at  timestamptz not null default holdfast.now(),
  constraint type_name_is_short check (length(name) between 1 and 200)
);

-- One row per worker process start: an id is never used again, so nobody can inherit a dead worker's leases.
create table holdfast.workers (
  id          integer generated always as identity primary key,
  name        text not null,
  host        text not null,
  pid         integer not null,
  version     text not null,
  started_at  timestamptz not null default holdfast.now(),
  seen_at     timestamptz not null default holdfast.now(),
  stopped_at  timestamptz
);

create table holdfast.bodies (
  id               uuid not null,
  type_id          integer not null,
  priority         smallint not null,
  max_attempts     smallint not null,
  created_at       timestamptz not null,
  run_at           timestamptz,
  idempotency_key  text,
  payload          json not null,
  primary key (id),
  constraint priority_is_0_to_9 check (priority between 0 and 9),
  constraint attempts_are_1_to_20 check (max_attempts between 1 and 20),
  constraint payload_is_at_most_64_kb check (octet_length(payload::text) <= 65536)
) partition by range (id);

-- seq is the place in line, new at every admission. lease_id is null while the job is free to run.
-- The fill factor leaves room for the one rewrite a claim makes, so that it stays on its page and touches no index.
create sequence holdfast.queue_seq cache 1;
create table holdfast.queue (
  seq       bigint not null default nextval('holdfast.queue_seq'),
  ready_at  timestamptz not null,
  job_id    uuid not null,
  type_id   integer not null,
  lane_id   smallint not null,
  priority  smallint not null,
  attempt   smallint not null,
  lease_id  bigint
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);
-- type_id stands last so that a worker that knows only some types can pass over the others inside the index.
create unique index queue_claim on holdfast.queue (lane_id, priority, seq, type_id);
create unique index queue_by_job on holdfast.queue (job_id);

create table holdfast.waiting (
  job_id    uuid not null constraint waiting_by_job primary key,
  due_at    timestamptz not null,
  type_id   integer not null,
  lane_id   smallint not null,
  priority  smallint not null,
  attempt   smallint not null,
  status    text not null constraint waiting_has_a_reason check (status in ('scheduled', 'failed'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index waiting_due_first on holdfast.waiting (due_at);

-- Lease ids only grow, so a lease id is also the fence: of two attempts at one job the later one has the larger.
create sequence holdfast.lease_seq;
create table holdfast.leases (
  id          bigint primary key,
  worker_id   integer not null,
  claimed_at  timestamptz not null,
  expires_at  timestamptz not null,
  jobs        uuid[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index leases_lost_first on holdfast.leases (expires_at);

create type holdfast.outcome as enum
  ('completed', 'failed', 'timed_out', 'out_of_memory', 'crashed', 'lease_expired', 'snoozed', 'handed_back', 'cancelled', 'discarded');
create table holdfast.history (
  job_id      uuid not null,
  ended_at    timestamptz not null,
  started_at  timestamptz,
  worker_id   integer,
  outcome     holdfast.outcome not null,
  attempt     smallint not null,
  error       jsonb
) partition by range (ended_at);
create index history_by_job on holdfast.history (job_id);

create table holdfast.dead_letters (
  job_id    uuid not null,
  died_at   timestamptz not null,
  type_id   integer not null,
  priority  smallint not null,
  attempt   smallint not null,
  reason    text not null constraint dead_has_a_reason check (reason in ('exhausted', 'fatal', 'poison')),
  error     jsonb
) partition by range (died_at);
create index dead_letters_by_job on holdfast.dead_letters (job_id);

create table holdfast.idempotency_keys (
  type_id     integer not null,
  key         text not null constraint key_is_at_most_500_characters check (length(key) between 1 and 500),
  job_id      uuid not null,
  constraint idempotency_keys_once primary key (type_id, key)
);
create index idempotency_keys_by_job on holdfast.idempotency_keys (job_id);

-- Workers that listen and may be asleep. A producer notifies a lane only while somebody stands here.
create table holdfast.sleepers (
  lane_id    smallint not null,
  worker_id  integer not null,
  primary key (lane_id, worker_id)
);
