-- Why: the tables a job lives in. A body is written once, rewritten only when a unique enqueue replaces it; what changes is one narrow row.
--   bodies        what was asked for, immutable, one partition a day (by the time inside the UUIDv7)
--   queue         jobs that are free to run or running: the only table a claim reads
--   waiting       jobs that may not run yet, with the time they become due
--   leases        one row per claim; a heartbeat renews it, its end frees the jobs in it
--   history       one row per ended attempt, one partition a day, dropped and never deleted from
--   dead_letters  jobs that ended dead, one partition a day
--   following     jobs that wait for another job
-- Lock: none that matters, everything is new. Cost: milliseconds.
-- Old workers: there are none. Back: drop schema holdfast cascade.

-- The one clock. Whatever is decided by time is decided by this function; tests replace it to move time.
create function holdfast.now() returns timestamptz language sql volatile parallel safe
as 'select pg_catalog.clock_timestamp()';

create table holdfast.lanes (
  id            smallint generated always as identity primary key,
  name          text not null constraint lanes_name unique,
  -- Most jobs running at once, in the whole fleet and in one worker. Null: as many as the workers have slots.
  slots         integer constraint slots_are_positive check (slots between 1 and 100000),
  worker_slots  integer constraint worker_slots_are_positive check (worker_slots between 1 and 10000),
  poll_ms       integer not null default 2000 constraint poll_is_10_ms_to_10_min check (poll_ms between 10 and 600000),
  -- Null: what the worker was started with.
  lease_ms      integer constraint lease_is_100_ms_to_1_day check (lease_ms between 100 and 86400000),
  enabled       boolean not null default true,
  -- Ageing: a job waiting this long counts as one priority higher than a job that has just come.
  ageing        interval not null default '1 minute' constraint ageing_is_positive check (ageing > interval '0'),
  -- Who changed it last, and why.
  changed_by    text,
  changed_why   text,
  changed_at    timestamptz,
  constraint lane_name_is_short check (name ~ '^[a-z][a-z0-9_-]{0,62}$')
);

insert into holdfast.lanes (name, slots, poll_ms) values ('default', null, 2000), ('interactive', 2, 2000), ('maintenance', 1, 15000), ('system', 1, 30000);

create table holdfast.types (
  id             integer generated always as identity primary key,
  name           text not null constraint types_name unique,
  lane_id        smallint not null references holdfast.lanes,
  -- The lane its definition named last, null where it never had one.
  defined_lane   smallint,
  priority       smallint not null default 5 constraint priority_is_0_to_9 check (priority between 0 and 9),
  max_attempts   smallint not null default 5 constraint attempts_are_1_to_20 check (max_attempts between 1 and 20),
  timeout_ms     integer not null default 300000 constraint timeout_is_positive check (timeout_ms > 0),
  -- Which of its jobs are one and the same, where an enqueue does not say; the form is that of enqueue's option "unique".
  uniqueness     jsonb,
  registered_at  timestamptz not null default holdfast.now(),
  -- Lanes it was in before, where jobs of it may still turn up: since when, and the transaction that moved it.
  left_lanes     smallint[] not null default '{}',
  left_at        timestamptz,
  left_in        xid8,
  -- True while jobs of the type must pass a gate (a limit, a pause, a breaker) before they may stand in the queue.
  gated          boolean not null default false,
  -- Set where jobs of the type must be approved before they run: {"quorum", "on_deadline", "deadline_ms"}.
  approval       jsonb,
  -- Whether replaying a dead job of it has to be confirmed by naming the type.
  sensitive      boolean not null default false,
  -- How a type's failed attempts are retried: {"base", "factor", "cap", "jitter"} in milliseconds. Null: the default, also where
  -- the definition has a function for it, which only its own worker can call.
  backoff        jsonb,
  -- Payloads come encrypted; others are refused. No key ever comes here.
  encrypted      boolean not null default false,
  -- Keys are common to all who enqueue, whichever service they are. Otherwise each service has its own.
  shared_keys    boolean not null default false,
  -- A list of paths of the payload that people are not shown. Whoever shows payloads heeds it.
  redact         jsonb,
  -- The newest version of its payloads that any worker ever knew.
  version        smallint not null default 1 constraint version_is_positive check (version >= 1),
  -- Whether expired jobs of it raise the alert of dead letters.
  alert_expired  boolean not null default false,
  -- The name of the type of which a job is enqueued when a job of this one has died; null: none is.
  on_dead        text,
  -- Most bytes of a result that are kept; 0: none is.
  max_result_bytes  integer not null default 65536 constraint result_bytes_are_0_to_1_mb check (max_result_bytes between 0 and 1048576),
  constraint type_name_is_short check (length(name) between 1 and 200)
);

create index types_gated on holdfast.types (id) where gated;
create index types_reacting on holdfast.types (id) where on_dead is not null;
create index types_versioned on holdfast.types (id) where version > 1;

-- One row per worker process start: an id is never used again, so nobody can inherit a dead worker's leases.
create table holdfast.workers (
  id          integer generated always as identity primary key,
  name        text not null,
  host        text not null,
  pid         integer not null,
  version     text not null,
  build_id    integer,
  types       integer[] not null default '{}',
  -- The version of payloads it knows of each of these types. Null: it takes any.
  versions    smallint[],
  started_at  timestamptz not null default holdfast.now(),
  seen_at     timestamptz not null default holdfast.now(),
  -- When it last asked for jobs and was answered, as its heartbeats say. Null: it has not, or does not say.
  looked_at   timestamptz,
  stopped_at  timestamptz,
  -- When it was found that it had gone without stopping, and that another one had started on its host since.
  replaced_at  timestamptz,
  -- Most connections of the pool of its process; null for a remote worker. Since when a pooler swallows its notifications; null: it does not.
  -- Whether it listens to a channel of its own, so that it can be notified alone: not behind HTTP, nor where a Redis wakes it.
  connections   integer,
  swallowed_at  timestamptz,
  own_channel   boolean not null default false,
  -- What it said of its process with its last heartbeat: how late its event loop was at most since the one before, and so on. Null: it does not say.
  lag_ms integer, memory_bytes bigint, open_connections integer,
  -- SHA-256 of the secret a remote worker was given when it registered. Null: it is none, and nobody can speak for it over HTTP.
  token_hash       bytea constraint hash_has_32_bytes check (octet_length(token_hash) = 32),
  -- The drain is an order: claim no more.
  drain_asked_at timestamptz, drain_asked_by text, drain_asked_why text
);

create table holdfast.bodies (
  id               uuid not null,
  type_id          integer not null,
  priority         smallint not null,
  max_attempts     smallint not null,
  created_at       timestamptz not null,
  run_at           timestamptz,
  idempotency_key  text,
  concurrency_key  text,
  -- The unique key it was created under, as in uniques; null for most. A replay takes that key again.
  unique_key       text,
  -- The service that enqueued it over HTTP, which the statement that stores the job names. Null: the application itself did.
  owner            text,
  -- The span that asked for the job, as in the W3C header of that name. Null for most: nobody traces, and it takes no room.
  traceparent      text constraint traceparent_is_short check (length(traceparent) <= 100),
  -- Words to find it by; null for most.
  tags             text[] constraint tags_are_1_to_8 check (cardinality(tags) between 1 and 8),
  -- The tick it was made for; null where no schedule made it.
  scheduled_for    timestamptz,
  -- The version of the payload; null for the first, which most are.
  version          smallint constraint version_is_positive check (version >= 1),
  -- Which of its key it is, where the jobs of a key run in order: grows with every enqueue. Null for all others, where it takes no room.
  position         bigint,
  payload          json not null,
  primary key (id),
  constraint priority_is_0_to_9 check (priority between 0 and 9),
  constraint attempts_are_1_to_20 check (max_attempts between 1 and 20),
  constraint concurrency_key_is_short check (length(concurrency_key) between 1 and 500),
  constraint payload_is_at_most_64_kb check (octet_length(payload::text) <= 65536)
) partition by range (id);

create index bodies_by_owner on holdfast.bodies (owner, id) where owner is not null;

-- seq is the position in the queue; for a job that stands before the gate of its type it is gate_position. lease_id is null while the job does
-- not run. A job of a gated type waits and runs in its one row, so that a limit costs it no second write.
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
  -- How the job stands there: 0 freely, 1 before its type's gate, 2 it runs as the probe of an open breaker.
  pass      smallint not null default 0,
  -- The key of a job before its gate; empty where it has none, and for all that stand freely, where it takes no room.
  concurrency_key  text collate "C" not null default '',
  lease_id  bigint
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);

-- type_id stands last so that a worker that knows only some types can pass over the others inside the index.
create unique index queue_claim on holdfast.queue (lane_id, priority, seq, type_id) where pass = 0;

-- Jobs before their gate, by type and by key. The id is the order inside one enqueue, whose jobs have one position. The type is cast in the
-- first, so that no plan can take it for a look at one key and walk over the jobs of all others.
create index queue_of_type on holdfast.queue ((type_id::bigint), seq, job_id) where pass > 0;

create index queue_of_key on holdfast.queue (type_id, concurrency_key, seq, job_id) where pass > 0;

create unique index queue_by_job on holdfast.queue (job_id);

-- The key of a job and its position there, where the jobs of a key run in order and this one stands outside of the queue. Null for most,
-- where it takes no room; and for a revived job that follows a later one: it takes its place in its key when that one has ended.
create type holdfast.key_position as (key text collate "C", position bigint);

create table holdfast.waiting (
  job_id    uuid not null constraint waiting_by_job primary key,
  due_at    timestamptz not null,
  type_id   integer not null,
  lane_id   smallint not null,
  priority  smallint not null,
  attempt   smallint not null,
  status    text not null constraint waiting_has_a_reason check (status in ('scheduled', 'failed', 'awaiting_approval', 'blocked')),
  key_position  holdfast.key_position
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index waiting_due_first on holdfast.waiting (due_at);

-- Lease ids only grow, so a lease id is also the fence: of two attempts at one job the later one has the larger.
create sequence holdfast.lease_seq;

create table holdfast.leases (
  id          bigint primary key,
  worker_id   integer not null,
  claimed_at  timestamptz not null,
  expires_at  timestamptz not null,
  jobs        uuid[] not null,
  -- For how long it was claimed, in milliseconds: what a heartbeat renews it for that does not say how long.
  lasts_ms    integer
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Ids hardly get smaller by compression; trying costs a claim more than the bytes are worth.
alter table holdfast.leases alter column jobs set storage external;

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
  -- Which lease the attempt ran under, as lease_mark has it. Null: under none.
  lease_mark  integer,
  error       jsonb
) partition by range (ended_at);

create index history_by_job on holdfast.history (job_id);

create table holdfast.dead_letters (
  job_id    uuid not null,
  died_at   timestamptz not null,
  type_id   integer not null,
  priority  smallint not null,
  attempt   smallint not null,
  reason    text not null constraint dead_has_a_reason check (reason in ('exhausted', 'fatal', 'poison', 'expired', 'buried')),
  error     jsonb
) partition by range (died_at);

create index dead_letters_by_job on holdfast.dead_letters (job_id);

-- owner: the service whose key it is; empty for the application itself, and where the type shares its keys (key_owner).
create table holdfast.idempotency_keys (
  type_id     integer not null,
  owner       text not null,
  key         text not null constraint key_is_at_most_500_characters check (length(key) between 1 and 500),
  job_id      uuid not null,
  constraint idempotency_keys_once primary key (type_id, key, owner)
);

create index idempotency_keys_by_job on holdfast.idempotency_keys (job_id);

-- Which job a unique key was last taken by, and the one that waits behind it. Nobody ever releases a key: an enqueue looks
-- at what that job is now, so no crash can leave a key taken. kept_until: the row must outlive its job as long as that. owner: as above.
create table holdfast.uniques (
  type_id      integer not null,
  owner        text not null,
  key          text not null constraint key_is_at_most_510_characters check (length(key) between 1 and 510),
  job_id       uuid not null,
  next_job_id  uuid,
  taken_at     timestamptz not null,
  kept_until   timestamptz not null,
  constraint uniques_once primary key (type_id, key, owner)
);

create index uniques_by_job on holdfast.uniques (job_id);

-- Jobs that wait for another with their unique key to end. unsure: at its commit nobody could tell whether that had just ended; tick looks after it.
create table holdfast.following (
  job_id    uuid not null constraint following_by_job primary key,
  follows   uuid not null,
  due_at    timestamptz not null,
  type_id   integer not null,
  lane_id   smallint not null,
  priority  smallint not null,
  unsure    boolean not null default false,
  key_position  holdfast.key_position
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index following_by_leader on holdfast.following (follows);

create index following_unsure on holdfast.following (job_id) where unsure;

create table holdfast.bodies_rest partition of holdfast.bodies default;

create table holdfast.history_rest partition of holdfast.history default;

create table holdfast.dead_letters_rest partition of holdfast.dead_letters default;

create type holdfast.uniqueness as (
  key text, policy text, period interval, states text[], delay interval, max_wait interval
);

-- A job that is ready, as put_ready takes it. seq: the position in the queue it keeps; null: a new one.
create type holdfast.ready as (job_id uuid, type_id integer, priority smallint, attempt smallint, ready_at timestamptz, seq bigint);

-- Who does something, why, from where, and as part of which bulk action: an argument of everything that operators do, and what the audit log says of them. The
-- name is not called "by", as it is in programs, because that is a reserved word of PL/pgSQL.
create type holdfast.actor as (name text, why text, origin text, bulk uuid);
