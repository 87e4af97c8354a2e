-- Why: what decides who may run now: limits, rates, breakers, pauses and slots, the counts that they need, and what could not be handled.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- What a lane was made with, or what the environment of the first worker said of it; what operators said, and what of it for a time only; and when
-- the first of that is over. The other columns have what counts of all this (lane_settings.sql).
alter table holdfast.lanes
  add column defined jsonb not null default '{}', add column seeded boolean not null default false, add column operator jsonb,
  add column timed jsonb, add column ends_at timestamptz;

update holdfast.lanes as l set defined = '{"slots": 2}' where l.name = 'interactive';
update holdfast.lanes as l set defined = jsonb_build_object('slots', l.slots, 'poll_ms', l.poll_ms) where l.name in ('maintenance', 'system');

-- What operators said of a type, which counts before what its definition says (overrides.sql), and where they said something, the whole of that.
alter table holdfast.types add column operator jsonb, add column defined jsonb;

-- What jobs of several types call and may overload together. It has a gate as a type has one, which all types that use it pass: an id
-- is never one of a type.
create table holdfast.dependencies (
  id    integer primary key default nextval('holdfast.types_id_seq'),
  name  text not null constraint dependencies_name unique,
  constraint dependency_name_is_short check (length(name) between 1 and 200)
);

-- What an operator or a definition asked for, and the state of the gate. One row per type that was ever gated, and per dependency.
-- The row is also the lock under which its jobs are claimed: what is counted under it cannot grow meanwhile.
create table holdfast.gates (
  -- The type or the dependency.
  type_id          integer primary key,
  -- Of a type: the dependencies whose gates its jobs pass too.
  uses             integer[] not null default '{}',
  max_running      integer constraint max_running_is_positive check (max_running between 1 and 1000000),
  key_max_running  integer constraint key_max_running_is_positive check (key_max_running between 1 and 1000000),
  rate_count       integer constraint rate_is_positive check (rate_count between 1 and 1000000),
  rate_per         interval constraint rate_per_is_positive check (rate_per > interval '0'),
  key_rate_count   integer constraint key_rate_is_positive check (key_rate_count between 1 and 1000000),
  key_rate_per     interval constraint key_rate_per_is_positive check (key_rate_per > interval '0'),
  fair             boolean not null default false,
  -- The jobs of a key run one after the other, in the order of their enqueue; and whether a key halts when one of its jobs has died.
  ordered          boolean not null default false,
  halt_on_dead     boolean not null default false,
  -- The limits that the code named last; those that an operator set, which stand until they are released; and those set for a time only.
  -- The columns above have what counts of them (limits.sql). The last two as overrides.sql has them.
  defined          jsonb,
  operator         jsonb,
  timed            jsonb,
  -- Keys take turns in their order: whose turn it is, and how many jobs it has had of it.
  turn_key         text collate "C" not null default '',
  turn_taken       double precision not null default 0,
  -- Up to where claims have read the jobs before it, and when one last began with the first (fronts.sql). Null: it was never worth saying.
  front_seq        bigint,
  front_job        uuid,
  front_at         timestamptz,
  -- Keys of this type are told apart: some limit, pause or stop is per key, or the type is fair.
  keyed            boolean not null default false,
  paused_at        timestamptz,
  paused_by        text,
  paused_why       text,
  -- Null: until somebody resumes it.
  paused_until     timestamptz,
  -- When the first of what was said for a time only is over: a pause or a limit.
  ends_at          timestamptz,
  stopped_until    timestamptz,
  breaker_share    double precision not null default 0.8 constraint share_is_a_share check (breaker_share > 0 and breaker_share <= 1),
  breaker_window   interval not null default '5 minutes' constraint window_is_positive check (breaker_window > interval '0'),
  breaker_minimum  integer not null default 10 constraint minimum_is_positive check (breaker_minimum >= 1),
  breaker_probe    interval not null default '60 seconds' constraint probe_is_positive check (breaker_probe > interval '0'),
  -- auto; open or closed: an operator holds it there.
  breaker_hold     text not null default 'auto' constraint hold_is_known check (breaker_hold in ('auto', 'open', 'closed')),
  breaker_opened_at  timestamptz,
  breaker_reason     text,
  breaker_probe_at   timestamptz,
  -- Attempts before this moment do not count: the breaker was closed then.
  breaker_since      timestamptz not null default '-infinity',
  constraint rate_has_both check ((rate_count is null) = (rate_per is null)),
  constraint key_rate_has_both check ((key_rate_count is null) = (key_rate_per is null)),
  constraint paused_has_a_name check ((paused_at is null) = (paused_by is null))
);

create index gates_using on holdfast.gates (type_id) where uses <> '{}';

-- Every tick asks whether a pause or a limit is over.
create index gates_ending on holdfast.gates (ends_at) where ends_at is not null;

-- Up to where claims have read the queue, as fronts.sql has it.
create sequence holdfast.front_0;
create sequence holdfast.front_1;
create sequence holdfast.front_2;
create sequence holdfast.front_3;
create sequence holdfast.front_4;
create sequence holdfast.front_5;
create sequence holdfast.front_6;
create sequence holdfast.front_7;

-- The leases under which jobs of a gated type run, and how many it claimed: never fewer than run. Who ends attempts does not touch it;
-- the next claim through the gate removes the rows whose lease is gone.
create table holdfast.gate_leases (
  type_id   integer not null,
  lease_id  bigint not null,
  jobs      integer not null,
  primary key (type_id, lease_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Jobs running in a lane that has a limit of slots.
create table holdfast.lane_slots (
  job_id   uuid primary key,
  lane_id  smallint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index lane_slots_by_lane on holdfast.lane_slots (lane_id);

-- When jobs of a rate-limited type, key or dependency started, for as long as the window looks back: a row a claim, and a row a key of it where
-- there is a rate per key.
create table holdfast.starts (
  type_id          integer not null,
  concurrency_key  text not null,
  at               timestamptz not null,
  count            integer not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index starts_of_type on holdfast.starts (type_id, at);

create index starts_of_key on holdfast.starts (type_id, concurrency_key, at);

-- Probes of breakers that were completed in the transaction of a handler. A row is written by that transaction and deleted by its commit.
create table holdfast.completed_probes (
  job_id   uuid primary key,
  type_id  integer not null
);

-- What was said of single keys: their weight, a pause, a rest, a halt. Most keys have no row.
create table holdfast.keys (
  type_id          integer not null,
  concurrency_key  text collate "C" not null,
  weight           real not null default 1 constraint weight_is_positive check (weight > 0),
  rests_until      timestamptz,
  paused_at        timestamptz,
  paused_by        text,
  paused_why       text,
  paused_until     timestamptz,
  -- Of an ordered type: the job that died and halts the key, and since when.
  halted_at        timestamptz,
  halted_by        uuid,
  primary key (type_id, concurrency_key),
  constraint paused_has_a_name check ((paused_at is null) = (paused_by is null)),
  constraint halted_has_a_job check ((halted_at is null) = (halted_by is null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Where the jobs of a key run in order: those that stand outside of the queue, by their positions. No other job is in them.
create index waiting_in_key on holdfast.waiting (type_id, ((key_position).key), ((key_position).position), job_id)
where key_position is not null;

create index following_in_key on holdfast.following (type_id, ((key_position).key), ((key_position).position), job_id)
where key_position is not null;

create index keys_halted on holdfast.keys (halted_by) where halted_by is not null;

create index keys_paused_for_a_time on holdfast.keys (paused_until) where paused_until is not null;

create index keys_resting on holdfast.keys (type_id, rests_until) where rests_until is not null;

-- How attempts ended, in steps of ten seconds; the breaker reads the last minutes of it. Each worker has rows of its own,
-- so that none waits for another. What the breaker needs no more is added to totals by keep_totals and deleted.
create table holdfast.attempt_counts (
  type_id    integer not null,
  at         timestamptz not null,
  worker_id  integer not null,
  good       integer not null,
  bad        integer not null,
  -- Attempts whose lease ran out. Null where there was none, which costs no byte.
  lost       integer,
  primary key (type_id, at, worker_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- What else is counted, and is rare beside that: dead (a job), cancelled, replayed, resumed, snoozed and handed back (attempts), late (a
-- result that came after its lease was gone); and of the attempts that are bad, those that did not simply fail. Only ever added to, so that nobody waits for another; keep_totals takes the rows away and adds them up.
create table holdfast.event_counts (
  type_id  integer not null,
  what     text not null constraint event_is_known check (what in ('dead', 'expired', 'cancelled', 'replayed', 'resumed', 'late', 'snoozed', 'handed_back',
                                                                           'timed_out', 'out_of_memory', 'crashed')),
  count    integer not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Until when a job has to have started, for those that were enqueued with such a time. A claim passes over a job whose time is over, and
-- tick ends it. The row goes when its time has come, whatever became of the job, so that no settle has to look here.
-- look_at: when tick looks at it; later than start_by where the job was claimed then, since a claim can be handed back.
create table holdfast.start_deadlines (
  job_id    uuid not null constraint start_deadlines_by_job primary key,
  start_by  timestamptz not null,
  look_at   timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index start_deadlines_due_first on holdfast.start_deadlines (look_at);

-- Idle workers that listen. A producer notifies a lane only while it has a row here.
create table holdfast.idle_workers (
  lane_id    smallint not null,
  worker_id  integer not null,
  primary key (lane_id, worker_id)
);

-- A job that was cancelled while it ran, until its worker has reported the end of the handler or its lease is gone. Until
-- then it keeps its slots: the handler may still be at work. Whoever cancels only adds rows here and leaves the lease's own
-- row alone, which a rescue or a settle may hold.
create table holdfast.cancellations (
  job_id           uuid primary key,
  lease_id         bigint not null,
  type_id          integer not null,
  concurrency_key  text not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index cancellations_of_lease on holdfast.cancellations (lease_id);

create index cancellations_of_type on holdfast.cancellations (type_id);

-- Jobs whose payload is of a newer version than any worker knew when they were enqueued. Until one does, put_ready makes them blocked.
create table holdfast.newer_jobs (
  job_id   uuid not null constraint newer_jobs_by_job primary key,
  type_id  integer not null,
  version  smallint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index newer_jobs_of_type on holdfast.newer_jobs (type_id, version);

-- One disagreement:
--   lane_slot_left     a slot of a lane is taken by a job that does not run
--   lane_slot_missing  a job runs in a lane with a limit and takes no slot
--   gate_lease_missing  a job that came through a gate runs under a lease that the gate does not count
--   key_differs         a job stands before its gate under another key than its own
--   lease_missing      a job runs under a lease that is gone: nobody would rescue it
--   leader_missing     a job waits for the end of another that has ended
create type holdfast.drift as (what text, job_id uuid, type_id integer, concurrency_key text, lane_id smallint);

-- How much was repaired, by what it was. It has a row for each from the beginning, so that a rule always finds a number.
create table holdfast.drift_repairs (
  what   text primary key,
  total  bigint not null
);

insert into holdfast.drift_repairs (what, total)
select what, 0 from unnest('{lane_slot_left, lane_slot_missing, gate_lease_missing, key_differs, lease_missing, leader_missing}'::text[]) as what;

-- Up to where the last look went, in each of the three walks, and when it was.
create table holdfast.drift_looked (
  one         boolean primary key default true constraint there_is_one check (one),
  at          timestamptz not null default '-infinity',
  after_slot  uuid not null default '00000000-0000-0000-0000-000000000000',
  after_job   uuid not null default '00000000-0000-0000-0000-000000000000',
  after_type  integer not null default 0,
  after_key   text not null default ''
);

insert into holdfast.drift_looked default values;

-- Which worker does the chores that one of a fleet is enough for, and until when without asking again. Nothing depends on it.
create table holdfast.fleet_turn (
  one         boolean primary key default true constraint turn_is_one check (one),
  held_by     integer not null,
  held_until  timestamptz not null
);

-- What a duty could not handle, and passes over until again_at: a job by its id, or a type whose gate could not be looked at.
create table holdfast.set_aside (
  duty      text not null,
  of        text not null,
  error     text not null,
  since     timestamptz not null,
  times     integer not null,
  again_at  timestamptz not null,
  -- Whether a worker has said so in its log. What a claim sets aside is said by the next look at the gates.
  told      boolean not null default true,
  primary key (duty, of)
);

-- How a move went for one job. done is false where nothing was changed, and because says why. No status: no such job.
create type holdfast.moved as (job_id uuid, done boolean, was text, status text, because text);
