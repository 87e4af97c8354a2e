-- Why: rules about trouble, the trouble there is, and who is called about it.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.alert_rules (
  name          text primary key constraint rule_name_is_short check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  -- dead_letters: more than the threshold died since the last look. breaker: it is open. depth: more than that wait. oldest: a job has
  -- been due for more than that many seconds. enqueue_errors: more than that were refused by servers since the last look.
  -- missing_partitions: more partitions of today and tomorrow than that are missing in a table. notify_queue: more of the server's queue of
  -- notifications is full than that; from half of it on none are sent. drift: more slots, holds and keys than that disagreed with their
  -- jobs since the last look, and were repaired.
  kind          text not null constraint kind_is_known check (kind in
    ('dead_letters', 'breaker', 'depth', 'oldest', 'enqueue_errors', 'missing_partitions', 'notify_queue', 'drift')),
  threshold     double precision not null default 0 constraint threshold_is_no_debt check (threshold >= 0),
  -- Only of this type; null: of any, and for depth all together.
  type          text,
  -- For oldest: of this priority and those above.
  min_priority  smallint not null default 0 constraint priority_is_0_to_9 check (min_priority between 0 and 9),
  -- How long it must have been quiet before it is over.
  hold          interval not null default '1 minute' constraint hold_is_at_most_a_day check (hold between interval '0' and interval '1 day'),
  enabled       boolean not null default true
);

insert into holdfast.alert_rules (name, kind, threshold, min_priority, hold) values
  ('dead-letters', 'dead_letters', 0, 0, '10 minutes'),
  ('breaker-open', 'breaker', 0, 0, '0'),
  ('depth', 'depth', 100000, 0, '1 minute'),
  ('oldest', 'oldest', 900, 0, '1 minute'),
  ('oldest-urgent', 'oldest', 60, 7, '1 minute'),
  ('enqueue-errors', 'enqueue_errors', 10, 0, '10 minutes'),
  ('missing-partitions', 'missing_partitions', 0, 0, '1 minute'),
  ('notify-queue', 'notify_queue', 0.4, 0, '1 minute'),
  ('drift', 'drift', 0, 0, '10 minutes');

-- The trouble there is now. subject: the type or priority it is about; empty: the whole queue.
create table holdfast.alerts (
  rule     text not null references holdfast.alert_rules on delete cascade,
  subject  text not null,
  since    timestamptz not null,
  seen_at  timestamptz not null,
  value    double precision not null,
  primary key (rule, subject)
);

-- Where to call. The secret signs what is sent, so it has to stand here: encrypted where those who made the target have keys, else as it
-- is. It is never shown again. The one before it signs as well until old_until, so that a receiver has time to take the new one.
create table holdfast.alert_targets (
  id          integer generated always as identity primary key,
  url         text not null constraint url_is_short check (length(url) between 1 and 2000),
  secret      text not null,
  old_secret  text,
  old_until   timestamptz,
  -- The rules it wants to hear of; null: all.
  rules       text[],
  created_at  timestamptz not null default holdfast.now(),
  created_by  text not null
);

-- Where counters stood at the last look and at the one before, and when that was.
create table holdfast.alert_marks (
  what    text primary key,
  value   bigint not null,
  before  bigint not null
);

create table holdfast.alerts_looked (
  one  boolean primary key default true constraint there_is_one check (one),
  at   timestamptz not null default '-infinity'
);

insert into holdfast.alerts_looked default values;

-- In the words of docs/schema.md: the tables that users of the database may read. They stand in the last file, where all are made.
comment on table holdfast.lanes is 'The lanes, with their slots and settings.';
comment on table holdfast.types is 'The job types, with the defaults of their jobs.';
comment on table holdfast.workers is 'The worker processes, with when each was heard of last.';
comment on table holdfast.gates is 'The limits, rates, pause and breaker of each type that has any.';
comment on table holdfast.depths is 'How many jobs of each type and priority wait, as counted last.';
comment on table holdfast.samples is 'How the counters of each type stood, up to 35 days ago.';
comment on table holdfast.alert_rules is 'The rules that say what trouble is.';
comment on table holdfast.alerts is 'The trouble there is now.';
