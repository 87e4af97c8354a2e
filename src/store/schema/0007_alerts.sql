-- Why: rules about trouble, the trouble there is, and who is called about it.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.alert_rules (
  name          text primary key constraint rule_name_is_short check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  -- dead_letters: more than the threshold died since the last look. breaker: it is open. depth: more than that wait. depth_growth: so many
  -- more wait each minute. oldest: a job has been due for more than that many seconds. slow_starts: 99 % of attempts had been due for less than
  -- a time that is longer than so many seconds. slow_runs: attempts take so many times as long as before. enqueue_errors: more than that were
  -- refused by servers since the last look. enqueue_error_rate: a greater share of the requests. enqueue_spike: more than that are enqueued
  -- each minute, and three times as many as usual. late_results, rescues, restarts: results without a lease, leases that ran out, and workers that
  -- went without stopping, more than that in ten minutes. retention: it was not done for so many seconds.
  -- missing_partitions: more partitions of today and tomorrow than that are missing in a table. notify_queue: more of the server's queue of
  -- notifications is full than that; from half of it on none are sent. drift: more slots, holds and keys than that disagreed with their
  -- jobs since the last look, and were repaired.
  kind          text not null constraint kind_is_known check (kind in
    ('dead_letters', 'breaker', 'depth', 'depth_growth', 'oldest', 'slow_starts', 'slow_runs', 'enqueue_errors', 'enqueue_error_rate',
     'enqueue_spike', 'late_results', 'rescues', 'restarts', 'retention', 'missing_partitions', 'notify_queue', 'drift')),
  threshold     double precision not null default 0 constraint threshold_is_no_debt check (threshold >= 0),
  -- Only of this type; null: of any, and for depth all together.
  type          text,
  -- For depth, depth_growth, oldest and slow_starts: of this priority and those above.
  min_priority  smallint not null default 0 constraint priority_is_0_to_9 check (min_priority between 0 and 9),
  -- How long it must have been so before it fires.
  lasts         interval not null default '0' constraint lasts_at_most_a_day check (lasts between interval '0' and interval '1 day'),
  -- How long it must have been quiet before it is over.
  hold          interval not null default '1 minute' constraint hold_is_at_most_a_day check (hold between interval '0' and interval '1 day'),
  severity      text not null default 'warning' constraint severity_is_known check (severity in ('info', 'warning', 'critical')),
  -- Until then nobody is called about what it finds.
  silenced_until  timestamptz,
  enabled       boolean not null default true
);

insert into holdfast.alert_rules (name, kind, threshold, min_priority, lasts, hold, severity) values
  ('dead-letters', 'dead_letters', 0, 0, '0', '10 minutes', 'warning'),
  ('breaker-open', 'breaker', 0, 0, '0', '0', 'warning'),
  ('depth', 'depth', 10000, 0, '5 minutes', '1 minute', 'warning'),
  ('depth-urgent', 'depth', 100, 7, '1 minute', '1 minute', 'critical'),
  ('depth-growth', 'depth_growth', 100, 0, '5 minutes', '5 minutes', 'warning'),
  ('oldest', 'oldest', 600, 0, '1 minute', '1 minute', 'warning'),
  ('oldest-urgent', 'oldest', 60, 7, '0', '1 minute', 'critical'),
  ('slow-starts', 'slow_starts', 30, 0, '10 minutes', '5 minutes', 'warning'),
  ('slow-runs', 'slow_runs', 2, 0, '5 minutes', '5 minutes', 'warning'),
  ('enqueue-errors', 'enqueue_errors', 10, 0, '0', '10 minutes', 'warning'),
  ('enqueue-error-rate', 'enqueue_error_rate', 0.01, 0, '1 minute', '5 minutes', 'critical'),
  ('enqueue-spike', 'enqueue_spike', 100, 0, '1 minute', '5 minutes', 'warning'),
  ('late-results', 'late_results', 0, 0, '0', '10 minutes', 'warning'),
  ('rescues', 'rescues', 10, 0, '0', '10 minutes', 'warning'),
  ('restarts', 'restarts', 3, 0, '0', '10 minutes', 'critical'),
  ('retention', 'retention', 86400, 0, '10 minutes', '1 minute', 'warning'),
  ('missing-partitions', 'missing_partitions', 0, 0, '0', '1 minute', 'warning'),
  ('notify-queue', 'notify_queue', 0.4, 0, '0', '1 minute', 'warning'),
  ('drift', 'drift', 0, 0, '0', '10 minutes', 'warning');

-- The trouble there is now. subject: the type or priority it is about; empty: the whole queue. fired_at null: it does not last long enough
-- yet. told_at, told: when somebody was called last, and what the value was; null: nobody was, or not yet.
create table holdfast.alerts (
  rule      text not null references holdfast.alert_rules on delete cascade,
  subject   text not null,
  since     timestamptz not null,
  seen_at   timestamptz not null,
  value     double precision not null,
  fired_at  timestamptz,
  told_at   timestamptz,
  told      double precision,
  primary key (rule, subject)
);

-- Where to call. The secret signs what is sent, so it has to stand here: encrypted where those who made the target have keys, else as it
-- is. It is never shown again. The one before it signs as well until old_until, so that a receiver has time to take the new one.
create table holdfast.alert_targets (
  id          integer generated always as identity primary key,
  url         text not null constraint url_is_short check (length(url) between 1 and 2000),
  -- How what is sent looks. pagerduty: an event of PagerDuty, whose routing key is the secret.
  form        text not null default 'webhook' constraint form_is_known check (form in ('webhook', 'slack', 'pagerduty')),
  secret      text not null,
  old_secret  text,
  old_until   timestamptz,
  -- The rules it wants to hear of; null: all.
  rules       text[],
  created_at  timestamptz not null default holdfast.now(),
  created_by  text not null
);

-- Where counters stood at the looks of the last minutes that found them changed, and before that. They never go down.
create table holdfast.alert_marks (
  what    text not null,
  at      timestamptz not null,
  value   bigint not null,
  before  bigint not null,
  primary key (what, at)
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
