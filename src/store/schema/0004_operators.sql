-- Why: what people do to jobs: approvals, changes of a waiting job, replays.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- What must be remembered until the decision: how many approvals, until when, what then, and when the job was to run.
create table holdfast.approval_requests (
  job_id       uuid primary key,
  quorum       smallint not null constraint quorum_is_1_to_100 check (quorum between 1 and 100),
  deadline     timestamptz,
  on_deadline  text not null constraint policy_is_known check (on_deadline in ('cancel', 'approve')),
  run_at       timestamptz,
  revision     integer not null default 1
);

-- One verdict a person: who approves twice counts once.
create table holdfast.approvals (
  job_id   uuid not null,
  actor    text not null,
  verdict  text not null constraint verdict_is_known check (verdict in ('approve', 'reject')),
  comment  text,
  at       timestamptz not null,
  constraint approvals_once primary key (job_id, actor)
);

-- What was changed about a job that goes on: who, when, why, from what to what. A cancelled job says so in history; of one that was resumed it stands here.
create table holdfast.moves (
  job_id  uuid not null,
  at      timestamptz not null,
  move    text not null constraint move_is_known check (move in ('set_priority', 'reschedule', 'run_now', 'replay', 'resume', 'replace', 'debounce', 'bury')),
  actor   text not null,
  why     text,
  before  jsonb not null,
  after   jsonb not null
);

create index moves_of_job on holdfast.moves (job_id, at);

create index dead_letters_newest on holdfast.dead_letters (died_at, job_id);

create index dead_letters_newest_of_type on holdfast.dead_letters (type_id, died_at, job_id);

-- To search by: a job without a key, tags or searchable paths pays for neither. Every job has a type, so that index knows which pages have which types, and no rows:
-- an enqueue writes nothing into it.
create index bodies_by_key on holdfast.bodies (concurrency_key, id) where concurrency_key is not null;

create index bodies_by_tag on holdfast.bodies using gin (tags) where tags is not null;

-- searchable: a list of paths of the payload whose values are found by index; the jobs from searchable_from on, by id, have keys of all of them.
-- payload_schema: the JSON Schema of its payloads. Null: none is stored, and only the worker checks them.
-- past_lanes: every lane the type was ever in, because a job that waits for its time stands in the one of then until it comes.
alter table holdfast.types add column searchable jsonb, add column searchable_from uuid not null default '00000000-0000-0000-0000-000000000000',
  add column past_lanes smallint[] not null default '{}', add column payload_schema jsonb;

-- What stands at the paths that its type calls searchable, as search_keys makes it; null for most, where it takes no room.
alter table holdfast.bodies add column search_keys bigint[];

create index bodies_by_search_key on holdfast.bodies using gin (search_keys) where search_keys is not null;

create index bodies_by_type on holdfast.bodies using brin (type_id int4_minmax_multi_ops) with (pages_per_range = 16, autosummarize = on);

-- When jobs ended. Rows come in the order of that time, so that an index which knows pages and no rows finds them, and costs a job nothing.
create index history_by_time on holdfast.history using brin (ended_at) with (pages_per_range = 32, autosummarize = on);

-- To find the few that wait for people, a signal or a retry among very many that are scheduled, which do not pay for it.
create index waiting_by_status on holdfast.waiting (status, job_id) where status <> 'scheduled';

-- To find the few among all that completed, which do not pay for it.
create index history_by_outcome on holdfast.history (outcome, job_id) where outcome in ('cancelled', 'discarded');

-- What somebody does to many jobs, and how far it has come. Its id is that of the job that carries it out, a portion at a time: the transaction
-- that changes a portion of jobs also counts them here and moves the cursor, so that nothing is done twice, whoever is killed.
create table holdfast.bulk_actions (
  id          uuid primary key,
  action      text not null constraint action_is_known
              check (action in ('cancel', 'retry', 'replay', 'discard', 'run-now', 'reschedule', 'set-priority', 'bury', 'resume')),
  -- Which jobs: those that fit, or, where it is null, these.
  filter      jsonb,
  jobs        uuid[],
  -- What the action needs: {"priority"}, {"run_at"}, {"confirmed"}.
  settings    jsonb not null,
  -- The service whose jobs alone are touched; null: those of all.
  owner       text,
  actor       text not null,
  why         text,
  origin      text,
  -- How many jobs a second at most; null: as fast as it goes.
  pace        real constraint pace_is_positive check (pace > 0),
  status      text not null default 'waiting' constraint status_is_known check (status in ('waiting', 'running', 'completed', 'aborted')),
  estimate    integer not null,
  -- There may be more than the estimate says.
  at_least    boolean not null,
  matched     integer not null default 0,
  done        integer not null default 0,
  refused     jsonb not null default '{}',
  cursor      uuid,
  -- Jobs that somebody worked on when their turn came: they are asked for one by one.
  held        uuid[] not null default '{}',
  created_at  timestamptz not null,
  started_at  timestamptz,
  ended_at    timestamptz,
  aborted_by  text,
  aborted_why text,
  constraint filter_or_jobs check ((filter is null) <> (jobs is null))
);

-- Numbers that decide about data, once for the whole installation; times are milliseconds. An operator's value counts before that of
-- the code, which stands beside it: a worker that names a setting writes it into defined when it starts, and one that does not
-- changes nothing. standard: what counts where neither has said anything.
create table holdfast.settings (
  name        text primary key,
  standard    double precision not null,
  lowest      double precision not null,
  highest     double precision not null,
  defined     double precision,
  operator    double precision,
  changed_by  text,
  changed_why text,
  changed_at  timestamptz,
  constraint setting_is_in_range check (defined between lowest and highest and operator between lowest and highest)
);

insert into holdfast.settings (name, standard, lowest, highest) values
  ('retention_completed', 604800000, 86400000, 315360000000),
  ('retention_dead', 2592000000, 86400000, 315360000000),
  ('retention_audit', 31536000000, 86400000, 315360000000),
  ('retention_keys', 2592000000, 86400000, 315360000000),
  ('max_snoozes', 1000, 1, 1000000000),
  ('max_hand_backs', 100, 1, 1000000000),
  -- 1: a day is dropped only when it has been archived.
  ('archive_first', 0, 0, 1),
  ('lease', 60000, 60000, 3600000),
  ('remote_grace', 60000, 0, 604800000);
