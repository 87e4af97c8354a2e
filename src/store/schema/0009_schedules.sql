-- Why: jobs that are made by the clock. A schedule says when and what; a tick is one moment of it, and has at most one job.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: they fire no schedules. Back: drop the three tables.

create table holdfast.schedules (
  id           uuid primary key default gen_random_uuid(),
  name         text not null constraint schedules_name unique,
  -- The set of definitions in code that it belongs to. Null: it was created at run time.
  set_name     text,
  -- What the code says, or whoever created it. The payload in it is text.
  defined      jsonb not null,
  -- What operators changed of a schedule that stands in code: these fields and no others. Null: nothing.
  override     jsonb,
  -- Since when its set was defined without it. It goes on until it is pruned.
  gone_since   timestamptz,
  created_at   timestamptz not null,
  created_by   text not null,
  changed_at   timestamptz,
  changed_by   text,
  changed_why  text,
  paused_at    timestamptz,
  paused_by    text,
  paused_why   text,
  -- Null: until somebody resumes it.
  paused_until timestamptz,
  -- Grows with every change, so that whoever decided by what it was before finds out.
  revision     bigint not null default 1,
  -- All ticks up to here are decided.
  handled_to   timestamptz not null,
  -- When a worker has to look at it next; infinity: it has ended.
  next_at      timestamptz not null,
  last_tick    timestamptz,
  last_job     uuid,
  -- Missed ticks that nobody made up for, and the last of them.
  dropped      bigint not null default 0,
  dropped_to   timestamptz,
  -- Why the last try to fire it failed; null since one succeeded.
  error        text,
  error_at     timestamptz,
  constraint schedule_name_is_short check (length(name) between 1 and 200)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index schedules_due on holdfast.schedules (next_at) where paused_at is null;

-- Where the clock was set back, what was decided by it lies in the future.
create index schedules_paused_for_a_time on holdfast.schedules (paused_until) where paused_until is not null;

create index schedules_handled on holdfast.schedules (handled_to);

-- One row for each tick that was fired. The primary key is what makes one job of it, whoever fires and however often.
create table holdfast.ticks (
  schedule_id  uuid not null references holdfast.schedules on delete cascade,
  tick         timestamptz not null,
  kind         text not null constraint tick_kind_is_known check (kind in ('tick', 'manual', 'backfill')),
  outcome      text not null constraint tick_outcome_is_known check (outcome in ('created', 'queued', 'skipped')),
  -- Null where it was skipped.
  job_id       uuid,
  -- The job that it was skipped for, or queued behind.
  in_the_way   uuid,
  at           timestamptz not null,
  constraint ticks_once primary key (schedule_id, tick)
);

create index ticks_by_job on holdfast.ticks (job_id) where job_id is not null;

create index ticks_by_age on holdfast.ticks (at);

-- Which worker fires what is due now, so that a large fleet does not decide the same a hundred times. Nothing depends on it.
create table holdfast.scheduler_turn (
  one         boolean primary key default true constraint turn_is_one check (one),
  held_by     integer,
  held_until  timestamptz not null
);
