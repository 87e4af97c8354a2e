-- Why: rules about trouble, the trouble there is, and who is notified of it.
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
  -- Until then nobody is notified of what it finds.
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
-- yet. told_at, told: when somebody was notified last, and what the value was; null: nobody was, or not yet.
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

-- Which addresses to notify. The secret signs what is sent, so it has to stand here: encrypted where those who made the target have keys, else as it
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

-- And those of their columns that keep their names and meaning within a major version. The others are the inside.
comment on column holdfast.lanes.id is 'Its id, by which other tables name it.';
comment on column holdfast.lanes.name is 'Its name.';
comment on column holdfast.lanes.slots is 'How many of its jobs may run at once, in all workers together. Null: any number.';
comment on column holdfast.lanes.worker_slots is 'How many of its jobs one worker may run at once. Null: as many as the worker has slots.';
comment on column holdfast.lanes.poll_ms is 'How often an idle worker looks for jobs without a notification, in milliseconds.';
comment on column holdfast.lanes.lease_ms is 'How long its jobs are leased, in milliseconds.';
comment on column holdfast.lanes.enabled is 'False: no job of it is claimed.';
comment on column holdfast.lanes.ageing is 'A job that has waited this long counts as one priority higher.';
comment on column holdfast.lanes.changed_by is 'Who changed it last.';
comment on column holdfast.lanes.changed_why is 'Why they did.';
comment on column holdfast.lanes.changed_at is 'When it was changed last.';

comment on column holdfast.types.id is 'Its id, by which other tables name it.';
comment on column holdfast.types.name is 'Its name.';
comment on column holdfast.types.lane_id is 'The lane of its jobs.';
comment on column holdfast.types.priority is 'The priority of its jobs where an enqueue names none.';
comment on column holdfast.types.max_attempts is 'After how many failed attempts its jobs are dead, where an enqueue does not say.';
comment on column holdfast.types.timeout_ms is 'How long an attempt may run, in milliseconds.';
comment on column holdfast.types.registered_at is 'When it was first registered.';
comment on column holdfast.types.gated is 'True: its jobs pass a gate before they run: a limit, a pause, a breaker.';
comment on column holdfast.types.sensitive is 'True: replaying and resuming its jobs has to be confirmed.';
comment on column holdfast.types.encrypted is 'True: its payloads and results are encrypted.';
comment on column holdfast.types.version is 'The newest version of its payloads that any worker has known.';

comment on column holdfast.workers.id is 'Its id, which is never used again.';
comment on column holdfast.workers.name is 'Its name.';
comment on column holdfast.workers.host is 'The host that it runs on.';
comment on column holdfast.workers.pid is 'The id of its process.';
comment on column holdfast.workers.version is 'Its version of Holdfast.';
comment on column holdfast.workers.types is 'The types it has handlers for: ids of the table types.';
comment on column holdfast.workers.started_at is 'When it started.';
comment on column holdfast.workers.seen_at is 'When it sent its last heartbeat.';
comment on column holdfast.workers.looked_at is 'When it last looked for jobs.';
comment on column holdfast.workers.stopped_at is 'When it stopped. Null: it runs, or has gone without stopping.';
comment on column holdfast.workers.lag_ms is 'How late its event loop was at most before its last heartbeat, in milliseconds.';
comment on column holdfast.workers.memory_bytes is 'How much memory its process used at its last heartbeat.';
comment on column holdfast.workers.open_connections is 'How many connections to the database it had open at its last heartbeat.';
comment on column holdfast.workers.drain_asked_at is 'When somebody asked it to claim no more jobs.';
comment on column holdfast.workers.drain_asked_by is 'Who asked.';
comment on column holdfast.workers.drain_asked_why is 'Why they did.';

comment on column holdfast.gates.type_id is 'The type, or the dependency, that the gate belongs to.';
comment on column holdfast.gates.max_running is 'How many jobs may run at once.';
comment on column holdfast.gates.key_max_running is 'How many jobs of one concurrency key may run at once.';
comment on column holdfast.gates.rate_count is 'How many jobs may start in rate_per.';
comment on column holdfast.gates.rate_per is 'In what time rate_count jobs may start.';
comment on column holdfast.gates.key_rate_count is 'How many jobs of one concurrency key may start in key_rate_per.';
comment on column holdfast.gates.key_rate_per is 'In what time key_rate_count jobs of one concurrency key may start.';
comment on column holdfast.gates.fair is 'True: concurrency keys take turns.';
comment on column holdfast.gates.ordered is 'True: jobs of one concurrency key run one after the other, in the order of their enqueue.';
comment on column holdfast.gates.paused_at is 'Since when it is paused.';
comment on column holdfast.gates.paused_by is 'Who paused it.';
comment on column holdfast.gates.paused_why is 'Why they did.';
comment on column holdfast.gates.paused_until is 'Until when it is paused. Null: until somebody resumes it.';
comment on column holdfast.gates.stopped_until is 'Until when a handler has stopped it.';
comment on column holdfast.gates.breaker_opened_at is 'Since when the breaker is open. Null: it is closed.';
comment on column holdfast.gates.breaker_reason is 'Why it opened.';
comment on column holdfast.gates.breaker_probe_at is 'When the next probe may start.';

comment on column holdfast.depths.type_id is 'The type: an id of the table types.';
comment on column holdfast.depths.priority is 'The priority.';
comment on column holdfast.depths.waiting is 'How many jobs are due and wait for a worker.';
comment on column holdfast.depths.scheduled is 'How many jobs wait for a time or for people.';
comment on column holdfast.depths.retrying is 'How many of these wait for their next attempt.';
comment on column holdfast.depths.unapproved is 'How many of these wait for an approval.';
comment on column holdfast.depths.blocked is 'How many jobs wait for a signal, another job or a newer worker.';
comment on column holdfast.depths.oldest_at is 'Since when the job is due that has waited longest.';

comment on column holdfast.samples.type_id is 'The type: an id of the table types. 0: the whole fleet.';
comment on column holdfast.samples.at is 'When the numbers were read.';
comment on column holdfast.samples.since is 'Since when they had been the same.';
comment on column holdfast.samples.lane_id is 'The lane of the type at that time: an id of the table lanes.';
comment on column holdfast.samples.enqueued is 'Jobs enqueued until then.';
comment on column holdfast.samples.completed is 'Attempts that had completed.';
comment on column holdfast.samples.failed is 'Attempts that had failed.';
comment on column holdfast.samples.lost is 'Attempts whose lease had run out.';
comment on column holdfast.samples.dead is 'Jobs that had died.';
comment on column holdfast.samples.expired is 'Jobs that had expired.';
comment on column holdfast.samples.cancelled is 'Jobs that had been cancelled.';
comment on column holdfast.samples.running is 'Jobs that ran then.';
comment on column holdfast.samples.workers is 'How many workers there were, in the rows of the fleet.';
comment on column holdfast.samples.wanted is 'How many workers were wanted, in the rows of the fleet.';

comment on column holdfast.alert_rules.name is 'The name of the rule.';
comment on column holdfast.alert_rules.kind is 'What it looks at: one of the kinds in docs/alerts.md.';
comment on column holdfast.alert_rules.threshold is 'Above which value there is trouble.';
comment on column holdfast.alert_rules.type is 'The only type that it looks at. Null: all.';
comment on column holdfast.alert_rules.min_priority is 'It looks at jobs of this priority and those above.';
comment on column holdfast.alert_rules.lasts is 'How long there must have been trouble before the alert fires.';
comment on column holdfast.alert_rules.hold is 'How long it must have been quiet before the alert is over.';
comment on column holdfast.alert_rules.severity is 'info, warning or critical.';
comment on column holdfast.alert_rules.silenced_until is 'Until then nobody is notified.';
comment on column holdfast.alert_rules.enabled is 'False: the rule is off.';

comment on column holdfast.alerts.rule is 'The name of the rule.';
comment on column holdfast.alerts.subject is 'The type or the priority that it is about. Empty: the whole queue.';
comment on column holdfast.alerts.since is 'Since when there is trouble.';
comment on column holdfast.alerts.seen_at is 'When it was seen last.';
comment on column holdfast.alerts.value is 'The value then.';
comment on column holdfast.alerts.fired_at is 'When the alert fired. Null: the trouble does not last long enough yet.';
comment on column holdfast.alerts.told_at is 'When somebody was notified last. Null: nobody was.';
comment on column holdfast.alerts.told is 'The value that they were told.';
