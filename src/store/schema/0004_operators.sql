-- Why: what people do to jobs: approvals, changes of a waiting job, replays.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- What must be remembered until the decision: how many approvals, until when, what then, and when the job was to run.
create table holdfast.approval_requests (
  job_id       uuid primary key,
  quorum       smallint not null constraint quorum_is_1_to_100 check (quorum between 1 and 100),
  deadline     timestamptz,
  on_deadline  text not null constraint policy_is_known check (on_deadline in ('cancel', 'approve')),
  run_at       timestamptz
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
