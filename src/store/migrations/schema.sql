-- What the migrations make, all of them together. Written by npm run schema, run by nobody: it is here for its diff.
-- The partitions of single days are left out; each is like the partition named _rest.

enum holdfast.outcome (completed, failed, timed_out, out_of_memory, crashed, lease_expired, snoozed, handed_back, cancelled, discarded)

sequence holdfast.alert_targets_id_seq

sequence holdfast.api_keys_id_seq

sequence holdfast.audit_log_id_seq

sequence holdfast.lanes_id_seq

sequence holdfast.lease_seq

sequence holdfast.log_line_seq

sequence holdfast.queue_seq

sequence holdfast.types_id_seq

sequence holdfast.workers_id_seq

table holdfast.alert_marks
  what             text not null
  value            bigint not null
  before           bigint not null
  constraint alert_marks_pkey PRIMARY KEY (what)

table holdfast.alert_rules
  name             text not null
  kind             text not null
  threshold        double precision default 0 not null
  type             text
  min_priority     smallint default 0 not null
  hold             interval default '00:01:00'::interval not null
  enabled          boolean default true not null
  constraint alert_rules_pkey PRIMARY KEY (name)
  constraint hold_is_at_most_a_day CHECK (((hold >= '00:00:00'::interval) AND (hold <= '1 day'::interval)))
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['dead_letters'::text, 'breaker'::text, 'depth'::text, 'oldest'::text, 'enqueue_errors'::text])))
  constraint priority_is_0_to_9 CHECK (((min_priority >= 0) AND (min_priority <= 9)))
  constraint rule_name_is_short CHECK ((name ~ '^[a-z][a-z0-9_-]{0,62}$'::text))
  constraint threshold_is_no_debt CHECK ((threshold >= (0)::double precision))

table holdfast.alert_targets
  id               integer generated always as identity not null
  url              text not null
  secret           text not null
  rules            text[]
  created_at       timestamp with time zone default holdfast.now() not null
  created_by       text not null
  constraint alert_targets_pkey PRIMARY KEY (id)
  constraint url_is_short CHECK (((length(url) >= 1) AND (length(url) <= 2000)))

table holdfast.alerts
  rule             text not null
  subject          text not null
  since            timestamp with time zone not null
  seen_at          timestamp with time zone not null
  value            double precision not null
  constraint alerts_pkey PRIMARY KEY (rule, subject)
  constraint alerts_rule_fkey FOREIGN KEY (rule) REFERENCES holdfast.alert_rules(name) ON DELETE CASCADE

table holdfast.alerts_looked
  one              boolean default true not null
  at               timestamp with time zone default '-infinity'::timestamp with time zone not null
  constraint alerts_looked_pkey PRIMARY KEY (one)
  constraint there_is_one CHECK (one)

table holdfast.api_keys
  id               integer generated always as identity not null
  service          text not null
  hash             bytea
  subject          text
  prefix           text not null
  roles            text[] not null
  types            text[]
  rate_limit       integer default 1000 not null
  created_at       timestamp with time zone default holdfast.now() not null
  created_by       text not null
  expires_at       timestamp with time zone
  revoked_at       timestamp with time zone
  last_used_at     timestamp with time zone
  constraint api_keys_hash UNIQUE (hash)
  constraint api_keys_pkey PRIMARY KEY (id)
  constraint hash_is_sha_256 CHECK ((octet_length(hash) = 32))
  constraint key_has_a_role CHECK ((cardinality(roles) >= 1))
  constraint key_or_certificate CHECK (((hash IS NULL) <> (subject IS NULL)))
  constraint rate_limit_is_positive CHECK (((rate_limit >= 1) AND (rate_limit <= 1000000)))
  constraint service_is_short CHECK (((service ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$'::text) AND (service <> ALL (ARRAY['admin'::text, 'holdfast'::text]))))
  constraint subject_is_short CHECK (((length(subject) >= 1) AND (length(subject) <= 200)))
  INDEX api_keys_of_service ON holdfast.api_keys USING btree (service, id)
  UNIQUE INDEX api_keys_subject ON holdfast.api_keys USING btree (subject) WHERE (revoked_at IS NULL)

table holdfast.approval_requests
  job_id           uuid not null
  quorum           smallint not null
  deadline         timestamp with time zone
  on_deadline      text not null
  run_at           timestamp with time zone
  constraint approval_requests_pkey PRIMARY KEY (job_id)
  constraint policy_is_known CHECK ((on_deadline = ANY (ARRAY['cancel'::text, 'approve'::text])))
  constraint quorum_is_1_to_100 CHECK (((quorum >= 1) AND (quorum <= 100)))

table holdfast.approvals
  job_id           uuid not null
  actor            text not null
  verdict          text not null
  comment          text
  at               timestamp with time zone not null
  constraint approvals_once PRIMARY KEY (job_id, actor)
  constraint verdict_is_known CHECK ((verdict = ANY (ARRAY['approve'::text, 'reject'::text])))

table holdfast.arrivals
  type_id          integer not null
  concurrency_key  text not null
  INDEX arrivals_of_type ON holdfast.arrivals USING btree (type_id)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.audit_log
  id               bigint generated always as identity not null
  at               timestamp with time zone not null
  actor            text not null
  origin           text
  action           text not null
  target           text
  before           jsonb
  after            jsonb
  why              text
  constraint audit_log_pkey PRIMARY KEY (id)
  INDEX audit_log_by_actor ON holdfast.audit_log USING btree (actor, id)
  INDEX audit_log_by_target ON holdfast.audit_log USING btree (target, id)

table holdfast.bodies partition by RANGE (id)
  id               uuid not null
  type_id          integer not null
  priority         smallint not null
  max_attempts     smallint not null
  created_at       timestamp with time zone not null
  run_at           timestamp with time zone
  idempotency_key  text
  concurrency_key  text
  unique_key       text
  owner            text default NULLIF(current_setting('holdfast.owner'::text, true), ''::text)
  traceparent      text
  payload          json not null
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint bodies_pkey PRIMARY KEY (id)
  constraint concurrency_key_is_short CHECK (((length(concurrency_key) >= 1) AND (length(concurrency_key) <= 500)))
  constraint payload_is_at_most_64_kb CHECK ((octet_length((payload)::text) <= 65536))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint traceparent_is_short CHECK ((length(traceparent) <= 100))
  INDEX bodies_by_owner ON ONLY holdfast.bodies USING btree (owner, id) WHERE (owner IS NOT NULL)

table holdfast.bodies_rest
  id               uuid not null
  type_id          integer not null
  priority         smallint not null
  max_attempts     smallint not null
  created_at       timestamp with time zone not null
  run_at           timestamp with time zone
  idempotency_key  text
  concurrency_key  text
  unique_key       text
  owner            text default NULLIF(current_setting('holdfast.owner'::text, true), ''::text)
  traceparent      text
  payload          json not null
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint bodies_rest_pkey PRIMARY KEY (id)
  constraint concurrency_key_is_short CHECK (((length(concurrency_key) >= 1) AND (length(concurrency_key) <= 500)))
  constraint payload_is_at_most_64_kb CHECK ((octet_length((payload)::text) <= 65536))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint traceparent_is_short CHECK ((length(traceparent) <= 100))
  INDEX bodies_rest_owner_id_idx ON holdfast.bodies_rest USING btree (owner, id) WHERE (owner IS NOT NULL)

table holdfast.cancellations
  job_id           uuid not null
  lease_id         bigint not null
  constraint cancellations_pkey PRIMARY KEY (job_id)
  INDEX cancellations_of_lease ON holdfast.cancellations USING btree (lease_id)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.checkpoints
  job_id           uuid not null
  attempt          smallint not null
  value            json not null
  at               timestamp with time zone not null
  constraint checkpoint_is_at_most_64_kb CHECK ((octet_length((value)::text) <= 65536))
  constraint checkpoints_pkey PRIMARY KEY (job_id)
  with fillfactor=60

table holdfast.dead_depths
  type_id          integer not null
  dead             bigint not null
  constraint dead_depths_pkey PRIMARY KEY (type_id)

table holdfast.dead_letters partition by RANGE (died_at)
  job_id           uuid not null
  died_at          timestamp with time zone not null
  type_id          integer not null
  priority         smallint not null
  attempt          smallint not null
  reason           text not null
  error            jsonb
  constraint dead_has_a_reason CHECK ((reason = ANY (ARRAY['exhausted'::text, 'fatal'::text, 'poison'::text])))
  INDEX dead_letters_by_job ON ONLY holdfast.dead_letters USING btree (job_id)
  INDEX dead_letters_newest ON ONLY holdfast.dead_letters USING btree (died_at, job_id)
  INDEX dead_letters_newest_of_type ON ONLY holdfast.dead_letters USING btree (type_id, died_at, job_id)

table holdfast.dead_letters_rest
  job_id           uuid not null
  died_at          timestamp with time zone not null
  type_id          integer not null
  priority         smallint not null
  attempt          smallint not null
  reason           text not null
  error            jsonb
  constraint dead_has_a_reason CHECK ((reason = ANY (ARRAY['exhausted'::text, 'fatal'::text, 'poison'::text])))
  INDEX dead_letters_rest_died_at_job_id_idx ON holdfast.dead_letters_rest USING btree (died_at, job_id)
  INDEX dead_letters_rest_job_id_idx ON holdfast.dead_letters_rest USING btree (job_id)
  INDEX dead_letters_rest_type_id_died_at_job_id_idx ON holdfast.dead_letters_rest USING btree (type_id, died_at, job_id)

table holdfast.dead_measured
  one              boolean default true not null
  measured_at      timestamp with time zone default '-infinity'::timestamp with time zone not null
  cost             interval default '00:00:00'::interval not null
  constraint dead_measured_pkey PRIMARY KEY (one)
  constraint there_is_one CHECK (one)

table holdfast.depth_limits
  scope            text not null
  name             text not null
  soft             bigint
  hard             bigint
  oldest           interval
  constraint depth_limits_pkey PRIMARY KEY (scope, name)
  constraint hard_is_positive CHECK ((hard >= 1))
  constraint oldest_is_positive CHECK ((oldest > '00:00:00'::interval))
  constraint scope_is_known CHECK ((scope = ANY (ARRAY['queue'::text, 'lane'::text, 'type'::text])))
  constraint soft_is_below_hard CHECK ((soft <= hard))
  constraint soft_is_positive CHECK ((soft >= 1))

table holdfast.depths
  type_id          integer not null
  priority         smallint not null
  waiting          bigint not null
  scheduled        bigint not null
  oldest_at        timestamp with time zone
  constraint depths_pkey PRIMARY KEY (type_id, priority)

table holdfast.depths_measured
  one              boolean default true not null
  measured_at      timestamp with time zone default '-infinity'::timestamp with time zone not null
  cost             interval default '00:00:00'::interval not null
  constraint depths_measured_pkey PRIMARY KEY (one)
  constraint there_is_one CHECK (one)

table holdfast.drift_looked
  one              boolean default true not null
  at               timestamp with time zone default '-infinity'::timestamp with time zone not null
  after_slot       uuid default '00000000-0000-0000-0000-000000000000'::uuid not null
  after_job        uuid default '00000000-0000-0000-0000-000000000000'::uuid not null
  after_type       integer default 0 not null
  after_key        text default ''::text not null
  constraint drift_looked_pkey PRIMARY KEY (one)
  constraint there_is_one CHECK (one)

table holdfast.drift_repairs
  what             text not null
  total            bigint not null
  constraint drift_repairs_pkey PRIMARY KEY (what)

table holdfast.durations
  type_id          integer not null
  bucket           smallint not null
  count            bigint not null
  seconds          double precision not null
  constraint durations_pkey PRIMARY KEY (type_id, bucket)

table holdfast.enqueue_errors
  status           smallint not null
  total            bigint not null
  constraint enqueue_errors_pkey PRIMARY KEY (status)

table holdfast.enqueued
  type_id          integer not null
  total            bigint not null
  running          bigint not null
  constraint enqueued_pkey PRIMARY KEY (type_id)

table holdfast.following
  job_id           uuid not null
  follows          uuid not null
  due_at           timestamp with time zone not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  unsure           boolean default false not null
  constraint check_leader TRIGGER DEFERRABLE INITIALLY DEFERRED
  constraint following_by_job PRIMARY KEY (job_id)
  INDEX following_by_leader ON holdfast.following USING btree (follows)
  INDEX following_unsure ON holdfast.following USING btree (job_id) WHERE unsure
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.gated
  job_id           uuid not null
  rank             timestamp with time zone not null
  ready_at         timestamp with time zone not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  attempt          smallint not null
  concurrency_key  text default ''::text not null
  constraint gated_by_job PRIMARY KEY (job_id)
  INDEX gated_next_of_key ON holdfast.gated USING btree (type_id, concurrency_key, rank, job_id)
  INDEX gated_next_of_type ON holdfast.gated USING btree (type_id, rank, job_id)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0

table holdfast.gates
  type_id          integer not null
  max_running      integer
  key_max_running  integer
  rate_count       integer
  rate_per         interval
  key_rate_count   integer
  key_rate_per     interval
  fair             boolean default false not null
  defined          jsonb
  turn             double precision default 0 not null
  keyed            boolean default false not null
  paused_at        timestamp with time zone
  paused_by        text
  paused_why       text
  stopped_until    timestamp with time zone
  breaker_share    double precision default 0.8 not null
  breaker_window   interval default '00:05:00'::interval not null
  breaker_minimum  integer default 10 not null
  breaker_probe    interval default '00:01:00'::interval not null
  breaker_hold     text default 'auto'::text not null
  breaker_opened_a timestamp with time zone
  breaker_reason   text
  breaker_probe_at timestamp with time zone
  breaker_since    timestamp with time zone default '-infinity'::timestamp with time zone not null
  constraint gates_pkey PRIMARY KEY (type_id)
  constraint gates_type_id_fkey FOREIGN KEY (type_id) REFERENCES holdfast.types(id)
  constraint hold_is_known CHECK ((breaker_hold = ANY (ARRAY['auto'::text, 'open'::text, 'closed'::text])))
  constraint key_max_running_is_positive CHECK (((key_max_running >= 1) AND (key_max_running <= 1000000)))
  constraint key_rate_has_both CHECK (((key_rate_count IS NULL) = (key_rate_per IS NULL)))
  constraint key_rate_is_positive CHECK (((key_rate_count >= 1) AND (key_rate_count <= 1000000)))
  constraint key_rate_per_is_positive CHECK ((key_rate_per > '00:00:00'::interval))
  constraint max_running_is_positive CHECK (((max_running >= 1) AND (max_running <= 1000000)))
  constraint minimum_is_positive CHECK ((breaker_minimum >= 1))
  constraint paused_has_a_name CHECK (((paused_at IS NULL) = (paused_by IS NULL)))
  constraint probe_is_positive CHECK ((breaker_probe > '00:00:00'::interval))
  constraint rate_has_both CHECK (((rate_count IS NULL) = (rate_per IS NULL)))
  constraint rate_is_positive CHECK (((rate_count >= 1) AND (rate_count <= 1000000)))
  constraint rate_per_is_positive CHECK ((rate_per > '00:00:00'::interval))
  constraint share_is_a_share CHECK (((breaker_share > (0)::double precision) AND (breaker_share <= (1)::double precision)))
  constraint window_is_positive CHECK ((breaker_window > '00:00:00'::interval))

table holdfast.happenings
  type_id          integer not null
  what             text not null
  count            integer not null
  constraint happening_is_known CHECK ((what = ANY (ARRAY['dead'::text, 'cancelled'::text, 'replayed'::text, 'late'::text])))
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.held
  job_id           uuid not null
  type_id          integer not null
  concurrency_key  text not null
  lease_id         bigint
  constraint held_pkey PRIMARY KEY (job_id)
  INDEX held_by_type ON holdfast.held USING btree (type_id, concurrency_key)
  INDEX held_not_running ON holdfast.held USING btree (type_id, concurrency_key) WHERE (lease_id IS NULL)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.history partition by RANGE (ended_at)
  job_id           uuid not null
  ended_at         timestamp with time zone not null
  started_at       timestamp with time zone
  worker_id        integer
  outcome          holdfast.outcome not null
  attempt          smallint not null
  lease_mark       integer
  error            jsonb
  INDEX history_by_job ON ONLY holdfast.history USING btree (job_id)

table holdfast.history_rest
  job_id           uuid not null
  ended_at         timestamp with time zone not null
  started_at       timestamp with time zone
  worker_id        integer
  outcome          holdfast.outcome not null
  attempt          smallint not null
  lease_mark       integer
  error            jsonb
  INDEX history_rest_job_id_idx ON holdfast.history_rest USING btree (job_id)

table holdfast.idempotency_keys
  type_id          integer not null
  key              text not null
  job_id           uuid not null
  constraint idempotency_keys_once PRIMARY KEY (type_id, key)
  constraint key_is_at_most_500_characters CHECK (((length(key) >= 1) AND (length(key) <= 500)))
  INDEX idempotency_keys_by_job ON holdfast.idempotency_keys USING btree (job_id)

table holdfast.keys
  type_id          integer not null
  concurrency_key  text not null
  weight           real default 1 not null
  turn             double precision default 0 not null
  active           boolean default false not null
  full_now         boolean default false not null
  rests_until      timestamp with time zone
  paused_at        timestamp with time zone
  paused_by        text
  paused_why       text
  constraint keys_pkey PRIMARY KEY (type_id, concurrency_key)
  constraint paused_has_a_name CHECK (((paused_at IS NULL) = (paused_by IS NULL)))
  constraint weight_is_positive CHECK ((weight > (0)::double precision))
  INDEX keys_next ON holdfast.keys USING btree (type_id, turn) WHERE (active AND (NOT full_now) AND (rests_until IS NULL) AND (paused_at IS NULL))
  INDEX keys_resting ON holdfast.keys USING btree (type_id, rests_until) WHERE (rests_until IS NOT NULL)
  with fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.lane_slots
  job_id           uuid not null
  lane_id          smallint not null
  constraint lane_slots_pkey PRIMARY KEY (job_id)
  INDEX lane_slots_by_lane ON holdfast.lane_slots USING btree (lane_id)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.lanes
  id               smallint generated always as identity not null
  name             text not null
  slots            integer
  worker_slots     integer
  poll_ms          integer default 2000 not null
  lease_ms         integer
  enabled          boolean default true not null
  ageing           interval default '00:01:00'::interval not null
  changed_by       text
  changed_why      text
  changed_at       timestamp with time zone
  constraint ageing_is_positive CHECK ((ageing > '00:00:00'::interval))
  constraint lane_name_is_short CHECK ((name ~ '^[a-z][a-z0-9_-]{0,62}$'::text))
  constraint lanes_name UNIQUE (name)
  constraint lanes_pkey PRIMARY KEY (id)
  constraint lease_is_100_ms_to_1_day CHECK (((lease_ms >= 100) AND (lease_ms <= 86400000)))
  constraint poll_is_10_ms_to_10_min CHECK (((poll_ms >= 10) AND (poll_ms <= 600000)))
  constraint slots_are_positive CHECK (((slots >= 1) AND (slots <= 100000)))
  constraint worker_slots_are_positive CHECK (((worker_slots >= 1) AND (worker_slots <= 10000)))

table holdfast.leases
  id               bigint not null
  worker_id        integer not null
  claimed_at       timestamp with time zone not null
  expires_at       timestamp with time zone not null
  jobs             uuid[] not null stored external
  constraint leases_pkey PRIMARY KEY (id)
  INDEX leases_lost_first ON holdfast.leases USING btree (expires_at)
  with autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.log_lines partition by RANGE (at)
  id               bigint default nextval('holdfast.log_line_seq'::regclass) not null
  job_id           uuid not null
  attempt          smallint not null
  at               timestamp with time zone not null
  level            text default 'info'::text not null
  line             text not null
  constraint level_is_known CHECK ((level = ANY (ARRAY['info'::text, 'warn'::text, 'error'::text])))
  constraint line_is_at_most_4000_characters CHECK ((length(line) <= 4000))
  INDEX log_lines_by_job ON ONLY holdfast.log_lines USING btree (job_id, id)

table holdfast.log_lines_rest
  id               bigint default nextval('holdfast.log_line_seq'::regclass) not null
  job_id           uuid not null
  attempt          smallint not null
  at               timestamp with time zone not null
  level            text default 'info'::text not null
  line             text not null
  constraint level_is_known CHECK ((level = ANY (ARRAY['info'::text, 'warn'::text, 'error'::text])))
  constraint line_is_at_most_4000_characters CHECK ((length(line) <= 4000))
  INDEX log_lines_rest_job_id_id_idx ON holdfast.log_lines_rest USING btree (job_id, id)

table holdfast.migrations
  number           integer not null
  name             text not null
  checksum         text not null
  applied_at       timestamp with time zone default now() not null
  constraint migrations_pkey PRIMARY KEY (number)

table holdfast.moves
  job_id           uuid not null
  at               timestamp with time zone not null
  move             text not null
  actor            text not null
  why              text
  before           jsonb not null
  after            jsonb not null
  constraint move_is_known CHECK ((move = ANY (ARRAY['set_priority'::text, 'reschedule'::text, 'run_now'::text, 'replay'::text, 'replace'::text, 'debounce'::text])))
  INDEX moves_of_job ON holdfast.moves USING btree (job_id, at)

table holdfast.notes
  id               uuid not null
  at               timestamp with time zone not null
  constraint notes_pkey PRIMARY KEY (id)

table holdfast.progress
  job_id           uuid not null
  attempt          smallint not null
  fraction         real not null
  note             text
  at               timestamp with time zone not null
  constraint note_is_at_most_500_characters CHECK ((length(note) <= 500))
  constraint progress_is_0_to_1 CHECK (((fraction >= (0)::double precision) AND (fraction <= (1)::double precision)))
  constraint progress_pkey PRIMARY KEY (job_id)
  with fillfactor=60, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000

table holdfast.queue
  seq              bigint default nextval('holdfast.queue_seq'::regclass) not null
  ready_at         timestamp with time zone not null
  job_id           uuid not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  attempt          smallint not null
  pass             smallint default 0 not null
  lease_id         bigint
  UNIQUE INDEX queue_by_job ON holdfast.queue USING btree (job_id)
  UNIQUE INDEX queue_claim ON holdfast.queue USING btree (lane_id, priority, seq, type_id)
  with fillfactor=40, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.2

table holdfast.roles
  name             text not null
  permissions      text[] not null
  built_in         boolean default false not null
  constraint permissions_are_known CHECK ((permissions <@ ARRAY['jobs:read'::text, 'jobs:enqueue'::text, 'jobs:cancel'::text, 'jobs:work'::text, 'workers:view'::text, 'workers:manage'::text, 'dlq:manage'::text, 'admin'::text]))
  constraint role_name_is_short CHECK ((name ~ '^[a-z][a-z0-9_-]{0,62}$'::text))
  constraint roles_pkey PRIMARY KEY (name)

table holdfast.sessions
  hash             bytea not null
  key_id           integer
  created_at       timestamp with time zone default holdfast.now() not null
  expires_at       timestamp with time zone not null
  constraint session_hash_is_sha_256 CHECK ((octet_length(hash) = 32))
  constraint sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES holdfast.api_keys(id)
  constraint sessions_pkey PRIMARY KEY (hash)
  INDEX sessions_expired ON holdfast.sessions USING btree (expires_at)
  INDEX sessions_of_key ON holdfast.sessions USING btree (key_id, created_at)

table holdfast.sleepers
  lane_id          smallint not null
  worker_id        integer not null
  constraint sleepers_pkey PRIMARY KEY (lane_id, worker_id)

table holdfast.starts
  type_id          integer not null
  concurrency_key  text not null
  at               timestamp with time zone not null
  INDEX starts_of_key ON holdfast.starts USING btree (type_id, concurrency_key, at)
  INDEX starts_of_type ON holdfast.starts USING btree (type_id, at)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.tallies
  type_id          integer not null
  at               timestamp with time zone not null
  worker_id        integer not null
  good             integer not null
  bad              integer not null
  lost             integer
  constraint tallies_pkey PRIMARY KEY (type_id, at, worker_id)
  with fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.totals
  type_id          integer not null
  completed        bigint default 0 not null
  failed           bigint default 0 not null
  lost             bigint default 0 not null
  dead             bigint default 0 not null
  cancelled        bigint default 0 not null
  replayed         bigint default 0 not null
  late             bigint default 0 not null
  constraint totals_pkey PRIMARY KEY (type_id)

table holdfast.types
  id               integer generated always as identity not null
  name             text not null
  lane_id          smallint not null
  defined_lane     smallint
  priority         smallint default 5 not null
  max_attempts     smallint default 5 not null
  timeout_ms       integer default 300000 not null
  uniqueness       jsonb
  registered_at    timestamp with time zone default holdfast.now() not null
  left_lanes       smallint[] default '{}'::smallint[] not null
  left_at          timestamp with time zone
  left_in          xid8
  gated            boolean default false not null
  approval         jsonb
  sensitive        boolean default false not null
  encrypted        boolean default false not null
  redact           jsonb
  backoff          jsonb
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint timeout_is_positive CHECK ((timeout_ms > 0))
  constraint type_name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 200)))
  constraint types_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES holdfast.lanes(id)
  constraint types_name UNIQUE (name)
  constraint types_pkey PRIMARY KEY (id)
  INDEX types_gated ON holdfast.types USING btree (id) WHERE gated

table holdfast.uniques
  type_id          integer not null
  key              text not null
  job_id           uuid not null
  next_job_id      uuid
  taken_at         timestamp with time zone not null
  kept_until       timestamp with time zone not null
  constraint key_is_at_most_510_characters CHECK (((length(key) >= 1) AND (length(key) <= 510)))
  constraint uniques_once PRIMARY KEY (type_id, key)
  INDEX uniques_by_job ON holdfast.uniques USING btree (job_id)

table holdfast.waiting
  job_id           uuid not null
  due_at           timestamp with time zone not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  attempt          smallint not null
  status           text not null
  constraint waiting_by_job PRIMARY KEY (job_id)
  constraint waiting_has_a_reason CHECK ((status = ANY (ARRAY['scheduled'::text, 'failed'::text, 'awaiting_approval'::text])))
  INDEX waiting_due_first ON holdfast.waiting USING btree (due_at)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0

table holdfast.workers
  id               integer generated always as identity not null
  name             text not null
  host             text not null
  pid              integer not null
  version          text not null
  types            integer[] default '{}'::integer[] not null
  started_at       timestamp with time zone default holdfast.now() not null
  seen_at          timestamp with time zone default holdfast.now() not null
  stopped_at       timestamp with time zone
  token_hash       bytea
  drain_asked_at   timestamp with time zone
  drain_asked_by   text
  drain_asked_why  text
  constraint hash_has_32_bytes CHECK ((octet_length(token_hash) = 32))
  constraint workers_pkey PRIMARY KEY (id)

function holdfast.acting(p_by text, p_origin text)
  returns text, plpgsql, volatile, parallel unsafe
begin
  perform set_config('holdfast.origin', coalesce(p_origin, ''), true);
  return coalesce(p_by, session_user);
end 

function holdfast.add_alert_target(p_url text, p_secret text, p_rules text[], p_by text, p_why text)
  returns integer, plpgsql, volatile, parallel unsafe
declare
  v_unknown text := (select min(n) from unnest(p_rules) as n where n not in (select r.name from holdfast.alert_rules as r));
  v_target holdfast.alert_targets;
begin
  if v_unknown is not null then
    raise exception 'there is no rule "%"', v_unknown using errcode = 'HF002',
      hint = (select 'There are ' || string_agg(r.name, ', ' order by r.name) || '.' from holdfast.alert_rules as r);
  end if;
  insert into holdfast.types (name, lane_id, defined_lane, priority, max_attempts, timeout_ms, backoff)
  select 'holdfast:alert', l.id, l.id, 9, 10, 30000, '{"base": 10000, "factor": 3, "cap": 3600000, "jitter": 5000}'
  from holdfast.lanes as l where l.name = 'system' on conflict do nothing;
  insert into holdfast.alert_targets (url, secret, rules, created_by) values (p_url, p_secret, p_rules, p_by) returning * into v_target;
  perform holdfast.audit('add_alert_target', v_target.id::text, null, holdfast.target_facts(v_target), p_by, p_why);
  return v_target.id;
end 

function holdfast.admit_ahead()
  returns integer, sql, immutable, parallel unsafe
select 200

function holdfast.admit_by_turn(p_gate holdfast.gates, p_limit integer, OUT admitted integer, OUT next_at timestamp with time zone)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_key holdfast.keys;
  v_job uuid;
  v_turn double precision := p_gate.turn;
  v_running integer;
  v_started integer;
  v_first timestamptz;
begin
  admitted := 0;
  with came as (
    delete from holdfast.arrivals as a where a.type_id = p_gate.type_id returning a.concurrency_key
  )
  insert into holdfast.keys as k (type_id, concurrency_key, turn, active)
  select distinct p_gate.type_id, c.concurrency_key, p_gate.turn, true from came as c order by 2
  on conflict (type_id, concurrency_key) do update
    set active = true, full_now = false,
        turn = case when k.active and not k.full_now then k.turn else greatest(k.turn, excluded.turn) end
    where not k.active or k.full_now;
  -- Time at rest earns no turns: a key would come back with a right to run alone until it has caught up.
  update holdfast.keys as k set rests_until = null, turn = greatest(k.turn, p_gate.turn)
  where k.type_id = p_gate.type_id and k.rests_until <= v_now;

  while admitted < p_limit loop
    select * into v_key from holdfast.keys as k
    where k.type_id = p_gate.type_id and k.active and not k.full_now and k.rests_until is null and k.paused_at is null
    order by k.turn limit 1;
    exit when not found;

    -- The empty key stands for jobs without one: no limit per key is meant for them.
    if v_key.concurrency_key <> '' then
      select count(*), (select count(*) from holdfast.starts as s where s.type_id = v_key.type_id
                          and s.concurrency_key = v_key.concurrency_key and s.at > v_now - holdfast.rate_window(p_gate.key_rate_per))
                       + count(*) filter (where h.lease_id is null),
             (select min(s.at) from holdfast.starts as s where s.type_id = v_key.type_id
                and s.concurrency_key = v_key.concurrency_key and s.at > v_now - holdfast.rate_window(p_gate.key_rate_per))
      into v_running, v_started, v_first
      from holdfast.held as h where h.type_id = v_key.type_id and h.concurrency_key = v_key.concurrency_key;
      if v_running >= p_gate.key_max_running then
        update holdfast.keys set full_now = true
        where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
        continue;
      elsif v_started >= p_gate.key_rate_count then
        -- Without a start to wait for, the rate is taken up by jobs that are about to start.
        update holdfast.keys set rests_until = coalesce(v_first + holdfast.rate_window(p_gate.key_rate_per), v_now + interval '200 milliseconds')
        where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
        continue;
      end if;
    end if;

    select g.job_id into v_job from holdfast.gated as g
    where g.type_id = v_key.type_id and g.concurrency_key = v_key.concurrency_key order by g.rank, g.job_id limit 1 for update skip locked;
    if not found then
      -- A job that is locked is being replaced in somebody's transaction: the gate does not wait for that.
      update holdfast.keys as k set active = w.waits, rests_until = case when w.waits then v_now + interval '200 milliseconds' end
      from (select exists (select from holdfast.gated as g where g.type_id = v_key.type_id
                             and g.concurrency_key = v_key.concurrency_key) as waits) as w
      where k.type_id = v_key.type_id and k.concurrency_key = v_key.concurrency_key;
      continue;
    end if;
    perform holdfast.let_through(array[v_job], 1);
    v_turn := v_key.turn;
    update holdfast.keys set turn = turn + 1 / weight
    where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
    admitted := admitted + 1;
  end loop;

  if v_turn > p_gate.turn then
    update holdfast.gates set turn = v_turn where type_id = p_gate.type_id;
  end if;
  select min(k.rests_until) into next_at from holdfast.keys as k
  where k.type_id = p_gate.type_id and k.rests_until is not null and k.paused_at is null;
end 

function holdfast.admit_in_order(p_type integer, p_limit integer, p_pass integer)
  returns integer, plpgsql, volatile, parallel unsafe
declare
  v_jobs uuid[];
begin
  v_jobs := array(select g.job_id from holdfast.gated as g where g.type_id = p_type order by g.rank, g.job_id limit p_limit for update skip locked);
  perform holdfast.let_through(v_jobs, p_pass);
  return cardinality(v_jobs);
end 

function holdfast.admit_type(p_type integer, p_wait boolean)
  returns timestamp with time zone, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_gate holdfast.gates;
  v_probe boolean := false;
  v_running integer;
  v_ahead integer;
  v_started integer;
  v_first timestamptz;
  v_want integer;
  v_next timestamptz;
  v_admitted integer;
begin
  if not exists (select from holdfast.gated as j where j.type_id = p_type) then
    perform holdfast.drop_gate_if_open(p_type);
    return null;
  end if;
  if p_wait then
    select * into v_gate from holdfast.gates as g where g.type_id = p_type for update;
  else
    select * into v_gate from holdfast.gates as g where g.type_id = p_type for update skip locked;
  end if;
  if not found or v_gate.paused_at is not null or v_gate.breaker_hold = 'open' then
    return null;
  end if;
  if v_gate.stopped_until > v_now then
    return v_gate.stopped_until;
  end if;
  if v_gate.breaker_opened_at is not null and v_gate.breaker_hold = 'auto' then
    if v_gate.breaker_probe_at > v_now then
      return v_gate.breaker_probe_at;
    end if;
    -- A probe that nobody has claimed yet, since its lane is full or no worker there, is still to come.
    if exists (select from holdfast.held as h join holdfast.queue as q on q.job_id = h.job_id
               where h.type_id = p_type and h.lease_id is null and q.pass = 2) then
      return null;
    end if;
    v_probe := true;
  end if;

  -- One statement, one snapshot: a job that is just being claimed counts as waiting or as started, never as neither.
  select count(*), count(*) filter (where h.lease_id is null),
         (select count(*) from holdfast.starts as s where s.type_id = p_type and s.at > v_now - holdfast.rate_window(v_gate.rate_per)),
         (select min(s.at) from holdfast.starts as s where s.type_id = p_type and s.at > v_now - holdfast.rate_window(v_gate.rate_per))
  into v_running, v_ahead, v_started, v_first
  from holdfast.held as h where h.type_id = p_type;

  v_want := case when v_probe then 1 else holdfast.admit_ahead() - v_ahead end;
  v_want := least(v_want, v_gate.max_running - v_running);
  if v_gate.rate_count is not null then
    v_want := least(v_want, v_gate.rate_count - v_started - v_ahead);
    v_next := v_first + holdfast.rate_window(v_gate.rate_per);
  end if;
  delete from holdfast.starts where type_id = p_type and at < v_now - holdfast.rate_window(greatest(v_gate.rate_per, v_gate.key_rate_per));
  if v_want <= 0 then
    return v_next;
  end if;

  if v_gate.keyed and not v_probe then
    select a.admitted, least(v_next, a.next_at) into v_admitted, v_next from holdfast.admit_by_turn(v_gate, v_want) as a;
  else
    if not v_gate.keyed then
      -- Nobody else reads these where keys are not told apart; should that change, review_gate looks at the jobs themselves.
      delete from holdfast.arrivals where type_id = p_type;
    end if;
    v_admitted := holdfast.admit_in_order(p_type, v_want, case when v_probe then 2 else 1 end);
  end if;

  if v_probe and v_admitted > 0 then
    v_next := v_now + v_gate.breaker_probe;
    update holdfast.gates set breaker_probe_at = v_next where type_id = p_type;
  end if;
  return v_next;
end 

function holdfast.admit_waiting()
  returns timestamp with time zone, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_type integer;
  v_next timestamptz;
  v_any boolean := false;
begin
  for v_type in
    select g.type_id from holdfast.gates as g
    where exists (select from holdfast.gated as j where j.type_id = g.type_id) order by g.type_id
  loop
    v_any := true;
    v_next := least(v_next, holdfast.admit_type(v_type, false));
  end loop;
  return case when v_any then least(v_next, holdfast.now() + interval '500 milliseconds') end;
end 

function holdfast.admitted_ahead(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_limit integer)
  returns boolean, plpgsql, volatile, parallel unsafe
begin
  return exists (
    select from (
      select q.pass from holdfast.queue as q
      where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
        and (p_types is null or q.type_id = any (p_types))
      order by q.seq limit p_limit
    ) as near where near.pass > 0);
end 

function holdfast.admitted_not_running(p_type integer, p_key text)
  returns TABLE(job_id uuid), sql, stable, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
  select q.job_id from holdfast.held as h join holdfast.queue as q on q.job_id = h.job_id
  where h.type_id = p_type and (p_key is null or h.concurrency_key = p_key) and h.lease_id is null
    and q.lease_id is null and q.pass = 1

function holdfast.announce(p_state text, p_rule text, p_subject text, p_value double precision, p_since timestamp with time zone)
  returns void, plpgsql, volatile, parallel unsafe
begin
  if p_subject = 'holdfast:alert' then
    return;
  end if;
  perform holdfast.enqueue('holdfast:alert', jsonb_build_object(
    'target', t.id, 'state', p_state, 'rule', r.name, 'kind', r.kind, 'threshold', r.threshold, 'subject', p_subject,
    'value', p_value, 'since', p_since, 'at', holdfast.now()))
  from holdfast.alert_targets as t join holdfast.alert_rules as r on r.name = p_rule
  where t.rules is null or p_rule = any (t.rules)
  order by t.id;
end 

function holdfast.any_free(p_types integer[])
  returns boolean, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_sort=off, jit=off, plan_cache_mode=force_generic_plan
begin
  return exists (
    select from holdfast.lanes as l
    cross join lateral (
      select from holdfast.queue as q where q.lane_id = l.id and q.lease_id is null and q.type_id = any (p_types) limit 1
    ) as free
    where l.enabled
      and exists (select from holdfast.types as t where t.id = any (p_types) and l.id = any (t.left_lanes || t.lane_id)));
end 

function holdfast.any_lease_expired()
  returns boolean, plpgsql, volatile, parallel unsafe
begin
  return coalesce((select l.expires_at < holdfast.now() from holdfast.leases as l order by l.expires_at limit 1), false);
end 

function holdfast.apply_deadlines(p_jobs uuid[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_approve uuid[] := array(select r.job_id from holdfast.approval_requests as r where r.job_id = any (p_jobs) and r.on_deadline = 'approve');
begin
  insert into holdfast.approvals (job_id, actor, verdict, comment, at)
  select j, 'holdfast', case when j = any (v_approve) then 'approve' else 'reject' end, 'nobody had decided by the deadline', holdfast.now()
  from unnest(p_jobs) as j on conflict do nothing;
  if v_approve <> '{}' then
    perform holdfast.release_approved(v_approve);
  end if;
  perform holdfast.end_unapproved(array(select j from unnest(p_jobs) as j where j <> all (v_approve)),
    'NotApproved', 'not approved by its deadline', 'holdfast', 'nobody had decided by the deadline');
end 

function holdfast.approval_rule(p_type jsonb, p_asked jsonb)
  returns jsonb, sql, immutable, parallel unsafe
  select case when p_type is null then p_asked when p_asked is null then p_type else jsonb_strip_nulls(jsonb_build_object(
    'quorum', greatest((p_type ->> 'quorum')::integer, (p_asked ->> 'quorum')::integer),
    'deadline_ms', least((p_type ->> 'deadline_ms')::double precision, (p_asked ->> 'deadline_ms')::double precision),
    'on_deadline', case when 'cancel' in (p_type ->> 'on_deadline', p_asked ->> 'on_deadline') then 'cancel' else 'approve' end
  )) end

function holdfast.ask_again(p_job uuid, p_same boolean, p_asked jsonb, p_run_at timestamp with time zone)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_old holdfast.approval_requests;
  v_rule jsonb;
begin
  select * into v_old from holdfast.approval_requests as r where r.job_id = p_job;
  v_rule := holdfast.approval_rule(
    case when found then jsonb_build_object('quorum', v_old.quorum, 'on_deadline', v_old.on_deadline) end, p_asked);
  if v_rule is null then
    return false;
  elsif p_same and v_old.quorum >= (v_rule ->> 'quorum')::smallint and v_old.on_deadline = v_rule ->> 'on_deadline' then
    update holdfast.approval_requests as r set run_at = p_run_at where r.job_id = p_job;
    return false;
  end if;
  delete from holdfast.approvals as a where a.job_id = p_job;
  insert into holdfast.approval_requests as r (job_id, quorum, deadline, on_deadline, run_at)
  -- Where the newcomer names no deadline, one that cancels is kept. One that approves is not: nobody has seen this payload.
  values (p_job, (v_rule ->> 'quorum')::smallint,
          coalesce(v_now + (p_asked ->> 'deadline_ms')::double precision * interval '1 millisecond',
                   case when v_rule ->> 'on_deadline' = 'cancel' and v_old.deadline > v_now then v_old.deadline end),
          v_rule ->> 'on_deadline', p_run_at)
  on conflict (job_id) do update
    set quorum = excluded.quorum, deadline = excluded.deadline, on_deadline = excluded.on_deadline, run_at = excluded.run_at;
  return true;
end 

function holdfast.audit(p_action text, p_target text, p_before jsonb, p_after jsonb, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_changed text[];
begin
  if p_before is not null and p_after is not null then
    v_changed := array(select k from jsonb_object_keys(p_before || p_after) as k where p_before -> k is distinct from p_after -> k);
    if v_changed = '{}' then
      return;
    end if;
    p_before := (select jsonb_object_agg(k, p_before -> k) from unnest(v_changed) as k);
    p_after := (select jsonb_object_agg(k, p_after -> k) from unnest(v_changed) as k);
  end if;
  insert into holdfast.audit_log (at, actor, origin, action, target, before, after, why)
  values (holdfast.now(), coalesce(p_by, session_user), nullif(current_setting('holdfast.origin', true), ''), p_action, p_target,
          p_before, p_after, p_why);
end 

function holdfast.audit_moves(p_move text, p_moved holdfast.moved[], p_after jsonb, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_done holdfast.moved[] := array(select m from unnest(p_moved) as m where m.done);
  v_before jsonb;
begin
  if cardinality(v_done) = 1 then
    v_before := jsonb_build_object('status', v_done[1].was);
    if p_after is not null then
      -- Payloads stand with the job, which is forgotten one day; this log is not.
      v_before := v_before || coalesce((select m.before - 'payload' from holdfast.moves as m where m.job_id = v_done[1].job_id order by m.at desc limit 1), '{}');
    end if;
    perform holdfast.audit(p_move || '_job', v_done[1].job_id::text, v_before,
      jsonb_build_object('status', v_done[1].status) || coalesce(p_after, '{}'), p_by, p_why);
  elsif cardinality(v_done) > 1 then
    perform holdfast.audit(p_move || '_jobs', format('%s jobs', cardinality(v_done)), null,
      coalesce(p_after, '{}') || jsonb_build_object('jobs', (select jsonb_agg(m.job_id) from unnest(v_done) as m)), p_by, p_why);
  end if;
end 

function holdfast.bring_strays(p_limit integer)
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_over xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_type holdfast.types;
  v_moved integer;
  v_total integer := 0;
begin
  for v_type in select * from holdfast.types as t where t.left_lanes <> '{}' order by t.id loop
    v_moved := holdfast.move_jobs_to_lane(v_type.name, p_limit);
    v_total := v_total + v_moved;
    update holdfast.types as t set left_lanes = '{}', left_at = null, left_in = null
    where t.id = v_type.id and v_moved = 0 and t.left_in = v_type.left_in and t.left_in < v_over
      and t.left_at < holdfast.now() - interval '1 hour'
      and not exists (select from holdfast.queue as q where q.type_id = t.id and q.lane_id = any (t.left_lanes) and q.lease_id is null);
  end loop;
  return v_total;
end 

function holdfast.cancel_jobs(p_jobs uuid[], p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_error constant jsonb := jsonb_build_object('name', 'Cancelled', 'message', concat_ws(': ', 'cancelled by ' || p_by, p_why),
                                               'by', p_by, 'why', p_why);
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_workers integer[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, e.worker_id, e.claimed_at from holdfast.where_jobs_stand(v_live) as s left join holdfast.leases as e on e.id = s.lease_id
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
    select s.job_id, v_now, s.claimed_at, s.worker_id, 'cancelled', s.attempt, holdfast.lease_mark(s.lease_id), v_error from stood as s
  ), stopping as (
    insert into holdfast.cancellations (job_id, lease_id) select s.job_id, s.lease_id from stood as s where s.lease_id is not null
  ), counted as (
    insert into holdfast.happenings (type_id, what, count) select s.type_id, 'cancelled', count(*) from stood as s group by s.type_id
  )
  select array_agg(row (s.job_id, true, s.status, 'cancelled', null)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id) filter (where s.place = 'queue'), array_agg(distinct s.worker_id) filter (where s.worker_id is not null)
  into v_moved, v_lanes, v_workers from stood as s;
  perform holdfast.leave_queue(v_live);
  delete from holdfast.queue as q where q.job_id = any (v_live);
  delete from holdfast.waiting as w where w.job_id = any (v_live);
  delete from holdfast.gated as g where g.job_id = any (v_live);
  delete from holdfast.following as f where f.job_id = any (v_live);
  perform holdfast.start_followers(v_live);
  -- The worker would hear of it with its next heartbeat; the call only makes that come at once.
  perform pg_notify('holdfast_worker_' || w.id, '') from unnest(v_workers) as w (id);
  perform holdfast.wake_lanes(v_lanes, false);
  perform holdfast.audit_moves('cancel', v_moved, null, p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.cancelled_under(p_lease bigint)
  returns uuid[], sql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
 select array(select c.job_id from holdfast.cancellations as c where c.lease_id = p_lease) 

function holdfast.check_leader()
  returns trigger, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_place text := (select w.place from holdfast.whereabouts(new.follows) as w);
begin
  case v_place
    when 'queue' then perform from holdfast.queue as q where q.job_id = new.follows for update skip locked;
    when 'waiting' then perform from holdfast.waiting as w where w.job_id = new.follows for update skip locked;
    when 'gated' then perform from holdfast.gated as g where g.job_id = new.follows for update skip locked;
    when 'stopping' then perform from holdfast.cancellations as c where c.job_id = new.follows for update skip locked;
    else
      perform holdfast.start_followers(array[new.follows]);
      return null;
  end case;
  if not found then
    update holdfast.following as f set unsure = true where f.job_id = new.job_id;
    perform holdfast.wake_lanes(array[new.lane_id], true);
  end if;
  return null;
end 

function holdfast.check_types(p_types text[], OUT has_unique boolean, OUT all_plain boolean, OUT any_encrypted boolean)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_missing text;
  v_known text;
begin
  select min(coalesce(asked.name, '')) filter (where t.id is null), coalesce(bool_or(t.uniqueness is not null), false),
         coalesce(bool_and(t.uniqueness is null and t.approval is null and not t.gated), false), coalesce(bool_or(t.encrypted), false)
  into v_missing, has_unique, all_plain, any_encrypted
  from (select distinct unnest(p_types) as name) as asked left join holdfast.types as t on t.name = asked.name;
  if v_missing is null then
    return;
  end if;
  select string_agg(near.name, ', ') into v_known
  from (select t.name from holdfast.types as t order by abs(length(t.name) - length(v_missing)), t.name limit 100) as near;
  raise exception 'no job type named "%" is registered', v_missing using errcode = 'HF001', detail = coalesce(v_known, '');
end 

function holdfast.claim_jobs(p_worker integer, p_lane smallint, p_types integer[], p_limit integer, p_lease_ms integer, p_after bigint[], p_gated integer DEFAULT NULL::integer, OUT lease bigint, OUT ids uuid[], OUT seqs bigint[], OUT types integer[], OUT priorities smallint[], OUT attempts smallint[], OUT maxes smallint[], OUT created double precision[], OUT payloads text, OUT gated uuid[], OUT traces jsonb)
  returns record, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_sort=off, enable_hashjoin=on, enable_nestloop=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_after bigint[] := p_after;
  v_enabled boolean;
  v_step interval;
  v_slots integer;
  v_gated integer[];
  v_aside integer := 0;
  v_ranks timestamptz[];
  v_best integer;
  v_lead interval;
  v_chunk integer;
  v_rows tid[];
  v_jobs uuid[];
  v_last bigint;
  v_found integer;
  v_look boolean;
  v_admitted boolean;
  v_passed boolean := false;
  v_all tid[] := '{}';
  v_all_jobs uuid[];
  v_first uuid;
  v_latest uuid;
  v_left integer := p_limit;
begin
  -- Whoever sets a limit waits until no claim is under way that does not know of it; what is read below is read after that.
  perform pg_advisory_xact_lock_shared(holdfast.claims_lock());
  select l.enabled, l.ageing, l.slots, array(select t.id from holdfast.types as t where t.gated),
         p_gated is not null and exists (select from holdfast.held as h where h.lease_id is null and h.type_id = any (array(
           select t.id from holdfast.types as t where t.gated and t.lane_id = p_lane and (p_types is null or t.id = any (p_types)))))
  into v_enabled, v_step, v_slots, v_gated, v_admitted from holdfast.lanes as l where l.id = p_lane;
  if v_slots is not null then
    -- Read again: whoever had the row may have changed it.
    select l.enabled, l.ageing, l.slots into v_enabled, v_step, v_slots from holdfast.lanes as l where l.id = p_lane for update;
    v_left := least(v_left, v_slots - (select count(*) from holdfast.lane_slots as s where s.lane_id = p_lane));
  end if;
  if not v_enabled then
    return;
  end if;

  -- The age-adjusted head of every priority, unlocked: a hint for the order, nothing more.
  select array_agg(head.rank order by p.priority) into v_ranks
  from generate_series(0, 9) as p (priority)
  left join lateral (
    select q.ready_at - p.priority * v_step as rank from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p.priority and q.seq > v_after[p.priority + 1] and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  ) as head on true;

  while v_left > 0 loop
    v_best := null;
    v_lead := null;
    for p in reverse 9..0 loop
      if v_ranks[p + 1] is not null then
        if v_best is null or v_ranks[p + 1] < v_ranks[v_best + 1] then
          v_lead := v_ranks[v_best + 1] - v_ranks[p + 1];
          v_best := p;
        else
          v_lead := least(v_lead, v_ranks[p + 1] - v_ranks[v_best + 1]);
        end if;
      end if;
    end loop;
    exit when v_best is null;

    -- Where the next priority is close behind, take half and look again; where it is far behind, take what is asked. Once
    -- jobs had to be moved aside, many are read at a time: the rest of them stands in the way of every other claim too.
    v_chunk := case when v_aside > 0 then greatest(v_left, 500) when v_lead < v_step then (v_left + 1) / 2 else v_left end;
    if v_admitted and holdfast.admitted_ahead(p_lane, v_best::smallint, p_types, v_after[v_best + 1], v_chunk) then
      select l.rows, l.jobs, l.last_seq, true, l.gated_left into v_rows, v_jobs, v_last, v_look, p_gated
      from holdfast.lock_startable(p_lane, v_best::smallint, p_types, v_after[v_best + 1], v_chunk, p_gated) as l;
    else
      select array_agg(free.ctid), array_agg(free.job_id order by free.job_id), max(free.seq),
             bool_or(free.pass > 0 or free.type_id = any (v_gated))
      into v_rows, v_jobs, v_last, v_look
      from (
        select q.ctid, q.job_id, q.seq, q.pass, q.type_id from holdfast.queue as q
        where q.lane_id = p_lane and q.priority = v_best and q.seq > v_after[v_best + 1] and q.lease_id is null
          and (p_types is null or q.type_id = any (p_types))
        order by q.seq limit v_chunk
        for update skip locked
      ) as free;
    end if;

    if v_rows is null then
      v_ranks[v_best + 1] := null;
      continue;
    end if;
    v_after[v_best + 1] := v_last;
    v_found := cardinality(v_rows);
    if v_look then
      v_passed := true;
      v_rows := holdfast.move_aside(v_rows, v_gated);
      v_aside := v_aside + v_found - cardinality(v_rows);
    end if;
    v_all := v_all || v_rows[1 : v_left];
    -- Also of those that are not taken: only a list of what to read. The first and the last tell in which days.
    v_all_jobs := v_all_jobs || v_jobs;
    v_first := least(v_first, v_jobs[1]);
    v_latest := greatest(v_latest, v_jobs[v_found]);
    v_left := v_left - least(v_left, cardinality(v_rows));
    exit when v_left <= 0 or v_aside > 2000 or p_gated = 0;
    v_ranks[v_best + 1] := case when v_found < v_chunk then null
      else holdfast.head_rank(p_lane, v_best::smallint, p_types, v_last, v_step) end;
  end loop;

  if v_aside > 2000 or (p_gated = 0 and v_aside > 0) then
    -- It stopped in the middle, and there may be jobs to claim behind: to be looked at again at once, not after a rest.
    perform holdfast.wake_lanes(array[p_lane], true);
  end if;
  if v_all = '{}' then
    return;
  end if;

  lease := nextval('holdfast.lease_seq');
  with claimed as (
    update holdfast.queue as q set lease_id = lease where q.ctid = any (v_all)
    returning q.job_id, q.seq, q.type_id, q.priority, q.attempt, q.pass
  ), leased as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select lease, p_worker, v_now, v_now + p_lease_ms * interval '1 millisecond', array_agg(c.job_id)
    from claimed as c
  )
  select array_agg(j.job_id), array_agg(j.seq), array_agg(j.type_id), array_agg(j.priority), array_agg(j.attempt),
         array_agg(j.max_attempts), array_agg(date_part('epoch', j.created_at) * 1000),
         string_agg(coalesce(j.payload::text, ''), U&'\001F'), array_agg(j.job_id) filter (where j.pass > 0),
         jsonb_object_agg(j.job_id, j.traceparent) filter (where j.traceparent is not null)
  into ids, seqs, types, priorities, attempts, maxes, created, payloads, gated, traces
  from (
    select c.*, b.max_attempts, b.created_at, b.payload, b.traceparent
    from claimed as c left join holdfast.bodies as b
      on b.id = c.job_id and b.id = any (v_all_jobs) and b.id >= v_first and b.id <= v_latest
    order by c.priority desc, c.seq
  ) as j;

  if v_slots is not null then
    insert into holdfast.lane_slots (job_id, lane_id)
    select unnest(l.jobs), p_lane from holdfast.leases as l where l.id = lease
    on conflict on constraint lane_slots_pkey do nothing;
  end if;
  if v_passed then
    perform holdfast.count_starts(lease);
  end if;
end 

function holdfast.claims_lock()
  returns bigint, sql, immutable, parallel safe
 select hashtextextended('holdfast.claims', 0) 

function holdfast.close_breaker(p_type integer, p_reason text)
  returns void, plpgsql, volatile, parallel unsafe
begin
  update holdfast.gates
  set breaker_opened_at = null, breaker_probe_at = null, breaker_reason = p_reason, breaker_since = holdfast.now()
  where type_id = p_type and breaker_opened_at is not null;
end 

function holdfast.close_empty_leases(p_worker integer, p_leases bigint[])
  returns void, sql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
  delete from holdfast.leases where id = any (array(
    select l.id from holdfast.leases as l
    where l.id = any (p_leases) and l.worker_id = p_worker
      and not exists (select from holdfast.queue as q where q.job_id = any (l.jobs) and q.lease_id = l.id)
      and not exists (select from holdfast.cancellations as c where c.lease_id = l.id)
    for update skip locked))

function holdfast.count_running(p_type integer)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, lock_timeout=5s
begin
  with running as materialized (
    select q.ctid as place from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
    join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id
    where q.type_id = p_type and q.pass = 0 for update of q
  ), counted as (
    update holdfast.queue as q set pass = 1 where q.ctid = any (array(select r.place from running as r))
    returning q.job_id, q.lease_id
  )
  insert into holdfast.held (job_id, type_id, concurrency_key, lease_id)
  select c.job_id, p_type, coalesce(b.concurrency_key, ''), c.lease_id
  from counted as c left join holdfast.bodies as b on b.id = c.job_id
  on conflict (job_id) do nothing;
end 

function holdfast.count_running_in_lane(p_lane smallint)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
begin
  insert into holdfast.lane_slots (job_id, lane_id)
  select q.job_id, p_lane from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
  join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id and q.lane_id = p_lane
  on conflict do nothing;
  with stopping as materialized (
    select c.job_id from holdfast.cancellations as c join holdfast.bodies as b on b.id = c.job_id
    join holdfast.types as t on t.id = b.type_id where t.lane_id = p_lane for update of c skip locked
  )
  insert into holdfast.lane_slots (job_id, lane_id) select s.job_id, p_lane from stopping as s on conflict do nothing;
end 

function holdfast.count_starts(p_lease bigint)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, enable_nestloop=on, jit=off, plan_cache_mode=force_generic_plan
declare
  v_types integer[];
begin
  with passed as (
    select q.job_id, q.type_id from holdfast.queue as q
    where q.job_id = any (array(select unnest(l.jobs) from holdfast.leases as l where l.id = p_lease)) and q.pass > 0
  ), begun as (
    update holdfast.held as h set lease_id = p_lease from passed as p where h.job_id = p.job_id
    returning h.type_id, h.concurrency_key
  ), counted as (
    insert into holdfast.starts (type_id, concurrency_key, at)
    -- The clock is read here: the claim may have waited for its lane meanwhile, and starts now.
    select b.type_id, b.concurrency_key, holdfast.now() from begun as b join holdfast.gates as g on g.type_id = b.type_id
    where g.rate_count is not null or g.key_rate_count is not null
  )
  select array_agg(distinct p.type_id) into v_types from passed as p;
  perform holdfast.admit_type(t.id, false) from unnest(v_types) as t (id) order by t.id;
end 

function holdfast.crashes_before(p_job uuid)
  returns text[], sql, stable, parallel unsafe
  select coalesce(array_agg(format('attempt %s, %s: %s', h.attempt,
    to_char(h.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), h.error ->> 'message') order by h.ended_at), '{}')
  from holdfast.history as h where h.job_id = p_job and h.outcome in ('crashed', 'lease_expired')

function holdfast.create_key(p_service text, p_hash bytea, p_subject text, p_prefix text, p_roles text[], p_types text[], p_rate_limit integer, p_expires_ms double precision, p_by text, p_why text)
  returns integer, plpgsql, volatile, parallel unsafe
declare
  v_unknown text := (select min(r) from unnest(p_roles) as r where r not in (select name from holdfast.roles));
  v_id integer;
begin
  if v_unknown is not null then
    raise exception 'there is no role "%"', v_unknown using errcode = 'HF002',
      hint = (select 'There are ' || string_agg(r.name, ', ' order by r.name) || '.' from holdfast.roles as r);
  end if;
  perform pg_advisory_xact_lock(hashtextextended('holdfast.keys.' || p_service, 0));
  -- After that of the service, always: so nobody waits in a circle.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.subjects.' || p_subject, 0)) where p_subject is not null;
  if exists (select from holdfast.api_keys as k where k.subject = p_subject and k.revoked_at is null) then
    raise exception 'a certificate of % stands for a service already', p_subject using errcode = 'HF006', hint = 'Revoke that first.';
  end if;
  if (select count(*) from holdfast.api_keys as k where k.service = p_service and k.revoked_at is null
        and (k.hash is null) = (p_hash is null)
        and (k.expires_at is null or k.expires_at > holdfast.now())) >= 2 then
    raise exception '% has two % already', p_service, case when p_hash is null then 'certificates' else 'keys' end using errcode = 'HF006', hint = 'Revoke one of them first.';
  end if;
  insert into holdfast.api_keys (service, hash, subject, prefix, roles, types, rate_limit, expires_at, created_by)
  values (p_service, p_hash, p_subject, p_prefix, p_roles, p_types, p_rate_limit, holdfast.now() + p_expires_ms * interval '1 millisecond', p_by)
  returning id into v_id;
  perform holdfast.audit(case when p_hash is null then 'trust_certificate' else 'create_key' end, v_id::text, null, holdfast.key_facts(v_id), p_by, p_why);
  return v_id;
end 

function holdfast.decide_approval(p_job uuid, p_verdict text, p_by text, p_why text)
  returns TABLE(job_id uuid, done boolean, was text, status text, because text, approvals integer, quorum integer), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
#variable_conflict use_column
declare
  v_due timestamptz;
  v_request holdfast.approval_requests;
begin
  job_id := p_job;
  done := false;
  select w.due_at, w.status into v_due, was from holdfast.waiting as w
  where w.job_id = p_job and w.status = 'awaiting_approval' for update;
  -- Read under the lock: whoever replaces the job may ask for more.
  select r.* into v_request from holdfast.approval_requests as r where r.job_id = p_job;
  if v_due <= holdfast.now() then
    perform holdfast.apply_deadlines(array[p_job]);
    because := format('its deadline was %s', v_due);
  elsif was is null then
    select n.was, coalesce(n.because, 'it does not wait for approval') into was, because from holdfast.not_live(p_job) as n;
    because := case when was is not null then because end;
  elsif p_verdict = 'reject' then
    insert into holdfast.approvals (job_id, actor, verdict, comment, at) values (p_job, p_by, 'reject', p_why, holdfast.now())
    on conflict on constraint approvals_once do update set verdict = 'reject', comment = p_why, at = holdfast.now();
    perform holdfast.end_unapproved(array[p_job], 'Rejected', format('rejected by %s: %s', p_by, p_why), p_by, p_why);
    done := true;
  else
    insert into holdfast.approvals (job_id, actor, verdict, comment, at) values (p_job, p_by, 'approve', p_why, holdfast.now())
    on conflict do nothing;
    done := found;
    because := case when not done then format('%s has already approved it', p_by) end;
  end if;
  quorum := v_request.quorum;
  approvals := (select count(*) from holdfast.approvals as a where a.job_id = p_job and a.verdict = 'approve');
  if done and p_verdict = 'approve' and approvals >= quorum then
    perform holdfast.release_approved(array[p_job]);
  end if;
  status := (select j.status from holdfast.jobs as j where j.id = p_job);
  if done then
    perform holdfast.audit(p_verdict || '_job', p_job::text, jsonb_build_object('status', was, 'approvals', approvals - (p_verdict = 'approve')::integer),
                           jsonb_build_object('status', status, 'approvals', approvals), p_by, p_why);
  end if;
  return next;
end 

function holdfast.define_limits(p_types text[], p_limits jsonb[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type text;
  v_limits jsonb;
  v_before jsonb;
begin
  -- In the order in which a settle takes gates, so that the two wait for each other.
  for v_type, v_limits in
    select d.type, d.limits from unnest(p_types, p_limits) as d (type, limits) join holdfast.types as t on t.name = d.type order by t.id
  loop
    select g.defined into v_before from holdfast.gates as g join holdfast.types as t on t.id = g.type_id where t.name = v_type;
    continue when v_limits is not distinct from v_before;
    perform holdfast.set_limits(v_type, coalesce((
      select jsonb_object_agg(k.key, case k.key when 'fair' then 'false'::jsonb else 'null'::jsonb end)
      from jsonb_object_keys(v_before) as k (key) where k.key not like 'breaker%'), '{}') || coalesce(v_limits, '{}'));
    update holdfast.gates set defined = v_limits where type_id = holdfast.type_named(v_type);
  end loop;
end 

function holdfast.depths_under_limit(p_types text[])
  returns TABLE(scope text, name text, soft bigint, hard bigint, waiting bigint, age_ms double precision, oldest_ms double precision), sql, stable, parallel unsafe
  select m.scope, m.name, m.soft, m.hard, coalesce(sum(d.waiting), 0)::bigint,
         extract(epoch from holdfast.now() - min(d.oldest_at)) * 1000, extract(epoch from m.oldest) * 1000
  from holdfast.depth_limits as m
  left join (holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id join holdfast.depths as d on d.type_id = t.id)
    on m.scope = 'queue' or (m.scope = 'lane' and m.name = l.name) or (m.scope = 'type' and m.name = t.name)
  where m.scope = 'queue'
     or (m.scope = 'type' and m.name = any (p_types))
     or (m.scope = 'lane' and m.name in (
           select al.name from holdfast.types as a join holdfast.lanes as al on al.id = a.lane_id where a.name = any (p_types)))
  group by m.scope, m.name, m.soft, m.hard, m.oldest

function holdfast.discard_dead(p_jobs uuid[], p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_dead uuid[] := holdfast.lock_dead(p_jobs);
  v_moved holdfast.moved[];
begin
  if v_dead = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_dead(p_jobs[1]);
    return;
  end if;
  with gone as (
    delete from holdfast.dead_letters as d where d.job_id = any (v_dead) returning d.job_id, d.attempt
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, outcome, attempt, error)
    select g.job_id, holdfast.now(), 'discarded', g.attempt,
           jsonb_build_object('name', 'Discarded', 'message', concat_ws(': ', 'discarded by ' || p_by, p_why), 'by', p_by, 'why', p_why)
    from gone as g
  )
  select array_agg(row (g.job_id, true, 'dead', 'discarded', null)::holdfast.moved order by g.job_id) into v_moved from gone as g;
  perform holdfast.audit_moves('discard', v_moved, null, p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.drain_remote_worker(p_worker integer, p_by text, p_why text)
  returns boolean, plpgsql, volatile, parallel unsafe
begin
  update holdfast.workers set drain_asked_at = holdfast.now(), drain_asked_by = p_by, drain_asked_why = p_why
  where id = p_worker and token_hash is not null and stopped_at is null;
  if found then
    perform holdfast.audit('drain_worker', p_worker::text, null, null, p_by, p_why);
  end if;
  return found;
end 

function holdfast.drift_of_jobs(p_jobs uuid[])
  returns SETOF holdfast.drift, sql, stable, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
  select d.what, j.id, coalesce(q.type_id, h.type_id, f.type_id), coalesce(h.concurrency_key, b.concurrency_key, ''),
         coalesce(s.lane_id, q.lane_id, f.lane_id)
  from (select distinct unnest(p_jobs) as id) as j
  left join holdfast.queue as q on q.job_id = j.id
  left join holdfast.held as h on h.job_id = j.id
  left join holdfast.lane_slots as s on s.job_id = j.id
  left join holdfast.cancellations as c on c.job_id = j.id
  left join holdfast.following as f on f.job_id = j.id
  left join holdfast.bodies as b on b.id = j.id and q.pass > 0
  left join holdfast.lanes as l on l.id = q.lane_id
  left join holdfast.leases as e on e.id = q.lease_id
  cross join lateral (values
    ('lane_slot_left', s.job_id is not null and q.lease_id is null and c.job_id is null),
    ('lane_slot_missing', s.job_id is null and q.lease_id is not null and l.slots is not null),
    ('held_left', h.job_id is not null and coalesce(q.pass, 0) = 0 and c.job_id is null),
    ('held_missing', h.job_id is null and q.pass > 0),
    ('held_state', h.job_id is not null and q.pass > 0 and (h.lease_id is null) <> (q.lease_id is null)),
    ('held_key', h.job_id is not null and b.id is not null and h.concurrency_key <> coalesce(b.concurrency_key, '')),
    ('lease_missing', q.lease_id is not null and e.id is null),
    ('leader_missing', f.job_id is not null and not f.unsure and not exists (select from holdfast.whereabouts(f.follows)))
  ) as d (what, so)
  where d.so

function holdfast.drift_of_keys(p_types integer[], p_keys text[])
  returns SETOF holdfast.drift, sql, stable, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
  select d.what, null::uuid, j.type_id, j.key, null::smallint
  from (select distinct type_id, key from unnest(p_types, p_keys) as u (type_id, key)) as j
  join holdfast.gates as g on g.type_id = j.type_id and g.keyed
  left join holdfast.keys as k on k.type_id = j.type_id and k.concurrency_key = j.key
  cross join lateral (values
    ('key_full', k.full_now and (g.key_max_running is null or g.key_max_running > (
      select count(*) from holdfast.held as h where h.type_id = j.type_id and h.concurrency_key = j.key))),
    ('key_idle', k.active is not true and exists (
      select from holdfast.gated as w where w.type_id = j.type_id and w.concurrency_key = j.key))
  ) as d (what, so)
  where d.so and not exists (select from holdfast.arrivals as a where a.type_id = j.type_id and a.concurrency_key = j.key)

function holdfast.drop_alert_rule(p_name text, p_by text, p_why text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb;
begin
  delete from holdfast.alert_rules as r where r.name = p_name returning to_jsonb(r) into v_before;
  if v_before is not null then
    perform holdfast.audit('drop_alert_rule', p_name, v_before, null, p_by, p_why);
  end if;
  return v_before is not null;
end 

function holdfast.drop_alert_target(p_id integer, p_by text, p_why text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_target holdfast.alert_targets;
begin
  delete from holdfast.alert_targets as t where t.id = p_id returning * into v_target;
  if v_target.id is not null then
    perform holdfast.audit('drop_alert_target', p_id::text, holdfast.target_facts(v_target), null, p_by, p_why);
  end if;
  return v_target.id is not null;
end 

function holdfast.drop_gate_if_open(p_type integer)
  returns void, plpgsql, volatile, parallel unsafe
begin
  if not (select t.gated from holdfast.types as t where t.id = p_type)
     or exists (select from holdfast.gated as j where j.type_id = p_type) then
    return;
  end if;
  perform from holdfast.gates as g where g.type_id = p_type for update skip locked;
  if not found then
    return;
  end if;
  update holdfast.gates as g set keyed = false
  where g.type_id = p_type and g.keyed and not g.fair and g.key_max_running is null and g.key_rate_count is null
    and not exists (select from holdfast.keys as k where k.type_id = p_type
                    and (k.paused_at is not null or k.rests_until > holdfast.now()));
  update holdfast.types as t set gated = false
  where t.id = p_type and t.gated and not exists (
    select from holdfast.gates as g where g.type_id = p_type and (
      g.max_running is not null or g.rate_count is not null or g.keyed or g.paused_at is not null
      or g.breaker_opened_at is not null or g.breaker_hold = 'open' or g.stopped_until > holdfast.now()));
end 

function holdfast.drop_one_day(p_completed interval, p_dead interval, p_carry integer DEFAULT 5000)
  returns text, plpgsql, volatile, parallel unsafe
  set lock_timeout=100ms, enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_lowest constant uuid := '00000000-0000-0000-0000-000000000000';
  v_family text;
  v_name text;
  v_day date;
  v_from uuid;
  v_to uuid;
  v_needed uuid[];
begin
  for v_family, v_name, v_day in
    select f.family, c.relname, d.day
    from (values ('dead_letters', 1, p_dead), ('history', 2, p_completed), ('bodies', 3, p_completed),
                 ('log_lines', 4, p_completed)) as f (family, turn, age)
    join pg_inherits as i on i.inhparent = ('holdfast.' || f.family)::regclass
    join pg_class as c on c.oid = i.inhrelid
    cross join lateral (select case when c.relname ~ '_\d{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD') end as day) as d
    where (d.day + 1)::timestamp at time zone 'UTC' <= v_now - f.age
    order by f.turn, d.day
  loop
    -- An attempt can only belong to a job that was made before its day ended; a body has its own day's id.
    v_from := case v_family when 'bodies' then holdfast.first_id_at(v_day::timestamp at time zone 'UTC') else v_lowest end;
    v_to := case when v_family in ('dead_letters', 'log_lines') then v_lowest
                          else holdfast.first_id_at((v_day + 1)::timestamp at time zone 'UTC') end;
    for v_check in 1..2 loop
      -- For history the jobs that ended lately matter too: their earlier attempts may stand in this day.
      select array_agg(job_id) into v_needed from (
        select job_id from holdfast.jobs_still_needed(v_from, v_to, v_now - p_completed) as n (job_id) limit p_carry + 1
      ) as needed;
      exit when cardinality(v_needed) > p_carry;
      -- The first look is free; what counts is the second one, under the lock.
      if v_check = 1 then
        execute format('lock table holdfast.%I in access exclusive mode', v_family);
      end if;
    end loop;
    continue when cardinality(v_needed) > p_carry;
    execute format('alter table holdfast.%I detach partition holdfast.%I', v_family, v_name);
    if v_family not in ('dead_letters', 'log_lines') then
      execute format('insert into holdfast.%I select * from holdfast.%I where %I = any ($1)',
                     v_family, v_name, case v_family when 'bodies' then 'id' else 'job_id' end) using v_needed;
    end if;
    execute format('drop table holdfast.%I', v_name);
    return v_name;
  end loop;
  return null;
end 

function holdfast.drop_role(p_name text, p_by text, p_why text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.roles as r where r.name = p_name for update;
  if v_before ->> 'built_in' = 'true' or exists (select from holdfast.api_keys as k where p_name = any (k.roles) and k.revoked_at is null) then
    raise exception 'the role % is in use', p_name using errcode = 'HF006', hint = 'Revoke the keys that have it first.';
  end if;
  delete from holdfast.roles where name = p_name;
  if v_before is not null then
    perform holdfast.audit('drop_role', p_name, v_before, null, p_by, p_why);
  end if;
  return v_before is not null;
end 

function holdfast.end_cancelled(p_jobs uuid[], p_leases bigint[])
  returns uuid[], sql, volatile, parallel unsafe
  with ended as (
    delete from holdfast.cancellations as c using unnest(p_jobs, p_leases) as s (job_id, lease_id)
    where c.job_id = s.job_id and c.lease_id = s.lease_id returning c.job_id
  )
  select array_agg(job_id) from ended

function holdfast.end_completed(p_jobs uuid[], p_leases bigint[], p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_worker integer, OUT ended uuid[], OUT ended_leases bigint[], OUT passed uuid[], OUT probed integer[], OUT gate_types integer[])
  returns record, plpgsql, volatile, parallel unsafe
  set enable_nestloop=off, enable_mergejoin=on
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
begin
  with gone as (
    delete from holdfast.queue as q using (
      select * from unnest(p_jobs, p_leases, p_started_ago_ms, p_ended_ago_ms) as u (job_id, lease_id, started_ago, ended_ago)
      order by u.job_id
    ) as s
    where q.job_id = any (p_jobs) and q.job_id = s.job_id and q.lease_id = s.lease_id
    returning q.job_id, q.lease_id, q.type_id, q.attempt, q.pass, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark)
    select g.job_id, v_now - g.ended_ago * v_ms, v_now - g.started_ago * v_ms, p_worker, 'completed', g.attempt,
           holdfast.lease_mark(g.lease_id)
    from gone as g
  ), tallied as (
    insert into holdfast.tallies as t (type_id, at, worker_id, good, bad)
    select g.type_id, holdfast.tally_step(v_now), p_worker, count(*), 0 from gone as g group by g.type_id
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good
  )
  -- Without "distinct", for which all rows would be sorted: what is gathered by a filter is mostly nothing.
  select array_agg(g.job_id), array_agg(g.lease_id), array_agg(g.job_id) filter (where g.pass > 0),
         array_agg(g.type_id) filter (where g.pass = 2), array_agg(g.type_id) filter (where g.pass > 0)
  into ended, ended_leases, passed, probed, gate_types from gone as g;
end 

function holdfast.end_leases(p_leases holdfast.leases[], p_crashes integer)
  returns TABLE(job_id uuid, type text, attempt smallint, worker_id integer, dead boolean), plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_pass smallint;
  v_type integer;
  v_types integer[];
  v_lost uuid[];
  v_passed uuid[];
begin
  for job_id, type, attempt, worker_id, dead, v_pass, v_type in
    with held as materialized (
      select l.id, l.worker_id, l.claimed_at, l.expires_at, h.job_id
      from unnest(p_leases) as l, unnest(l.jobs) as h (job_id) order by h.job_id
    ), lost as (
      delete from holdfast.queue as q using held as h where q.job_id = h.job_id and q.lease_id = h.id
      returning q.seq, q.ready_at, q.job_id, q.lease_id, q.type_id, q.lane_id, q.priority, q.attempt, q.pass, h.worker_id, h.claimed_at, h.expires_at
    ), judged as materialized (
      select l.*, coalesce(b.concurrency_key, '') as concurrency_key, l.attempt >= coalesce(b.max_attempts, l.attempt) as dead, jsonb_build_object(
        'name', 'LeaseExpired',
        'message', format('worker %s did not renew its lease, which ended at %s', l.worker_id, l.expires_at)
      ) as error
      from lost as l left join holdfast.bodies as b on b.id = l.job_id
    ), recorded as (
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
      select j.job_id, v_now, j.claimed_at, j.worker_id, 'lease_expired', j.attempt, holdfast.lease_mark(j.lease_id), j.error
      from judged as j
    ), freed as (
      insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt)
      select j.seq, j.ready_at, j.job_id, j.type_id, t.lane_id, j.priority, j.attempt + 1
      from judged as j join holdfast.types as t on t.id = j.type_id where not j.dead and j.pass = 0
    ), back_to_gate as (
      insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select j.job_id, j.ready_at - j.priority * a.ageing, j.ready_at, j.type_id, j.lane_id, j.priority, j.attempt + 1,
             j.concurrency_key
      from judged as j join holdfast.lanes as a on a.id = j.lane_id where not j.dead and j.pass > 0
    ), arrived as (
      insert into holdfast.arrivals (type_id, concurrency_key)
      select distinct j.type_id, j.concurrency_key from judged as j where not j.dead and j.pass > 0
    ), tallied as (
      insert into holdfast.tallies as t (type_id, at, worker_id, good, bad, lost)
      select j.type_id, holdfast.tally_step(v_now), j.worker_id, 0, 0, count(*) from judged as j group by j.type_id, j.worker_id
      on conflict on constraint tallies_pkey do update set lost = coalesce(t.lost, 0) + excluded.lost
    ), counted as (
      insert into holdfast.happenings (type_id, what, count)
      select j.type_id, 'dead', count(*) from judged as j where j.dead group by j.type_id
    ), buried as (
      insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
      select j.job_id, v_now, j.type_id, j.priority, j.attempt, case when known.poison then 'poison' else 'exhausted' end,
             case when known.poison then j.error || jsonb_build_object('crashes', known.crashes) else j.error end
      from judged as j
      cross join lateral (
        select c.crashes || format('attempt %s: %s', j.attempt, j.error ->> 'message') as crashes,
               cardinality(c.crashes) + 1 >= p_crashes as poison
        from holdfast.crashes_before(j.job_id) as c (crashes)
      ) as known
      where j.dead
    )
    select j.job_id, t.name, j.attempt, j.worker_id, j.dead, j.pass, j.type_id
    from judged as j join holdfast.types as t on t.id = j.type_id
  loop
    v_lost := v_lost || job_id;
    v_types := v_types || v_type;
    if v_pass > 0 then
      v_passed := v_passed || job_id;
    end if;
    return next;
  end loop;
  delete from holdfast.leases as l where l.id = any (array(select e.id from unnest(p_leases) as e));
  -- A type that kills its workers never reports a failure; its breaker has to hear of it here.
  perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  perform holdfast.judge_breaker(t.id) from (select distinct unnest(v_types) as id order by 1) as t;
  perform holdfast.free_slots(v_lost, v_passed);
  perform holdfast.start_followers(v_lost);
end 

function holdfast.end_moved(p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[], p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[], p_worker integer, p_stops text[], OUT ended uuid[], OUT ended_leases bigint[], OUT passed uuid[], OUT probed integer[], OUT gate_types integer[], OUT failing integer[])
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_freed smallint[];
  v_soon smallint[];
begin
  with settled as materialized (
    select s.job_id, s.lease_id, coalesce(s.move, 'complete') as move,
           case when s.move is null then 'completed' else s.outcome end as outcome, s.error, s.started_ago, s.ended_ago,
           s.delay, s.stop
    from unnest(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms, p_stops)
      as s (job_id, lease_id, move, outcome, error, started_ago, ended_ago, delay, stop)
    order by s.job_id
  ), gone as (
    delete from holdfast.queue as q using settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and (s.move <> 'hand_back' or q.pass > 0)
    returning q.job_id, q.lease_id, q.type_id, q.lane_id, q.priority, q.attempt, q.pass, q.ready_at,
              s.move, s.outcome, s.error, s.started_ago, s.ended_ago, s.delay, s.stop
  ), handed_back as (
    update holdfast.queue as q set lease_id = null, lane_id = t.lane_id from settled as s, holdfast.types as t
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move = 'hand_back' and q.pass = 0 and t.id = q.type_id
    returning q.job_id, s.lease_id, q.lane_id, q.attempt, s.outcome, s.error, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
    select e.job_id, v_now - e.ended_ago * v_ms, v_now - e.started_ago * v_ms, p_worker, e.outcome, e.attempt,
           holdfast.lease_mark(e.lease_id), e.error::jsonb
    from gone as e where e.started_ago is not null
    union all
    select h.job_id, v_now - h.ended_ago * v_ms, v_now - h.started_ago * v_ms, p_worker, h.outcome, h.attempt,
           holdfast.lease_mark(h.lease_id), h.error::jsonb
    from handed_back as h where h.started_ago is not null
  ), retried as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select e.job_id, v_now + e.delay * v_ms, e.type_id, e.lane_id, e.priority,
           case e.move when 'retry' then e.attempt + 1 else e.attempt end,
           case e.move when 'retry' then 'failed' else 'scheduled' end
    from gone as e where e.move in ('retry', 'snooze')
  ), buried as (
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
    select e.job_id, v_now, e.type_id, e.priority, e.attempt,
           case e.move when 'die' then 'fatal' when 'poison' then 'poison' else 'exhausted' end, e.error::jsonb
    from gone as e where e.move in ('die', 'exhaust', 'poison')
  ), counted as (
    insert into holdfast.happenings (type_id, what, count)
    select e.type_id, 'dead', count(*) from gone as e where e.move in ('die', 'exhaust', 'poison') group by e.type_id
  ), back_to_gate as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select e.job_id, e.ready_at - e.priority * l.ageing, e.ready_at, e.type_id, e.lane_id, e.priority, e.attempt,
           coalesce(b.concurrency_key, '')
    from gone as e join holdfast.lanes as l on l.id = e.lane_id join holdfast.bodies as b on b.id = e.job_id
    where e.move = 'hand_back'
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from back_to_gate
  ), tallied as (
    insert into holdfast.tallies as t (type_id, at, worker_id, good, bad)
    select e.type_id, holdfast.tally_step(v_now), p_worker, count(*) filter (where e.outcome = 'completed'),
           count(*) filter (where e.outcome in ('failed', 'timed_out', 'out_of_memory', 'crashed'))
    from gone as e where e.outcome in ('completed', 'failed', 'timed_out', 'out_of_memory', 'crashed') group by e.type_id
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good, bad = t.bad + excluded.bad
  )
  select array_agg(done.job_id), array_agg(done.lease_id),
         array_agg(done.lane_id) filter (where done.free), array_agg(done.lane_id) filter (where done.soon),
         array_agg(done.job_id) filter (where done.pass > 0),
         array_agg(done.type_id) filter (where done.pass = 2 and done.outcome = 'completed'),
         array_agg(done.type_id) filter (where done.failed),
         array_agg(done.type_id) filter (where done.pass > 0 or done.failed or done.stop is not null)
  into ended, ended_leases, v_freed, v_soon, passed, probed, failing, gate_types from (
    select e.job_id, e.lease_id, e.lane_id, e.type_id, e.pass, e.outcome, e.stop, false as free,
           coalesce(e.delay < 12000, false) as soon,
           e.outcome in ('failed', 'timed_out', 'out_of_memory', 'crashed') as failed
    from gone as e
    union all
    select h.job_id, h.lease_id, h.lane_id, null, 0, null, null, true, false, false from handed_back as h
  ) as done;
  perform holdfast.wake_lanes(array(select distinct unnest(v_freed)), true);
  -- As in enqueue_jobs: this worker knows when the job is due, but it may have no room for it then.
  perform holdfast.wake_lanes(array(select distinct unnest(v_soon)), false);
end 

function holdfast.end_orphaned()
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_jobs uuid[];
begin
  if not exists (select from holdfast.cancellations) then
    return;
  end if;
  with orphaned as (
    select c.job_id from holdfast.cancellations as c
    where not exists (select from holdfast.leases as l where l.id = c.lease_id) for update skip locked
  ), ended as (
    delete from holdfast.cancellations as c using orphaned as o where c.job_id = o.job_id returning c.job_id
  )
  select array_agg(job_id) into v_jobs from ended;
  if v_jobs is not null then
    perform holdfast.free_slots(v_jobs, v_jobs);
    perform holdfast.start_followers(v_jobs);
  end if;
end 

function holdfast.end_session(p_hash bytea, p_by text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_ended holdfast.sessions;
begin
  delete from holdfast.sessions where hash = p_hash returning * into v_ended;
  if not found then
    return false;
  end if;
  perform holdfast.audit('end_session', v_ended.key_id::text, null, null, p_by, null);
  return true;
end 

function holdfast.end_unapproved(p_jobs uuid[], p_name text, p_message text, p_by text, p_why text)
  returns void, sql, volatile, parallel unsafe
  with gone as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.job_id, w.type_id, w.attempt
  ), counted as (
    insert into holdfast.happenings (type_id, what, count) select g.type_id, 'cancelled', count(*) from gone as g group by g.type_id
  )
  insert into holdfast.history (job_id, ended_at, outcome, attempt, error)
  select g.job_id, holdfast.now(), 'cancelled', g.attempt,
         jsonb_build_object('name', p_name, 'message', p_message, 'by', p_by, 'why', p_why)
  from gone as g

function holdfast.enqueue(type text, payload jsonb, options jsonb DEFAULT '{}'::jsonb)
  returns TABLE(id uuid, status text), plpgsql, volatile, parallel unsafe
declare
  v_options constant jsonb := coalesce(options, '{}');
  v_asked record;
  v_number text;
  v_stands uuid;
  v_what text;
begin
  if payload is null then
    raise exception 'the payload is null; a job without data has the payload {}' using errcode = 'HF002';
  end if;
  if octet_length(payload::text) > 65536 then
    raise exception 'the payload has % bytes; at most 65536 are stored', octet_length(payload::text) using errcode = 'HF003';
  end if;
  -- jsonb keeps any number, but handlers are JavaScript, which would round this one without a word.
  select n.value::text into v_number
  from jsonb_path_query(payload, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))')
    as n (value)
  where case when abs(n.value::numeric) > 1.7976931348623157e308 then true
             else n.value::numeric <> n.value::numeric::float8::text::numeric end
  limit 1;
  if v_number is not null then
    raise exception 'the payload holds the number %, which a handler in JavaScript would not see exactly', left(v_number, 50)
      using errcode = 'HF004', hint = 'Write it as a text.';
  end if;

  select * into v_asked from holdfast.read_options(v_options);
  select e.job_id, e.what into v_stands, v_what from holdfast.enqueue_jobs(
    array[v_asked.id], array[type], array[payload::text], array[v_asked.priority], array[v_asked.max_attempts],
    array_remove(array[v_asked.delay_ms], null), array_remove(array[v_asked.run_at], null),
    array_remove(array[v_asked.idempotency_key], null), array[v_asked.concurrency_key],
    v_options ->> 'id' is null, false, true, case when v_asked.approval is not null then array[v_asked.approval] end,
    case when v_asked.uniqueness is not null then array[v_asked.uniqueness::text] end) as e;
  return query select coalesce(v_stands, v_asked.id), coalesce(v_what, 'created');
end 

function holdfast.enqueue_all_plain(p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_concurrency_keys text[], p_wake_always boolean, p_traces text[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_type holdfast.types;
  v_type_ids integer[];
  v_lane_ids smallint[];
  v_stored integer;
  v_queued integer;
begin
  if cardinality(p_types) = 1 then
    select * into v_type from holdfast.types as t where t.name = p_types[1];
    v_lane_ids := array[v_type.lane_id];
  else
    select array_agg(t.id order by a.place), array_agg(t.lane_id order by a.place),
           array_agg(coalesce(a.priority, t.priority) order by a.place), array_agg(coalesce(a.max_attempts, t.max_attempts) order by a.place)
    into v_type_ids, v_lane_ids, p_priorities, p_max_attempts
    from unnest(p_types, p_priorities, p_max_attempts) with ordinality as a (type, priority, max_attempts, place)
    left join holdfast.types as t on t.name = a.type;
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, traceparent, payload)
  select a.id, coalesce(a.type_id, v_type.id), coalesce(a.priority, v_type.priority), coalesce(a.max_attempts, v_type.max_attempts),
         v_now, a.concurrency_key, a.traceparent, a.payload::json
  from (select unnest(p_ids) as id, unnest(v_type_ids) as type_id, unnest(p_priorities) as priority,
               unnest(p_max_attempts) as max_attempts, unnest(p_concurrency_keys) as concurrency_key,
               unnest(p_traces) as traceparent, unnest(p_payloads) as payload) as a;
  get diagnostics v_stored = row_count;
  insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
  select v_now, a.id, coalesce(a.type_id, v_type.id), coalesce(a.lane_id, v_type.lane_id), coalesce(a.priority, v_type.priority), 1
  from (select unnest(p_ids) as id, unnest(v_type_ids) as type_id, unnest(v_lane_ids) as lane_id, unnest(p_priorities) as priority) as a;
  get diagnostics v_queued = row_count;
  if v_stored <> cardinality(p_ids) or v_queued <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', least(v_stored, v_queued), cardinality(p_ids) using errcode = 'XX000';
  end if;
  perform holdfast.wake_lanes(array(select distinct unnest(v_lane_ids)), p_wake_always);
end 

function holdfast.enqueue_job(p_id uuid, p_type text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_wake_always boolean, p_owner text, p_trace text)
  returns text, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_type record;
begin
  select t.id, t.lane_id, coalesce(p_priority, t.priority) as priority, coalesce(p_max_attempts, t.max_attempts) as max_attempts,
         not t.gated and t.uniqueness is null and t.approval is null as plain, t.encrypted
  into v_type from holdfast.types as t where t.name = p_type;
  if not found or not v_type.plain then
    return (select e.what || ' ' || e.job_id from holdfast.enqueue_jobs(
      holdfast.owned(array[p_id], p_owner), array[p_type], array[p_payload], array[p_priority], array[p_max_attempts], '{}', '{}', '{}',
      array[p_concurrency_key], true, false, p_wake_always, p_traces => case when p_trace is not null then array[p_trace] end) as e);
  end if;
  if v_type.encrypted then
    perform holdfast.refuse_plaintext(array[p_type], array[p_payload]);
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, traceparent, payload, owner)
  values (p_id, v_type.id, v_type.priority, v_type.max_attempts, v_now, p_concurrency_key, p_trace, p_payload::json, p_owner);
  insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
  values (v_now, p_id, v_type.id, v_type.lane_id, v_type.priority, 1);
  if p_wake_always or exists (select from holdfast.sleepers as s where s.lane_id = v_type.lane_id) then
    perform holdfast.wake_lanes(array[v_type.lane_id], true);
  end if;
  return null;
end 

function holdfast.enqueue_jobs(p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_delays_ms double precision[], p_run_ats timestamp with time zone[], p_keys text[], p_concurrency_keys text[], p_fresh boolean, p_keys_taken boolean, p_wake_always boolean, p_approvals jsonb[] DEFAULT NULL::jsonb[], p_uniques text[] DEFAULT NULL::text[], p_traces text[] DEFAULT NULL::text[])
  returns TABLE(place integer, job_id uuid, what text), plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_taken boolean[] := array_fill(false, array[cardinality(p_ids)]);
  v_lanes smallint[];
  v_known integer[];
  v_asked integer;
  v_unique boolean;
  v_plain boolean;
  v_encrypted boolean;
  v_met record;
  v_unique_keys text[];
begin
  v_plain := p_fresh and cardinality(p_keys) = 0 and cardinality(p_delays_ms) = 0 and cardinality(p_run_ats) = 0
    and p_approvals is null and p_uniques is null;
  select c.has_unique or p_uniques is not null, v_plain and c.all_plain, c.any_encrypted into v_unique, v_plain, v_encrypted
  from holdfast.check_types(p_types) as c;
  if cardinality(p_types) = 1 and (v_encrypted or not v_plain) then
    p_types := array_fill(p_types[1], array[cardinality(p_ids)]);
  end if;
  if v_encrypted then
    perform holdfast.refuse_plaintext(p_types, p_payloads);
  end if;
  if v_plain then
    perform holdfast.enqueue_all_plain(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_concurrency_keys, p_wake_always, p_traces);
    return;
  end if;

  if not p_keys_taken and cardinality(array_remove(p_keys, null)) > 0 then
    for place, job_id in select * from holdfast.take_keys(p_ids, p_types, p_keys) loop
      v_taken[place] := true;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique and not p_fresh then
    -- The second try of an enqueue must not meet its own job.
    for place, job_id in
      select a.place, a.id from unnest(p_ids, v_taken) with ordinality as a (id, taken, place)
      where not a.taken and exists (select from holdfast.bodies as b where b.id = a.id)
    loop
      v_taken[place] := true;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique then
    if cardinality(p_delays_ms) = 0 then
      p_delays_ms := array_fill(null::double precision, array[cardinality(p_ids)]);
    end if;
    for v_met in
      select * from holdfast.take_uniques(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats,
                                          p_keys, p_concurrency_keys, p_approvals, p_uniques, v_taken, p_wake_always)
    loop
      v_taken[v_met.place] := v_met.stored;
      v_unique_keys[v_met.place] := v_met.key;
      p_delays_ms[v_met.place] := coalesce(v_met.delay_ms, p_delays_ms[v_met.place]);
      if p_traces[v_met.place] is not null and v_met.stored and v_met.what <> 'existing' then
        update holdfast.bodies as b set traceparent = p_traces[v_met.place] where b.id = v_met.job_id;
      end if;
      if v_met.what <> 'created' then
        place := v_met.place;
        job_id := v_met.job_id;
        what := v_met.what;
        return next;
      end if;
    end loop;
  end if;

  with asked as materialized (
    select a.place, a.id, t.id as type_id, t.lane_id, t.gated, coalesce(a.priority, t.priority) as priority,
           coalesce(a.max_attempts, t.max_attempts) as max_attempts, a.payload, a.key, a.concurrency_key, a.unique_key, a.traceparent,
           coalesce(a.run_at, v_now + a.delay_ms * interval '1 millisecond') as run_at,
           case when t.approval is not null or a.approval is not null then holdfast.approval_rule(t.approval, a.approval) end as approval
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                v_taken, p_approvals, p_traces, v_unique_keys)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, key, concurrency_key, taken, approval,
                               traceparent, unique_key, place)
    join holdfast.types as t on t.name = a.type
    where not a.taken
  ), stored as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, unique_key, traceparent, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json from asked where p_fresh
  ), stored_unless_known as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, unique_key, traceparent, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json
    from asked where not p_fresh order by id
    on conflict do nothing
    returning id
  ), judged as materialized (
    select n.*, n.is_new and n.approval is null as goes_on from (
      select asked.*, p_fresh or id in (select id from stored_unless_known) as is_new, run_at is null or run_at <= v_now as is_due,
             v_now + (approval ->> 'deadline_ms')::double precision * interval '1 millisecond' as decide_by
      from asked
    ) as n
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, id, type_id, lane_id, priority, 1 from judged where goes_on and is_due and not gated order by judged.place
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select j.id, v_now - j.priority * l.ageing, v_now, j.type_id, j.lane_id, j.priority, 1, coalesce(j.concurrency_key, '')
    from judged as j join holdfast.lanes as l on l.id = j.lane_id where j.goes_on and j.is_due and j.gated
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct g.type_id, g.concurrency_key from gated as g
  ), scheduled as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select id, run_at, type_id, lane_id, priority, 1, 'scheduled' from judged where goes_on and not is_due
    union all
    select id, coalesce(decide_by, 'infinity'), type_id, lane_id, priority, 1, 'awaiting_approval'
    from judged where is_new and approval is not null
  ), requested as (
    insert into holdfast.approval_requests (job_id, quorum, deadline, on_deadline, run_at)
    select id, (approval ->> 'quorum')::smallint, decide_by, approval ->> 'on_deadline', run_at
    from judged where is_new and approval is not null
  )
  -- A job due within moments wakes its lane too: a worker at rest looks at what waits only every two to eight seconds.
  select array_agg(distinct lane_id) filter (where goes_on and (run_at is null or run_at < v_now + interval '12 seconds')),
         array_agg(judged.place) filter (where not is_new), count(*)
  into v_lanes, v_known, v_asked from judged;

  -- Whatever the reason, a job that was not stored must not be acknowledged.
  v_asked := v_asked + cardinality(array_positions(v_taken, true));
  if v_asked <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', v_asked, cardinality(p_ids) using errcode = 'XX000';
  end if;

  foreach place in array coalesce(v_known, '{}') loop
    job_id := p_ids[place];
    what := 'existing';
    -- Taken above or just before, for a job that turned out to exist without it.
    delete from holdfast.idempotency_keys as k using holdfast.types as t
    where t.name = p_types[place] and k.type_id = t.id and k.key = p_keys[place] and k.job_id = p_ids[place];
    return next;
  end loop;

  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end 

function holdfast.explain_facts(p_job uuid)
  returns jsonb, plpgsql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_type holdfast.types;
  v_lane holdfast.lanes;
  v_gate holdfast.gates;
  v_key holdfast.keys;
  v_body holdfast.bodies;
  v_queue holdfast.queue;
  v_waiting holdfast.waiting;
  v_gated holdfast.gated;
  v_following holdfast.following;
  v_worker holdfast.workers;
  v_lease holdfast.leases;
  v_facts jsonb;
  v_key_name text;
begin
  select * into v_body from holdfast.bodies as b where b.id = p_job;
  if not found then
    return null;
  end if;
  select * into v_type from holdfast.types as t where t.id = v_body.type_id;
  select * into v_lane from holdfast.lanes as l where l.id = v_type.lane_id;
  select * into v_gate from holdfast.gates as g where g.type_id = v_type.id;
  v_key_name := coalesce(v_body.concurrency_key, '');
  select * into v_key from holdfast.keys as k where k.type_id = v_type.id and k.concurrency_key = v_key_name;
  select * into v_queue from holdfast.queue as q where q.job_id = p_job;
  select * into v_waiting from holdfast.waiting as w where w.job_id = p_job;
  select * into v_gated from holdfast.gated as g where g.job_id = p_job;
  select * into v_following from holdfast.following as f where f.job_id = p_job;
  select * into v_lease from holdfast.leases as e where e.id = v_queue.lease_id;
  select * into v_worker from holdfast.workers as w where w.id = v_lease.worker_id;

  v_facts := jsonb_build_object(
    'status', (select j.status from holdfast.jobs as j where j.id = p_job),
    'type', v_type.name, 'lane', v_lane.name, 'key', v_body.concurrency_key,
    'workers', (select count(*) from holdfast.workers as w
                where v_type.id = any (w.types) and w.stopped_at is null and w.seen_at > v_now - interval '60 seconds'),
    'lane_enabled', v_lane.enabled, 'lane_changed_by', v_lane.changed_by, 'lane_changed_why', v_lane.changed_why,
    'lane_slots', v_lane.slots,
    'lane_held_by', (select coalesce(jsonb_agg(s.job_id), '[]') from (
       select job_id from holdfast.lane_slots where lane_id = v_lane.id limit 5) as s),
    'lane_in_use', (select count(*) from holdfast.lane_slots where lane_id = v_lane.id),
    'place', case when v_queue.job_id is not null then 'queue' when v_waiting.job_id is not null then 'waiting'
                  when v_gated.job_id is not null then 'gated' when v_following.job_id is not null then 'following' end,
    'follows', v_following.follows,
    'due_in_ms', case when isfinite(v_waiting.due_at) then extract(epoch from v_waiting.due_at - v_now) * 1000 end,
    'due_at', v_waiting.due_at,
    'worker', v_worker.name, 'claimed_at', v_lease.claimed_at);

  if v_queue.lease_id is null and v_queue.job_id is not null then
    v_facts := v_facts || jsonb_build_object(
      'ahead', (select count(*) from (
         select from holdfast.queue as q where q.lane_id = v_queue.lane_id and q.priority = v_queue.priority
           and q.seq < v_queue.seq and q.lease_id is null limit 10000) as a)
        + (select count(*) from (
         select from holdfast.queue as q where q.lane_id = v_queue.lane_id and q.priority > v_queue.priority
           and q.lease_id is null limit 10000) as a),
      'ended_last_minute', (select coalesce(sum(t.good + t.bad), 0)::int from holdfast.tallies as t
         join holdfast.types as o on o.id = t.type_id where o.lane_id = v_lane.id and t.at > v_now - interval '1 minute'));
  end if;

  if v_gated.job_id is not null then
    v_facts := v_facts || jsonb_build_object(
      'paused_by', v_gate.paused_by, 'paused_why', v_gate.paused_why, 'paused_at', v_gate.paused_at,
      'stopped_in_ms', extract(epoch from v_gate.stopped_until - v_now) * 1000,
      'breaker_hold', v_gate.breaker_hold, 'breaker_opened_at', v_gate.breaker_opened_at, 'breaker_reason', v_gate.breaker_reason,
      'breaker_probe_in_ms', extract(epoch from v_gate.breaker_probe_at - v_now) * 1000,
      'max_running', v_gate.max_running,
      'running', (select count(*) from holdfast.held as h where h.type_id = v_type.id),
      'held_by', (select coalesce(jsonb_agg(h.job_id), '[]') from (
         select job_id from holdfast.held where type_id = v_type.id limit 5) as h),
      'rate_count', v_gate.rate_count, 'rate_per_ms', extract(epoch from v_gate.rate_per) * 1000,
      'rate_used', (select count(*) from holdfast.starts as s where s.type_id = v_type.id and s.at > v_now - holdfast.rate_window(v_gate.rate_per)),
      'rate_free_in_ms', extract(epoch from (select min(s.at) from holdfast.starts as s
         where s.type_id = v_type.id and s.at > v_now - holdfast.rate_window(v_gate.rate_per)) + holdfast.rate_window(v_gate.rate_per) - v_now) * 1000,
      'key_paused_by', v_key.paused_by, 'key_paused_why', v_key.paused_why,
      'key_rests_in_ms', extract(epoch from v_key.rests_until - v_now) * 1000,
      'key_max_running', v_gate.key_max_running,
      'key_running', (select count(*) from holdfast.held as h where h.type_id = v_type.id and h.concurrency_key = v_key_name),
      'key_held_by', (select coalesce(jsonb_agg(h.job_id), '[]') from (
         select job_id from holdfast.held where type_id = v_type.id and concurrency_key = v_key_name limit 5) as h),
      'keyed', v_gate.keyed,
      'ahead', (select count(*) from (
         select from holdfast.gated as g where g.type_id = v_type.id and g.rank < v_gated.rank
           and (not v_gate.keyed or g.concurrency_key = v_key_name) limit 10000) as a));
  end if;
  return v_facts;
end 

function holdfast.find_dead(p_type text, p_reason text, p_error text, p_died_from timestamp with time zone, p_died_before timestamp with time zone, p_before_at timestamp with time zone, p_before_job uuid, p_limit integer, p_scan integer)
  returns TABLE(job_id uuid, died_at timestamp with time zone, type_id integer, priority smallint, attempt smallint, reason text, error jsonb, fits boolean), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, jit=off, plan_cache_mode=force_custom_plan
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_seen integer := 0;
  v_found integer := 0;
begin
  for job_id, died_at, type_id, priority, attempt, reason, error in
    select d.job_id, d.died_at, d.type_id, d.priority, d.attempt, d.reason, d.error from holdfast.dead_letters as d
    where (v_type is null or d.type_id = v_type) and (p_reason is null or d.reason = p_reason)
      and (p_died_from is null or d.died_at >= p_died_from) and (p_died_before is null or d.died_at < p_died_before)
      and (p_before_at is null or (d.died_at <= p_before_at and (d.died_at, d.job_id) < (p_before_at, p_before_job)))
    order by d.died_at desc, d.job_id desc limit p_scan
  loop
    v_seen := v_seen + 1;
    fits := p_error is null or strpos(lower(concat_ws(': ', error ->> 'name', error ->> 'message')), lower(p_error)) > 0;
    if fits then
      v_found := v_found + 1;
      return next;
      exit when v_found = p_limit;
    end if;
  end loop;
  if v_seen = p_scan and v_found < p_limit then
    fits := false;
    return next;
  end if;
end 

function holdfast.find_drift()
  returns SETOF holdfast.drift, sql, stable, parallel unsafe
  select * from holdfast.drift_of_jobs(array(
    select q.job_id from holdfast.queue as q union all select h.job_id from holdfast.held as h
    union all select s.job_id from holdfast.lane_slots as s union all select f.job_id from holdfast.following as f))
  union all
  select d.* from (
    select array_agg(k.type_id) as types, array_agg(k.concurrency_key) as keys from (
      select k.type_id, k.concurrency_key from holdfast.keys as k
      union select g.type_id, g.concurrency_key from holdfast.gated as g) as k
  ) as every cross join lateral holdfast.drift_of_keys(every.types, every.keys) as d

function holdfast.first_id_at(at timestamp with time zone)
  returns uuid, sql, immutable, parallel safe
 select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid 

function holdfast.forget_job(p_job uuid, p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_job record;
begin
  perform from holdfast.bodies as b where b.id = p_job for update;
  select j.type, j.status into v_job from holdfast.jobs as j where j.id = p_job;
  if not found then
    return;
  end if;
  if v_job.status not in ('completed', 'cancelled', 'discarded') then
    return query select p_job, false, v_job.status, v_job.status,
      case v_job.status when 'dead' then 'it is dead; replay or discard it first' else 'it has not ended; cancel it first' end;
    return;
  end if;
  delete from holdfast.bodies as b where b.id = p_job;
  delete from holdfast.history as h where h.job_id = p_job;
  delete from holdfast.log_lines as l where l.job_id = p_job;
  delete from holdfast.progress as p where p.job_id = p_job;
  delete from holdfast.checkpoints as c where c.job_id = p_job;
  delete from holdfast.moves as m where m.job_id = p_job;
  delete from holdfast.approvals as a where a.job_id = p_job;
  delete from holdfast.approval_requests as a where a.job_id = p_job;
  perform holdfast.audit('forget_job', p_job::text, jsonb_build_object('type', v_job.type, 'status', v_job.status), null, p_by, p_why);
  return query select p_job, true, v_job.status, v_job.status, null::text;
end 

function holdfast.free_slots(p_jobs uuid[], p_passed uuid[])
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_lanes smallint[];
  v_types integer[];
begin
  if exists (select from holdfast.lane_slots) then
    with freed as (
      delete from holdfast.lane_slots as s where s.job_id = any (p_jobs) returning s.lane_id
    )
    select array_agg(distinct f.lane_id) into v_lanes from freed as f
    where exists (select from holdfast.queue as q where q.lane_id = f.lane_id and q.lease_id is null);
    perform holdfast.wake_lanes(v_lanes, false);
  end if;
  if p_passed is null then
    return;
  end if;
  select array_agg(distinct h.type_id order by h.type_id) into v_types from holdfast.held as h where h.job_id = any (p_passed);
  perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  with freed as (
    delete from holdfast.held as h where h.job_id = any (p_passed) returning h.type_id, h.concurrency_key
  )
  update holdfast.keys as k set full_now = false, turn = greatest(k.turn, g.turn)
  from (select distinct type_id, concurrency_key from freed) as f join holdfast.gates as g on g.type_id = f.type_id
  where k.type_id = f.type_id and k.concurrency_key = f.concurrency_key and k.full_now;
  perform holdfast.admit_type(t.id, true) from unnest(v_types) as t (id) order by t.id;
end 

function holdfast.gate_settings(p_type integer)
  returns jsonb, sql, stable, parallel unsafe
  select to_jsonb(g) - '{type_id,defined,turn,keyed,breaker_since,breaker_probe_at}'::text[] from holdfast.gates as g where g.type_id = p_type

function holdfast.hand_back_unheard(p_worker integer, p_known bigint[])
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_lease record;
  v_lanes smallint[];
  v_jobs uuid[];
  v_passed uuid[];
  v_all_jobs uuid[];
  v_all_passed uuid[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  for v_lease in
    delete from holdfast.leases as l where l.worker_id = p_worker and l.id <> all (p_known) returning l.id, l.jobs
  loop
    with freed as (
      update holdfast.queue as q set lease_id = null, lane_id = t.lane_id from holdfast.types as t
      where q.job_id = any (v_lease.jobs) and q.lease_id = v_lease.id and t.id = q.type_id and q.pass = 0
      returning q.job_id, q.lane_id
    ), passed as (
      delete from holdfast.queue as q where q.job_id = any (v_lease.jobs) and q.lease_id = v_lease.id and q.pass > 0
      returning q.job_id, q.ready_at, q.type_id, q.priority, q.attempt
    ), back_to_gate as (
      insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select p.job_id, p.ready_at - p.priority * l.ageing, p.ready_at, p.type_id, t.lane_id, p.priority, p.attempt,
             coalesce(b.concurrency_key, '')
      from passed as p join holdfast.types as t on t.id = p.type_id join holdfast.lanes as l on l.id = t.lane_id
      left join holdfast.bodies as b on b.id = p.job_id
      returning type_id, concurrency_key
    ), arrived as (
      insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from back_to_gate
    )
    select array_agg(distinct j.lane_id) filter (where not j.passed), array_agg(j.job_id),
           array_agg(j.job_id) filter (where j.passed)
    into v_lanes, v_jobs, v_passed
    from (select f.job_id, f.lane_id, false as passed from freed as f
          union all select p.job_id, null, true from passed as p) as j;
    v_all_jobs := v_all_jobs || v_jobs;
    v_all_passed := v_all_passed || v_passed;
    perform holdfast.wake_lanes(v_lanes, true);
  end loop;
  perform holdfast.free_slots(v_all_jobs, v_all_passed);
  return coalesce(cardinality(v_all_jobs), 0);
end 

function holdfast.head_rank(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_step interval)
  returns timestamp with time zone, plpgsql, volatile, parallel unsafe
begin
  return (
    select q.ready_at - p_priority * p_step from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  );
end 

function holdfast.hold_still(p_job uuid)
  returns TABLE(place text, status text), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
begin
  for v_look in 1..100 loop
    select w.place, w.status into place, status from holdfast.whereabouts(p_job) as w;
    if not found or status = 'processing' then
      return;
    end if;
    case place
      when 'queue' then perform from holdfast.queue as q where q.job_id = p_job and q.lease_id is null for update;
      when 'waiting' then perform from holdfast.waiting as w where w.job_id = p_job for update;
      when 'gated' then perform from holdfast.gated as g where g.job_id = p_job for update;
      when 'following' then perform from holdfast.following as f where f.job_id = p_job for update;
    end case;
    if found then
      return next;
      return;
    end if;
    -- It moved on between the two looks.
  end loop;
  raise exception 'job % moved on a hundred times while it was looked for', p_job using errcode = '40001', hint = 'Try again.';
end 

function holdfast.how_it_stands(p_job uuid, p_lease bigint, p_worker integer, p_outcome holdfast.outcome, OUT why text, OUT outcome holdfast.outcome, OUT attempt smallint, OUT ended_at timestamp with time zone)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_own boolean;
begin
  select h.worker_id = p_worker and h.lease_mark = holdfast.lease_mark(p_lease), h.outcome, h.attempt, h.ended_at
  into v_own, outcome, attempt, ended_at
  from holdfast.history as h where h.job_id = p_job
  order by (h.worker_id = p_worker and h.lease_mark = holdfast.lease_mark(p_lease)) is true desc, h.ended_at desc limit 1;
  why := case when outcome = 'cancelled' then 'cancelled' when v_own and outcome = p_outcome then 'written' else 'lost' end;
end 

function holdfast.is_approved(p_job uuid)
  returns boolean, plpgsql, stable, parallel unsafe
begin
  return not exists (
    select from holdfast.approval_requests as r where r.job_id = p_job and r.quorum > (
      select count(*) from holdfast.approvals as a where a.job_id = p_job and a.verdict = 'approve'))
    or exists (select from holdfast.approvals as a where a.job_id = p_job and a.actor = 'holdfast' and a.verdict = 'approve');
end 

function holdfast.jobs_still_needed(p_from uuid, p_to uuid, p_since timestamp with time zone)
  returns SETOF uuid, sql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
  select job_id from holdfast.queue where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.waiting where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.gated where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.following where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.dead_letters where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.history where ended_at >= p_since and job_id >= p_from and job_id <= p_to

function holdfast.judge_breaker(p_type integer)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_gate holdfast.gates;
  v_good bigint;
  v_bad bigint;
begin
  select * into v_gate from holdfast.gates as g where g.type_id = p_type;
  if v_gate.breaker_opened_at is not null or v_gate.breaker_hold = 'closed' then
    return;
  end if;
  -- A worker that died is one failure of each type it ran, not one for each job: a host that goes down with a hundred jobs
  -- says nothing about them.
  select coalesce(sum(t.good), 0), coalesce(sum(greatest(t.bad, (t.lost > 0)::integer)), 0) into v_good, v_bad
  from holdfast.tallies as t
  where t.type_id = p_type
    and t.at >= holdfast.tally_step(v_now - coalesce(v_gate.breaker_window, interval '5 minutes'))
    and t.at > coalesce(v_gate.breaker_since, '-infinity');
  if v_good + v_bad >= coalesce(v_gate.breaker_minimum, 10) and v_bad > coalesce(v_gate.breaker_share, 0.8) * (v_good + v_bad) then
    perform holdfast.open_breaker(p_type, format('%s of %s attempts failed', v_bad, v_good + v_bad));
  end if;
end 

function holdfast.keep_totals(p_crowded integer DEFAULT 5000)
  returns void, plpgsql, volatile, parallel unsafe
  set jit=off
declare
  v_now timestamptz := holdfast.now();
  v_begun timestamptz := clock_timestamp();
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.totals', 0)) then
    return;
  end if;
  with tallied as (
    delete from holdfast.tallies as t
    where t.at < v_now - interval '1 minute' - greatest(interval '5 minutes', (select max(g.breaker_window) from holdfast.gates as g))
    returning t.type_id, t.good, t.bad, t.lost
  ), happened as (
    delete from holdfast.happenings as h returning h.type_id, h.what, h.count
  ), moved as (
    select type_id, good, bad, coalesce(lost, 0) as lost, 0 as dead, 0 as cancelled, 0 as replayed, 0 as late from tallied
    union all
    select type_id, 0, 0, 0, case what when 'dead' then count else 0 end, case what when 'cancelled' then count else 0 end,
           case what when 'replayed' then count else 0 end, case what when 'late' then count else 0 end
    from happened
  )
  insert into holdfast.totals as k (type_id, completed, failed, lost, dead, cancelled, replayed, late)
  select type_id, sum(good), sum(bad), sum(lost), sum(dead), sum(cancelled), sum(replayed), sum(late) from moved group by type_id
  on conflict (type_id) do update set
    completed = k.completed + excluded.completed, failed = k.failed + excluded.failed, lost = k.lost + excluded.lost,
    dead = k.dead + excluded.dead, cancelled = k.cancelled + excluded.cancelled, replayed = k.replayed + excluded.replayed,
    late = k.late + excluded.late;
  delete from holdfast.notes as n where n.at < v_now - interval '1 hour';

  -- Of a minute ago nobody needs to know any more which worker it was, except where one died. Where many workers run many types,
  -- that makes what is read few rows again.
  if exists (select from holdfast.tallies offset p_crowded limit 1) then
    with apart as (
      delete from holdfast.tallies as t
      where t.worker_id <> 0 and t.lost is null and t.at < v_now - interval '1 minute' returning t.type_id, t.at, t.good, t.bad
    )
    insert into holdfast.tallies as t (type_id, at, worker_id, good, bad)
    select a.type_id, a.at, 0, sum(a.good), sum(a.bad) from apart as a group by a.type_id, a.at
    on conflict (type_id, at, worker_id) do update set good = t.good + excluded.good, bad = t.bad + excluded.bad;
  end if;

  if v_now < (select m.measured_at + greatest(interval '5 seconds', m.cost * 20) from holdfast.dead_measured as m) then
    return;
  end if;
  with counted as materialized (
    select d.type_id, count(*) as dead from holdfast.dead_letters as d group by d.type_id
  ), gone as (
    delete from holdfast.dead_depths as d where not exists (select from counted as c where c.type_id = d.type_id)
  )
  insert into holdfast.dead_depths as d (type_id, dead) select c.type_id, c.dead from counted as c
  on conflict (type_id) do update set dead = excluded.dead;
  -- As for depths: that there are still none need not be written down.
  update holdfast.dead_measured set measured_at = v_now, cost = clock_timestamp() - v_begun
  where exists (select from holdfast.dead_depths);
end 

function holdfast.key_facts(p_id integer)
  returns jsonb, sql, stable, parallel unsafe
  select to_jsonb(k) - '{id,hash,last_used_at,created_at,created_by}'::text[] from holdfast.api_keys as k where k.id = p_id

function holdfast.key_settings(p_type integer, p_key text)
  returns jsonb, sql, stable, parallel unsafe
  select jsonb_build_object('paused_at', k.paused_at, 'paused_by', k.paused_by, 'paused_why', k.paused_why,
                            'rests_until', k.rests_until, 'weight', k.weight)
  from holdfast.keys as k where k.type_id = p_type and k.concurrency_key = p_key

function holdfast.lane_named(p_name text)
  returns smallint, plpgsql, stable, parallel unsafe
declare
  v_id smallint := (select l.id from holdfast.lanes as l where l.name = p_name);
begin
  if v_id is null then
    raise exception 'there is no lane named "%"', p_name
      using errcode = 'HF005', detail = (select string_agg(l.name, ', ' order by l.name) from holdfast.lanes as l);
  end if;
  return v_id;
end 

function holdfast.lane_with(p_lane holdfast.lanes, p_fields jsonb)
  returns holdfast.lanes, plpgsql, immutable, parallel unsafe
begin
  p_lane.slots := case when p_fields ? 'slots' then (p_fields ->> 'slots')::integer else p_lane.slots end;
  p_lane.worker_slots := case when p_fields ? 'worker_slots' then (p_fields ->> 'worker_slots')::integer else p_lane.worker_slots end;
  p_lane.poll_ms := coalesce((p_fields ->> 'poll_ms')::integer, p_lane.poll_ms);
  p_lane.lease_ms := case when p_fields ? 'lease_ms' then (p_fields ->> 'lease_ms')::integer else p_lane.lease_ms end;
  p_lane.enabled := coalesce((p_fields ->> 'enabled')::boolean, p_lane.enabled);
  p_lane.ageing := coalesce((p_fields ->> 'ageing_ms')::double precision * interval '1 millisecond', p_lane.ageing);
  return p_lane;
end 

function holdfast.lanes_left(p_left smallint[], p_from smallint, p_to smallint)
  returns smallint[], sql, immutable, parallel safe
 select array_remove(array_remove(p_left, p_from) || p_from, p_to) 

function holdfast.lease_mark(p_lease bigint)
  returns integer, sql, immutable, parallel unsafe
 select (p_lease % 2147483647)::integer 

function holdfast.leave_queue(p_jobs uuid[])
  returns SETOF holdfast.queue, sql, volatile, parallel unsafe
  with gone as (
    delete from holdfast.queue as q where q.job_id = any (p_jobs) and q.lease_id is null returning q.*
  ), given_up as (
    delete from holdfast.held as h using gone as g where g.pass > 0 and h.job_id = g.job_id returning h.type_id, h.concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from given_up
  )
  select * from gone

function holdfast.let_through(p_jobs uuid[], p_pass integer)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_lanes smallint[];
begin
  if p_jobs = '{}' then
    return;
  end if;
  with moved as (
    delete from holdfast.gated as g where g.job_id = any (p_jobs)
    returning g.job_id, g.ready_at, g.rank, g.type_id, g.priority, g.attempt, g.concurrency_key
  ), taken as (
    insert into holdfast.held (job_id, type_id, concurrency_key) select m.job_id, m.type_id, m.concurrency_key from moved as m
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt, pass)
    select m.ready_at, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt, p_pass
    from moved as m join holdfast.types as t on t.id = m.type_id order by m.rank, m.job_id
    returning lane_id
  )
  select array_agg(distinct q.lane_id) into v_lanes from queued as q;
  perform holdfast.wake_lanes(v_lanes, false);
end 

function holdfast.list_jobs(p_owner text, p_type text, p_status text, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_payload jsonb, p_before uuid, p_limit integer, p_look integer, OUT jobs uuid[], OUT next uuid)
  returns record, plpgsql, stable, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, enable_sort=off, jit=off
declare
  v_type constant integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_before constant uuid := least(p_before, holdfast.first_id_at(p_created_before + interval '1 day'),
                                  'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid);
  v_found integer := 0;
  v_looked integer := 0;
  v_job record;
begin
  jobs := '{}';
  for v_job in
    -- Two branches, because each has an index of its own to walk; one of them is not begun.
    select * from (
      (select b.id, b.type_id, b.created_at, b.payload from holdfast.bodies as b
       where p_owner is null and b.id < v_before order by b.id desc limit p_look)
      union all
      (select b.id, b.type_id, b.created_at, b.payload from holdfast.bodies as b
       where b.owner = p_owner and b.id < v_before order by b.id desc limit p_look)
    ) as b
  loop
    v_looked := v_looked + 1;
    if (v_type is null or v_job.type_id = v_type)
       and (p_created_after is null or v_job.created_at >= p_created_after)
       and (p_created_before is null or v_job.created_at < p_created_before)
       and (p_payload is null or v_job.payload::jsonb @> p_payload)
       and (p_status is null or holdfast.status_of(v_job.id) = p_status) then
      jobs := jobs || v_job.id;
      v_found := v_found + 1;
    end if;
    if v_found = p_limit or v_looked = p_look then
      next := v_job.id;
      return;
    end if;
  end loop;
end 

function holdfast.lock_dead(p_jobs uuid[])
  returns uuid[], plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
begin
  if cardinality(p_jobs) > 1 then
    return array(select d.job_id from holdfast.dead_letters as d where d.job_id = any (p_jobs) order by d.job_id for update skip locked);
  end if;
  for v_look in 1..100 loop
    perform from holdfast.dead_letters as d where d.job_id = p_jobs[1] for update;
    if found then
      return p_jobs;
    end if;
    -- Its row may have been carried into the partition of its day while we waited for it.
    if not exists (select from holdfast.dead_letters as d where d.job_id = p_jobs[1]) then
      return '{}';
    end if;
  end loop;
  raise exception 'the dead letter of job % moved on a hundred times while it was looked for', p_jobs[1] using errcode = '40001';
end 

function holdfast.lock_gate(p_type integer)
  returns void, plpgsql, volatile, parallel unsafe
begin
  insert into holdfast.gates (type_id) values (p_type) on conflict do nothing;
  perform from holdfast.gates where type_id = p_type for update;
end 

function holdfast.lock_jobs(p_jobs uuid[])
  returns TABLE(job_id uuid, place text), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
begin
  if cardinality(p_jobs) > 1 then
    return query select q.job_id, 'queue' from holdfast.queue as q where q.job_id = any (p_jobs) order by q.job_id for update skip locked;
    return query select w.job_id, 'waiting' from holdfast.waiting as w where w.job_id = any (p_jobs) order by w.job_id for update skip locked;
    return query select g.job_id, 'gated' from holdfast.gated as g where g.job_id = any (p_jobs) order by g.job_id for update skip locked;
    return query select f.job_id, 'following' from holdfast.following as f where f.job_id = any (p_jobs) order by f.job_id for update skip locked;
    return;
  end if;
  for v_look in 1..100 loop
    return query select q.job_id, 'queue' from holdfast.queue as q where q.job_id = p_jobs[1] for update;
    if found then return; end if;
    return query select w.job_id, 'waiting' from holdfast.waiting as w where w.job_id = p_jobs[1] for update;
    if found then return; end if;
    return query select g.job_id, 'gated' from holdfast.gated as g where g.job_id = p_jobs[1] for update;
    if found then return; end if;
    return query select f.job_id, 'following' from holdfast.following as f where f.job_id = p_jobs[1] for update;
    if found then return; end if;
    -- It may have moved on from a table we had not looked at to one we had. In one snapshot it stands in one place or has ended.
    if not exists (select from holdfast.queue as q where q.job_id = p_jobs[1])
       and not exists (select from holdfast.waiting as w where w.job_id = p_jobs[1])
       and not exists (select from holdfast.gated as g where g.job_id = p_jobs[1])
       and not exists (select from holdfast.following as f where f.job_id = p_jobs[1]) then
      return;
    end if;
  end loop;
  raise exception 'job % moved on a hundred times while it was looked for', p_jobs[1] using errcode = '40001', hint = 'Try again.';
end 

function holdfast.lock_startable(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_limit integer, p_gated integer, OUT rows tid[], OUT jobs uuid[], OUT last_seq bigint, OUT gated_left integer)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_line cursor for
    select q.ctid as place, q.job_id, q.seq, q.pass from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit p_limit
    for update skip locked;
  v_row record;
begin
  gated_left := p_gated;
  open v_line;
  while gated_left > 0 loop
    fetch v_line into v_row;
    exit when not found;
    rows := rows || v_row.place;
    jobs := jobs || v_row.job_id;
    last_seq := v_row.seq;
    gated_left := gated_left - (v_row.pass > 0)::integer;
  end loop;
  close v_line;
  jobs := array(select j from unnest(jobs) as j order by j);
end 

function holdfast.look_for_trouble(p_every interval)
  returns TABLE(state text, rule text, subject text, value double precision), plpgsql, volatile, parallel unsafe
  set jit=off
declare
  v_now timestamptz := holdfast.now();
  v_trouble record;
  v_growing boolean;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.alerts', 0)) then
    return;
  end if;
  update holdfast.alerts_looked as l set at = v_now where l.at <= v_now - p_every;
  if not found then
    return;
  end if;
  -- In one statement, so that what is counted meanwhile is seen at the next look.
  insert into holdfast.alert_marks as m (what, value, before)
  select c.what, c.value, coalesce(known.value, 0) from (
    select 'dead ' || t.name as what, k.dead as value from holdfast.counters as k join holdfast.types as t on t.id = k.type_id
    union all
    select 'refused', sum(e.total) from holdfast.enqueue_errors as e where e.status not in (401, 403) having count(*) > 0
  ) as c left join holdfast.alert_marks as known on known.what = c.what
  where c.value > coalesce(known.value, 0) or known.before <> known.value
  on conflict (what) do update set value = excluded.value, before = excluded.before;
  for v_trouble in select t.*, r.kind from holdfast.troubles() as t join holdfast.alert_rules as r on r.name = t.rule loop
    v_growing := v_trouble.kind in ('dead_letters', 'enqueue_errors');
    update holdfast.alerts as a
    set seen_at = v_now, value = case when v_growing then a.value + v_trouble.value else v_trouble.value end
    where a.rule = v_trouble.rule and a.subject = v_trouble.subject;
    if not found then
      insert into holdfast.alerts (rule, subject, since, seen_at, value)
      values (v_trouble.rule, v_trouble.subject, v_now, v_now, v_trouble.value);
      perform holdfast.announce('firing', v_trouble.rule, v_trouble.subject, v_trouble.value, v_now);
      return query select 'firing', v_trouble.rule, v_trouble.subject, v_trouble.value;
    end if;
  end loop;
  for v_trouble in
    delete from holdfast.alerts as a using holdfast.alert_rules as r
    where r.name = a.rule and a.seen_at < v_now and (a.seen_at <= v_now - r.hold or not r.enabled)
    returning a.rule, a.subject, a.value, a.since
  loop
    perform holdfast.announce('resolved', v_trouble.rule, v_trouble.subject, v_trouble.value, v_trouble.since);
    return query select 'resolved', v_trouble.rule, v_trouble.subject, v_trouble.value;
  end loop;
end 

function holdfast.make_day(p_family text, p_day date)
  returns boolean, plpgsql, volatile, parallel unsafe
  set lock_timeout=100ms
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  v_column text := case p_family when 'bodies' then 'id' when 'history' then 'ended_at' when 'log_lines' then 'at' else 'died_at' end;
  v_name text := p_family || '_' || to_char(p_day, 'YYYYMMDD');
  v_low text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
  v_high text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_to)::text else v_to::text end);
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.days', 0)) or to_regclass('holdfast.' || v_name) is not null then
    return false;
  end if;
  execute format('create table holdfast.%I (like holdfast.%I including all)', v_name, p_family);
  execute format('with moved as (delete from holdfast.%I where %I >= %s and %I < %s returning *)
                  insert into holdfast.%I select * from moved',
                 p_family || '_rest', v_column, v_low, v_column, v_high, v_name);
  execute format('alter table holdfast.%I attach partition holdfast.%I for values from (%s) to (%s)',
                 p_family, v_name, v_low, v_high);
  return true;
end 

function holdfast.make_ready(p_jobs uuid[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_lanes smallint[];
begin
  with moved as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.job_id, w.type_id, w.priority, w.attempt
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt
    from moved as m join holdfast.types as t on t.id = m.type_id where not t.gated order by m.job_id
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select m.job_id, v_now - m.priority * l.ageing, v_now, m.type_id, t.lane_id, m.priority, m.attempt, coalesce(b.concurrency_key, '')
    from moved as m join holdfast.types as t on t.id = m.type_id join holdfast.lanes as l on l.id = t.lane_id
    join holdfast.bodies as b on b.id = m.job_id where t.gated
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from gated
  )
  select array_agg(distinct t.lane_id) into v_lanes from moved as m join holdfast.types as t on t.id = m.type_id;
  perform holdfast.wake_lanes(v_lanes, true);
end 

function holdfast.matching_jobs(p_type text, p_status text, p_lane text, p_concurrency_key text, p_priority smallint, p_created_before timestamp with time zone, p_payload jsonb, p_after uuid, p_limit integer)
  returns SETOF uuid, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
begin
  return query
    select s.job_id from (
      select q.job_id, q.type_id, q.lane_id, q.priority, case when q.lease_id is null then 'pending' else 'processing' end as status
      from holdfast.queue as q where q.job_id > p_after
      union all
      select w.job_id, w.type_id, w.lane_id, w.priority, w.status from holdfast.waiting as w where w.job_id > p_after
      union all
      select g.job_id, g.type_id, g.lane_id, g.priority, 'pending' from holdfast.gated as g where g.job_id > p_after
      union all
      select f.job_id, f.type_id, f.lane_id, f.priority, 'pending' from holdfast.following as f where f.job_id > p_after
    ) as s
    join holdfast.bodies as b on b.id = s.job_id
    where (v_type is null or s.type_id = v_type) and (v_lane is null or s.lane_id = v_lane)
      and (p_status is null or s.status = p_status) and (p_priority is null or s.priority = p_priority)
      and (p_concurrency_key is null or b.concurrency_key = p_concurrency_key)
      and b.created_at < p_created_before
      and (p_payload is null or b.payload::jsonb @> p_payload)
    order by s.job_id limit p_limit;
end 

function holdfast.measure_depths()
  returns double precision, plpgsql, volatile, parallel unsafe
  set jit=off, max_parallel_workers_per_gather=0
declare
  v_begun timestamptz := clock_timestamp();
  v_last holdfast.depths_measured;
begin
  select * into v_last from holdfast.depths_measured;
  if holdfast.now() < v_last.measured_at + greatest(interval '1 second', v_last.cost * 20)
     or not pg_try_advisory_xact_lock(hashtextextended('holdfast.depths', 0)) then
    return extract(epoch from holdfast.now() - nullif(v_last.measured_at, '-infinity')) * 1000;
  end if;
  with living as materialized (
    select s.type_id, s.priority, count(*) filter (where s.place = 'ready') as waiting,
           count(*) filter (where s.place = 'later') as scheduled, count(*) filter (where s.place = 'running') as running,
           min(s.ready_at) filter (where s.place = 'ready') as oldest_at
    from (
      select type_id, priority, case when lease_id is null then 'ready' else 'running' end as place, ready_at from holdfast.queue
      union all
      select type_id, priority, 'ready', ready_at from holdfast.gated
      union all
      select type_id, priority, 'ready', due_at from holdfast.following
      union all
      select type_id, priority, 'later', due_at from holdfast.waiting
    ) as s group by s.type_id, s.priority
  ), ever as (
    insert into holdfast.enqueued as e (type_id, total, running)
    select c.type_id, c.ended + coalesce(l.living, 0), coalesce(l.running, 0) from holdfast.counters as c
    left join (
      select type_id, sum(waiting + scheduled + running) as living, sum(running) as running from living group by type_id
    ) as l on l.type_id = c.type_id
    left join holdfast.enqueued as k on k.type_id = c.type_id
    where coalesce(k.total, 0) < c.ended + coalesce(l.living, 0) or coalesce(k.running, 0) <> coalesce(l.running, 0)
    on conflict (type_id) do update set total = greatest(e.total, excluded.total), running = excluded.running
  ), counted as (
    select * from living where waiting > 0 or scheduled > 0
  ), gone as (
    delete from holdfast.depths as d
    where not exists (select from counted as c where c.type_id = d.type_id and c.priority = d.priority)
  )
  insert into holdfast.depths as d (type_id, priority, waiting, scheduled, oldest_at)
  select c.type_id, c.priority, c.waiting, c.scheduled, c.oldest_at from counted as c
  on conflict (type_id, priority) do update
    set waiting = excluded.waiting, scheduled = excluded.scheduled, oldest_at = excluded.oldest_at
    where (d.waiting, d.scheduled, d.oldest_at) is distinct from (excluded.waiting, excluded.scheduled, excluded.oldest_at);
  -- An empty queue is counted in no time; that it is still empty need not be written down.
  if found or exists (select from holdfast.depths) then
    update holdfast.depths_measured set measured_at = holdfast.now(), cost = clock_timestamp() - v_begun;
  end if;
  return extract(epoch from clock_timestamp() - v_begun) * 1000;
end 

function holdfast.meet_standing(p_taken holdfast.uniques, p_unique holdfast.uniqueness, p_id uuid, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_approval jsonb, p_due timestamp with time zone, p_lane smallint, p_wake_always boolean)
  returns TABLE(job_id uuid, what text), plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
  v_first uuid;
  v_next uuid;
  v_first_is text;
  v_next_is text;
  v_target uuid;
  v_held record;
  v_ended constant text[] := '{completed,cancelled,dead,discarded}';
  -- For one_more, whether the job in front runs decides: what waits is one more already.
  v_states constant text[] := case p_unique.policy when 'one_more' then array_remove(p_unique.states, 'processing') else p_unique.states end;
begin
  for v_look in 1..10 loop
    v_first := p_taken.job_id;
    v_next := p_taken.next_job_id;
    v_first_is := holdfast.status_of(v_first);
    v_next_is := holdfast.status_of(v_next);
    if v_next is not null and coalesce(v_first_is, 'completed') = any (v_ended) then
      v_first := v_next;
      v_first_is := v_next_is;
      v_next := null;
    elsif coalesce(v_next_is, 'completed') = any (v_ended) then
      v_next := null;
    end if;
    if v_next is null then
      v_next_is := null;
    end if;

    if p_unique.policy in ('reject', 'existing') then
      job_id := case when v_first_is = any (v_states) then v_first when v_next_is = any (v_states) then v_next
                     when p_taken.taken_at + p_unique.period > v_now then coalesce(v_next, v_first) end;
      if job_id is not null and p_unique.policy = 'reject' then
        raise exception 'job % stands for this unique key', job_id using errcode = 'HF409', detail = job_id::text;
      end if;
      what := 'existing';
      exit;
    end if;
    v_target := case when v_next_is = any (v_states) then v_next when v_first_is = any (v_states) then v_first end;
    if p_unique.policy = 'one_more' and v_target is null and (v_first_is = 'processing' or v_next_is = 'processing') then
      -- Where both run, as after a replay, behind the one that came last.
      v_first := case when v_next_is = 'processing' then v_next else v_first end;
      insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
      values (p_id, v_first, coalesce(p_due, v_now), p_taken.type_id, p_lane, p_priority);
      update holdfast.uniques as u set job_id = v_first, next_job_id = p_id
      where u.type_id = p_taken.type_id and u.key = p_taken.key;
      job_id := p_id;
      what := 'queued_behind';
      return next;
      return;
    end if;
    if v_target is null then
      job_id := case when p_taken.taken_at + p_unique.period > v_now then v_first end;
      what := 'existing';
      exit;
    end if;
    select * into v_held from holdfast.hold_still(v_target);
    if found and v_held.status = any (v_states) then
      job_id := v_target;
      if p_unique.policy = 'one_more' and v_held.place <> 'following' then
        -- It starts after this transaction, so it is one more already.
        what := 'existing';
      else
        what := case p_unique.policy when 'debounce' then 'debounced' else 'replaced' end;
        perform holdfast.renew_job(
          v_target, case p_unique.policy when 'debounce' then 'debounce' else 'replace' end, v_held.place, p_payload, p_priority,
          p_max_attempts, p_concurrency_key, p_approval,
          case when p_unique.policy <> 'debounce' then coalesce(p_due, v_now)
               when v_held.place = 'waiting' and v_held.status in ('scheduled', 'awaiting_approval')
                 then least(v_now + p_unique.delay,
                            case when p_unique.max_wait is not null then greatest(p_taken.taken_at + p_unique.max_wait, v_now) end) end,
          p_wake_always);
      end if;
      exit;
    elsif p_unique.policy <> 'one_more' and holdfast.status_of(v_target) = any (v_states)
          and holdfast.status_of(v_target) = any (v_ended || 'processing'::text) then
      -- It cannot be changed any more, and the caller counts it.
      job_id := v_target;
      what := 'existing';
      exit;
    elsif v_look = 10 then
      raise exception 'job %, which stands for this unique key, moved on ten times while it was looked at', v_target
        using errcode = '40001', hint = 'Try again.';
    end if;
  end loop;

  if job_id is null then
    update holdfast.uniques as u
    set job_id = p_id, next_job_id = null, taken_at = v_now, kept_until = v_now + coalesce(p_unique.period, interval '0')
    where u.type_id = p_taken.type_id and u.key = p_taken.key;
    job_id := p_id;
    what := 'created';
  end if;
  return next;
end 

function holdfast.mend_drift(p_found holdfast.drift[])
  returns SETOF holdfast.drift, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_found holdfast.drift[];
begin
  perform pg_advisory_xact_lock(holdfast.settles_lock());
  perform from holdfast.gates as g where g.type_id = any (array(select d.type_id from unnest(p_found) as d)) order by g.type_id for update;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  v_found := array(
    select d from holdfast.drift_of_jobs(array(select f.job_id from unnest(p_found) as f where f.job_id is not null)) as d
    union all
    select d from holdfast.drift_of_keys(array(select f.type_id from unnest(p_found) as f where f.job_id is null),
                                         array(select f.concurrency_key from unnest(p_found) as f where f.job_id is null)) as d);
  insert into holdfast.lane_slots (job_id, lane_id)
  select d.job_id, d.lane_id from unnest(v_found) as d where d.what = 'lane_slot_missing' on conflict do nothing;
  insert into holdfast.held (job_id, type_id, concurrency_key, lease_id)
  select q.job_id, q.type_id, d.concurrency_key, q.lease_id
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'held_missing' on conflict do nothing;
  update holdfast.held as h set lease_id = q.lease_id
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'held_state' and h.job_id = d.job_id;
  update holdfast.held as h set concurrency_key = coalesce(b.concurrency_key, '')
  from unnest(v_found) as d join holdfast.bodies as b on b.id = d.job_id where d.what = 'held_key' and h.job_id = d.job_id;
  -- A key that jobs arrive for is looked at anew, whatever was thought of it.
  insert into holdfast.arrivals (type_id, concurrency_key)
  select distinct d.type_id, d.concurrency_key from unnest(v_found) as d where d.what in ('key_full', 'key_idle', 'held_key');
  -- A lease that has run out, so that the job is rescued like any other whose worker went silent.
  insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
  select q.lease_id, 0, v_now, v_now - interval '1 second', array_agg(q.job_id)
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'lease_missing' group by q.lease_id;
  perform holdfast.free_slots(array(select d.job_id from unnest(v_found) as d where d.what = 'lane_slot_left'),
                              nullif(array(select d.job_id from unnest(v_found) as d where d.what = 'held_left'), '{}'));
  perform holdfast.start_followers(array(
    select f.follows from unnest(v_found) as d join holdfast.following as f on f.job_id = d.job_id where d.what = 'leader_missing'));
  return query select * from unnest(v_found);
end 

function holdfast.missing_days(p_ahead integer DEFAULT 3)
  returns TABLE(family text, day date), sql, stable, parallel unsafe
  select f.family, d.day
  from unnest(array['bodies', 'history', 'dead_letters', 'log_lines']) as f (family)
  join pg_class as c on c.oid = to_regclass('holdfast.' || f.family)
  cross join (select ((holdfast.now() at time zone 'UTC')::date + n) as day from generate_series(0, p_ahead) as n) as d
  where to_regclass('holdfast.' || f.family || '_' || to_char(d.day, 'YYYYMMDD')) is null
  order by d.day, f.family

function holdfast.move_aside(p_rows tid[], p_gated integer[])
  returns tid[], plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, enable_nestloop=on, jit=off, plan_cache_mode=force_generic_plan
declare
  v_shut integer[] := array(
    select g.type_id from holdfast.gates as g
    where g.paused_at is not null or g.stopped_until > holdfast.now() or g.breaker_hold = 'open');
  v_broken integer[] := array(
    select g.type_id from holdfast.gates as g where g.breaker_opened_at is not null and g.breaker_hold = 'auto');
  v_moved tid[];
begin
  with aside as (
    delete from holdfast.queue as q
    where q.ctid = any (p_rows) and q.type_id = any (p_gated)
      and (q.pass = 0 or q.type_id = any (v_shut) or (q.pass = 1 and q.type_id = any (v_broken)))
    returning q.ctid, q.job_id, q.ready_at, q.type_id, q.lane_id, q.priority, q.attempt
  ), given_up as (
    delete from holdfast.held as h using aside as a where h.job_id = a.job_id
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select a.job_id, a.ready_at - a.priority * l.ageing, a.ready_at, a.type_id, a.lane_id, a.priority, a.attempt,
           coalesce(b.concurrency_key, '')
    from aside as a join holdfast.lanes as l on l.id = a.lane_id join holdfast.bodies as b on b.id = a.job_id
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct g.type_id, g.concurrency_key from gated as g
  )
  select array_agg(a.ctid) into v_moved from aside as a;
  if v_moved is null then
    return p_rows;
  end if;
  return array(select r from unnest(p_rows) as r where not r = any (v_moved));
end 

function holdfast.move_jobs_to_lane(p_type text, p_limit integer)
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_type holdfast.types;
  v_moved integer;
begin
  select * into v_type from holdfast.types as t where t.id = holdfast.type_named(p_type);
  update holdfast.queue as q set lane_id = v_type.lane_id
  where q.ctid = any (array(
    select f.ctid from holdfast.queue as f
    where f.type_id = v_type.id and f.lane_id <> v_type.lane_id and f.lease_id is null limit p_limit for update skip locked));
  get diagnostics v_moved = row_count;
  if v_moved > 0 then
    perform holdfast.wake_lanes(array[v_type.lane_id], true);
  end if;
  return v_moved;
end 

function holdfast.new_job_id()
  returns uuid, sql, volatile, parallel safe
  select (substr(t, 1, 12) || '7' || substr(r, 14, 3) || substr(r, 17, 16))::uuid
  from (select lpad(to_hex(floor(extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') as t,
               replace(gen_random_uuid()::text, '-', '') as r) as parts

function holdfast.next_keys(p_type integer, p_key text, p_limit integer)
  returns TABLE(type_id integer, key text), sql, stable, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, jit=off
  -- From one key to the next by the index: a key may have a million jobs.
  with recursive waiting (type_id, key, place) as (
    (select g.type_id, g.concurrency_key, 1 from holdfast.gated as g where (g.type_id, g.concurrency_key) > (p_type, p_key)
     order by g.type_id, g.concurrency_key limit 1)
    union all
    select n.type_id, n.concurrency_key, w.place + 1 from waiting as w cross join lateral (
      select g.type_id, g.concurrency_key from holdfast.gated as g where (g.type_id, g.concurrency_key) > (w.type_id, w.key)
      order by g.type_id, g.concurrency_key limit 1) as n
    where w.place < p_limit
  )
  select w.type_id, w.key from waiting as w
  union
  (select k.type_id, k.concurrency_key from holdfast.keys as k where (k.type_id, k.concurrency_key) > (p_type, p_key)
   order by k.type_id, k.concurrency_key limit p_limit)
  order by 1, 2 limit p_limit

function holdfast.not_dead(p_job uuid)
  returns SETOF holdfast.moved, sql, volatile, parallel unsafe
  select p_job, false, j.status, j.status, case j.status
    when 'discarded' then 'it was already discarded'
    else coalesce((select format('it was already replayed by %s and is %s', m.actor, j.status) from holdfast.moves as m
                   where m.job_id = p_job and m.move = 'replay' order by m.at desc limit 1),
                  format('it is not dead but %s', j.status)) end
  from (select p_job as id) as asked left join holdfast.jobs as j on j.id = asked.id

function holdfast.not_live(p_job uuid)
  returns SETOF holdfast.moved, sql, volatile, parallel unsafe
  select p_job, false, j.status, j.status, case j.status
    when 'completed' then 'it has already completed'
    when 'cancelled' then 'it was already cancelled'
    when 'dead' then 'it is dead; it can be replayed or discarded'
    when 'discarded' then 'it was already discarded' end
  from (select p_job as id) as asked left join holdfast.jobs as j on j.id = asked.id

function holdfast.note_sayings(p_jobs uuid[], p_attempts smallint[], p_fractions real[], p_notes text[], p_lines text[], p_ages_ms double precision[], p_levels text[] DEFAULT NULL::text[])
  returns void, sql, volatile, parallel unsafe
  with said as materialized (
    select s.job_id, s.attempt, s.fraction, s.note, s.line, coalesce(s.level, 'info') as level, s.place, holdfast.now() - s.age * interval '1 millisecond' as at
    from unnest(p_jobs, p_attempts, p_fractions, p_notes, p_lines, p_ages_ms, p_levels) with ordinality
      as s (job_id, attempt, fraction, note, line, age, level, place)
  ), lines as (
    insert into holdfast.log_lines (job_id, attempt, at, level, line)
    select s.job_id, s.attempt, s.at, s.level, s.line from said as s where s.line is not null order by s.place
  )
  insert into holdfast.progress as p (job_id, attempt, fraction, note, at)
  select distinct on (s.job_id) s.job_id, s.attempt, s.fraction, s.note, s.at
  from said as s where s.fraction is not null order by s.job_id, s.attempt desc, s.place desc
  on conflict (job_id) do update set attempt = excluded.attempt, fraction = excluded.fraction, note = excluded.note, at = excluded.at
    where p.attempt <= excluded.attempt

function holdfast.now()
  returns timestamp with time zone, sql, volatile, parallel safe
select pg_catalog.clock_timestamp()

function holdfast.open_breaker(p_type integer, p_reason text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
begin
  insert into holdfast.gates as g (type_id, breaker_opened_at, breaker_reason, breaker_probe_at)
  values (p_type, v_now, p_reason, v_now + interval '60 seconds')
  on conflict (type_id) do update
    set breaker_opened_at = v_now, breaker_reason = p_reason, breaker_probe_at = v_now + g.breaker_probe
    where g.breaker_opened_at is null;
  update holdfast.types set gated = true where id = p_type and not gated;
end 

function holdfast.open_session(p_hash bytea, p_key integer, p_lives_ms double precision, p_by text)
  returns timestamp with time zone, plpgsql, volatile, parallel unsafe
declare
  v_expires timestamptz := holdfast.now() + p_lives_ms * interval '1 millisecond';
begin
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.expires_at <= holdfast.now() order by s.hash for update skip locked);
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.key_id is not distinct from p_key
    order by s.created_at desc, s.hash offset 99 for update skip locked);
  insert into holdfast.sessions (hash, key_id, expires_at) values (p_hash, p_key, v_expires);
  perform holdfast.audit('open_session', p_key::text, null, jsonb_build_object('expires_at', v_expires), p_by, null);
  return v_expires;
end 

function holdfast.operate_breaker(p_type text, p_action text, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_reason text := format('%s by %s%s', case p_action when 'open' then 'opened' when 'close' then 'closed'
    when 'hold_open' then 'held open' when 'hold_closed' then 'held closed' else 'released' end, p_by, coalesce(': ' || p_why, ''));
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  case p_action
    when 'open' then
      perform holdfast.open_breaker(v_type, v_reason);
    when 'close' then
      perform holdfast.close_breaker(v_type, v_reason);
      update holdfast.gates set breaker_hold = 'auto' where type_id = v_type;
    when 'hold_open' then
      update holdfast.gates set breaker_hold = 'open', breaker_reason = v_reason where type_id = v_type;
    when 'hold_closed' then
      update holdfast.gates set breaker_hold = 'closed', breaker_reason = v_reason where type_id = v_type;
    when 'release' then
      update holdfast.gates set breaker_hold = 'auto', breaker_reason = v_reason where type_id = v_type;
    else
      raise exception 'a breaker cannot "%"', p_action using errcode = 'HF002',
        hint = 'It can open, close, hold_open, hold_closed and release.';
  end case;
  perform holdfast.audit('breaker_' || p_action, p_type, v_before, holdfast.gate_settings(v_type), p_by, p_why);
  perform holdfast.review_gate(v_type);
end 

function holdfast.owned(p_jobs uuid[], p_owner text)
  returns uuid[], plpgsql, volatile, parallel unsafe
begin
  if coalesce(p_owner, '') <> coalesce(current_setting('holdfast.owner', true), '') then
    perform set_config('holdfast.owner', coalesce(p_owner, ''), true);
  end if;
  return p_jobs;
end 

function holdfast.pause_key(p_type text, p_key text, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  insert into holdfast.keys as k (type_id, concurrency_key, paused_at, paused_by, paused_why)
  values (v_type, p_key, holdfast.now(), p_by, p_why)
  on conflict (type_id, concurrency_key) do update
    set paused_at = excluded.paused_at, paused_by = excluded.paused_by, paused_why = excluded.paused_why where k.paused_at is null;
  perform holdfast.audit('pause_key', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_by, p_why);
  perform holdfast.pull_back(v_type, p_key);
  insert into holdfast.arrivals (type_id, concurrency_key) values (v_type, p_key);
  perform holdfast.review_gate(v_type);
end 

function holdfast.pause_type(p_type text, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  update holdfast.gates set paused_at = holdfast.now(), paused_by = p_by, paused_why = p_why
  where type_id = v_type and paused_at is null;
  update holdfast.types set gated = true where id = v_type and not gated;
  perform holdfast.audit('pause_type', p_type, v_before, holdfast.gate_settings(v_type), p_by, p_why);
end 

function holdfast.promote_due(p_limit integer, p_after timestamp with time zone)
  returns TABLE(promoted integer, read_to timestamp with time zone, next_in_ms double precision), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_sort=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_rows tid[];
  v_unapproved uuid[];
  v_lanes smallint[];
  v_gate_at timestamptz;
begin
  if exists (select from holdfast.following as f where f.unsure) then
    perform holdfast.start_followers(array(select f.follows from holdfast.following as f where f.unsure));
  end if;
  select array_agg(due.ctid) filter (where due.status <> 'awaiting_approval'), max(due.due_at),
         array_agg(due.job_id) filter (where due.status = 'awaiting_approval')
  into v_rows, read_to, v_unapproved
  from (
    select w.ctid, w.due_at, w.job_id, w.status from holdfast.waiting as w
    where w.due_at >= p_after and w.due_at <= v_now
    order by w.due_at limit p_limit
    for update skip locked
  ) as due;
  if v_unapproved is not null then
    perform holdfast.apply_deadlines(v_unapproved);
  end if;
  promoted := coalesce(cardinality(v_rows), 0);
  if promoted > 0 then
    with moved as (
      delete from holdfast.waiting as w where w.ctid = any (v_rows)
      returning w.due_at, w.job_id, w.type_id, w.lane_id, w.priority, w.attempt
    ), queued as (
      insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
      select m.due_at, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt
      from moved as m join holdfast.types as t on t.id = m.type_id where not t.gated
    ), gated as (
      insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select m.job_id, m.due_at - m.priority * l.ageing, m.due_at, m.type_id, t.lane_id, m.priority, m.attempt,
             coalesce(b.concurrency_key, '')
      from moved as m join holdfast.types as t on t.id = m.type_id join holdfast.lanes as l on l.id = t.lane_id
      join holdfast.bodies as b on b.id = m.job_id where t.gated
      returning type_id, concurrency_key
    ), arrived as (
      insert into holdfast.arrivals (type_id, concurrency_key) select distinct type_id, concurrency_key from gated
    )
    select array_agg(distinct t.lane_id) into v_lanes from moved as m join holdfast.types as t on t.id = m.type_id;
    perform holdfast.wake_lanes(v_lanes, false);
  end if;
  perform holdfast.end_orphaned();
  v_gate_at := holdfast.admit_waiting();
  select extract(epoch from least(v_gate_at, (
    select w.due_at from holdfast.waiting as w
    where w.due_at >= coalesce(read_to, p_after) and w.due_at < 'infinity' order by w.due_at limit 1)) - v_now) * 1000
  into next_in_ms;
  return next;
end 

function holdfast.pull_back(p_type integer, p_key text)
  returns void, plpgsql, volatile, parallel unsafe
begin
  perform holdfast.pull_back_unlocked(p_type, p_key);
  if exists (select from holdfast.admitted_not_running(p_type, p_key)) then
    perform pg_advisory_xact_lock(holdfast.claims_lock());
    perform holdfast.pull_back_unlocked(p_type, p_key);
  end if;
end 

function holdfast.pull_back_unlocked(p_type integer, p_key text)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
begin
  with admitted as materialized (
    select q.ctid as place from holdfast.queue as q
    where q.job_id = any (array(select a.job_id from holdfast.admitted_not_running(p_type, p_key) as a))
      and q.lease_id is null and q.pass = 1
    for update skip locked
  ), pulled as (
    delete from holdfast.queue as q where q.ctid = any (array(select a.place from admitted as a))
    returning q.job_id, q.ready_at, q.type_id, q.lane_id, q.priority, q.attempt
  ), given_up as (
    delete from holdfast.held as h using pulled as p where h.job_id = p.job_id returning h.job_id, h.concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct p_type, g.concurrency_key from given_up as g
  )
  insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
  select p.job_id, p.ready_at - p.priority * l.ageing, p.ready_at, p.type_id, p.lane_id, p.priority, p.attempt, g.concurrency_key
  from pulled as p join given_up as g on g.job_id = p.job_id join holdfast.lanes as l on l.id = p.lane_id;
end 

function holdfast.rate_window(p_per interval)
  returns interval, sql, immutable, parallel safe
 select p_per + least(p_per / 20, interval '100 milliseconds') 

function holdfast.read_approval(p_asked jsonb)
  returns jsonb, plpgsql, immutable, parallel unsafe
declare
  v_unknown text;
  v_quorum integer;
  v_deadline interval;
begin
  if p_asked is null or p_asked = 'true' then
    return case when p_asked is not null then jsonb_build_object('quorum', 1, 'on_deadline', 'cancel') end;
  end if;
  if jsonb_typeof(p_asked) <> 'object' then
    raise exception 'approval is %; it is true or an object with quorum, deadline and on_deadline', p_asked using errcode = 'HF002';
  end if;
  select o.key into v_unknown from jsonb_object_keys(p_asked) as o (key) where o.key not in ('quorum', 'deadline', 'on_deadline') limit 1;
  if v_unknown is not null then
    raise exception 'approval.% is not known', v_unknown using errcode = 'HF002', hint = 'Known are quorum, deadline and on_deadline.';
  end if;
  v_quorum := coalesce((p_asked ->> 'quorum')::integer, 1);
  v_deadline := (p_asked ->> 'deadline')::interval;
  if v_quorum not between 1 and 100 then
    raise exception 'approval.quorum is %; it must lie between 1 and 100', v_quorum using errcode = 'HF002';
  end if;
  if v_deadline <= interval '0' or v_deadline > interval '1825 days' then
    raise exception 'approval.deadline is %; it must be positive and at most five years (1825 days)', v_deadline using errcode = 'HF002';
  end if;
  if coalesce(p_asked ->> 'on_deadline', 'cancel') not in ('cancel', 'approve') then
    raise exception 'approval.on_deadline is "%"; it is cancel or approve', p_asked ->> 'on_deadline' using errcode = 'HF002';
  end if;
  return jsonb_strip_nulls(jsonb_build_object('quorum', v_quorum, 'on_deadline', coalesce(p_asked ->> 'on_deadline', 'cancel'),
    'deadline_ms', extract(epoch from v_deadline) * 1000));
end 

function holdfast.read_metrics()
  returns json, plpgsql, stable, parallel unsafe
  set jit=off
begin
  return (select json_build_object(
    'types', (
      select coalesce(json_agg(json_build_object(
        'type', t.name, 'priority', t.priority,
        'enqueued', greatest(coalesce(e.total, 0), c.ended), 'running', coalesce(e.running, 0),
        'completed', c.completed, 'failed', c.failed, 'rescued', c.lost, 'dead', c.dead, 'cancelled', c.cancelled,
        'replayed', c.replayed, 'late', c.late, 'deadLetters', coalesce(d.dead, 0),
        'breakerOpen', coalesce(g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'), false),
        'paused', g.paused_at is not null,
        'depths', coalesce((select json_agg(json_build_array(p.priority, p.waiting, p.scheduled) order by p.priority)
                            from holdfast.depths as p where p.type_id = t.id), '[]'),
        'durations', coalesce((select json_agg(json_build_array(u.bucket, u.count, u.seconds) order by u.bucket)
                               from holdfast.durations as u where u.type_id = t.id), '[]')
      ) order by t.name), '[]')
      from holdfast.types as t join holdfast.counters as c on c.type_id = t.id
      left join holdfast.enqueued as e on e.type_id = t.id
      left join holdfast.dead_depths as d on d.type_id = t.id
      left join holdfast.gates as g on g.type_id = t.id),
    'oldest', (
      select coalesce(json_agg(json_build_array(o.priority, greatest(0, extract(epoch from holdfast.now() - o.oldest_at)))), '[]')
      from (select priority, min(oldest_at) as oldest_at from holdfast.depths where oldest_at is not null group by priority) as o),
    'lanes', (
      select coalesce(json_agg(json_build_object(
        'lane', l.name, 'slots', l.slots, 'enabled', l.enabled,
        'inUse', (select count(*) from holdfast.lane_slots as s where s.lane_id = l.id)) order by l.name), '[]')
      from holdfast.lanes as l),
    'refusals', (select coalesce(json_agg(json_build_array(e.status, e.total) order by e.status), '[]') from holdfast.enqueue_errors as e),
    'workers', (
      select count(*) from holdfast.workers as w where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes')
  ));
end 

function holdfast.read_options(p_options jsonb, OUT id uuid, OUT priority smallint, OUT max_attempts smallint, OUT delay_ms double precision, OUT run_at timestamp with time zone, OUT idempotency_key text, OUT concurrency_key text, OUT approval jsonb, OUT uniqueness jsonb)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_option text;
  v_problem text;
begin
  if jsonb_typeof(p_options) <> 'object' then
    raise exception 'the options are a JSON %, not an object', jsonb_typeof(p_options) using errcode = 'HF002';
  end if;
  select o.key into v_option from jsonb_object_keys(p_options) as o (key)
  where o.key not in ('id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'approval',
                      'unique')
  limit 1;
  if found then
    raise exception 'unknown option "%"', v_option using errcode = 'HF002',
      hint = 'The options are id, priority, max_attempts, delay, run_at, idempotency_key, concurrency_key, approval and unique.';
  end if;
  if p_options ->> 'delay' is not null and p_options ->> 'run_at' is not null then
    raise exception 'delay and run_at exclude each other' using errcode = 'HF002';
  end if;

  begin
    v_option := 'id';
    id := p_options ->> v_option;
    v_option := 'priority';
    priority := p_options ->> v_option;
    v_option := 'max_attempts';
    max_attempts := p_options ->> v_option;
    v_option := 'delay';
    delay_ms := extract(epoch from (p_options ->> v_option)::interval) * 1000;
    v_option := 'run_at';
    run_at := p_options ->> v_option;
    v_option := 'idempotency_key';
    idempotency_key := p_options ->> v_option;
    v_option := 'concurrency_key';
    concurrency_key := p_options ->> v_option;
    v_option := 'approval';
    approval := holdfast.read_approval(p_options -> v_option);
    v_option := 'unique';
    uniqueness := nullif(p_options -> v_option, 'null');
  exception when data_exception then
    raise exception 'option % cannot be %: %', v_option, p_options -> v_option, sqlerrm using errcode = 'HF002';
  end;

  select wrong.name, wrong.rule into v_option, v_problem from (values
    ('id', substr(id::text, 15, 1) <> '7' or substr(id::text, 20, 1) not in ('8', '9', 'a', 'b'),
     'it must be a UUIDv7; for keys of your own there is idempotency_key'),
    ('priority', priority not between 0 and 9, 'it must be a whole number from 0 to 9'),
    ('max_attempts', max_attempts not between 1 and 20, 'it must be a whole number from 1 to 20'),
    -- A bare number is seconds to PostgreSQL and milliseconds to the SDK, so it is nobody's.
    ('delay', p_options ->> 'delay' ~ '^[-+ \d.]*$', 'it must have a unit, such as "5 minutes" or "90s"'),
    ('delay', delay_ms not between 0 and 157680000000, 'it must lie between 0 and five years'),
    ('run_at', run_at not between '2000-01-01Z' and '2199-12-31Z', 'it must lie between the years 2000 and 2199'),
    ('idempotency_key', length(idempotency_key) not between 1 and 500, 'it must have 1 to 500 characters'),
    ('concurrency_key', length(concurrency_key) not between 1 and 500, 'it must have 1 to 500 characters')
  ) as wrong (name, is_wrong, rule) where wrong.is_wrong limit 1;
  if found then
    raise exception 'option % is %; %', v_option, left((p_options -> v_option)::text, 100), v_problem using errcode = 'HF002';
  end if;
  id := coalesce(id, holdfast.new_job_id());
end 

function holdfast.read_uniqueness(p_given jsonb, p_payload jsonb)
  returns holdfast.uniqueness, plpgsql, volatile, parallel unsafe
declare
  v_known constant text[] := '{key,by,period,states,on_conflict,delay,max_wait}';
  v_policies constant text[] := '{reject,existing,replace,debounce,one_more}';
  v_waits constant text[] := '{awaiting_approval,scheduled,pending,failed}';
  v_statuses constant text[] := v_waits || '{processing,completed,cancelled,dead,discarded}'::text[];
  v_read holdfast.uniqueness;
  v_by jsonb := coalesce(p_given -> 'by', '"payload"');
  v_chosen jsonb := '{}';
  v_field text;
  v_value jsonb;
  v_wrong text;
  v_longest constant interval := interval '1825 days';
begin
  if p_given is null or p_given = 'false' then
    return v_read;
  end if;
  if jsonb_typeof(p_given) <> 'object' then
    raise exception 'unique must be false or an object' using errcode = 'HF002';
  end if;
  select k into v_wrong from jsonb_object_keys(p_given) as k where not k = any (v_known) limit 1;
  if v_wrong is not null then
    raise exception 'unknown field "unique.%"', v_wrong using errcode = 'HF002',
      hint = format('The fields are %s.', array_to_string(v_known, ', '));
  end if;
  select k into v_wrong from unnest('{key,period,on_conflict,delay,max_wait}'::text[]) as k
  where jsonb_typeof(p_given -> k) <> 'string' limit 1;
  if v_wrong is not null then
    raise exception 'unique.% must be a text', v_wrong using errcode = 'HF002', hint = 'Durations are texts such as "5 minutes".';
  end if;
  if jsonb_typeof(p_given -> 'states') <> 'array' then
    raise exception 'unique.states must be a list' using errcode = 'HF002';
  end if;
  v_read.policy := coalesce(p_given ->> 'on_conflict', 'reject');
  begin
    v_wrong := 'period';
    v_read.period := p_given ->> v_wrong;
    v_wrong := 'delay';
    v_read.delay := p_given ->> v_wrong;
    v_wrong := 'max_wait';
    v_read.max_wait := p_given ->> v_wrong;
  exception when data_exception then
    raise exception 'unique.% cannot be %: %', v_wrong, p_given -> v_wrong, sqlerrm using errcode = 'HF002';
  end;
  v_read.states := case when p_given ? 'states' then array(select jsonb_array_elements_text(p_given -> 'states'))
                        when v_read.policy in ('replace', 'debounce') then v_waits else v_waits || 'processing'::text end;
  v_wrong := case
    when not v_read.policy = any (v_policies)
      then format('on_conflict is "%s"; it can be %s', v_read.policy, array_to_string(v_policies, ', '))
    when not v_read.states <@ v_statuses or v_read.states = '{}' then 'states has no status, or one that does not exist'
    when p_given ? 'states' and v_read.policy = 'one_more' then 'states has no meaning for one_more'
    when p_given ? 'key' and p_given ? 'by' then 'key and by exclude each other'
    when p_given ? 'key' and length(p_given ->> 'key') not between 1 and 500 then 'key must have 1 to 500 characters'
    when v_read.period <= interval '0' or v_read.delay <= interval '0' then 'period and delay must be longer than nothing'
    when v_read.period > v_longest or v_read.delay > v_longest or v_read.max_wait > v_longest
      then 'period, delay and max_wait must be at most five years (1825 days)'
    -- A bare number is seconds to PostgreSQL and milliseconds to the SDK, so it is nobody's.
    when exists (select from unnest('{period,delay,max_wait}'::text[]) as k where p_given ->> k ~ '^[-+ \d.]*$')
      then 'period, delay and max_wait must have a unit, such as "5 minutes" or "90s"'
    when v_read.period is not null and v_read.policy in ('debounce', 'one_more')
      then format('period has no meaning for %s', v_read.policy)
    when v_read.policy = 'debounce' and v_read.delay is null then 'debounce needs a delay'
    when v_read.policy <> 'debounce' and (v_read.delay is not null or v_read.max_wait is not null)
      then 'delay and max_wait are for debounce'
    when v_read.max_wait < v_read.delay then 'max_wait is shorter than delay'
  end;
  if v_wrong is not null then
    raise exception 'unique: %', v_wrong using errcode = 'HF002';
  end if;

  if p_given ? 'key' then
    v_read.key := 'key ' || (p_given ->> 'key');
  elsif v_by = '"payload"' then
    v_read.key := 'payload ' || encode(sha256(convert_to(p_payload::text, 'UTF8')), 'hex');
  elsif jsonb_typeof(v_by) = 'array' and jsonb_array_length(v_by) > 0 then
    for v_field in select jsonb_array_elements_text(v_by) loop
      -- A property may have a dot in its name.
      v_value := coalesce(p_payload -> v_field, p_payload #> string_to_array(v_field, '.'));
      if v_value is null then
        raise exception 'unique.by names "%", which is not in the payload', v_field using errcode = 'HF002';
      end if;
      v_chosen := v_chosen || jsonb_build_object(v_field, v_value);
    end loop;
    v_read.key := 'fields ' || encode(sha256(convert_to(v_chosen::text, 'UTF8')), 'hex');
  else
    raise exception 'unique.by must be "payload" or a list of fields' using errcode = 'HF002';
  end if;
  return v_read;
end 

function holdfast.refuse_change()
  returns trigger, plpgsql, volatile, parallel unsafe
begin
  raise exception 'the audit log is only added to' using errcode = 'HF007';
end 

function holdfast.refuse_plaintext(p_types text[], p_payloads text[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type text;
begin
  select min(t.name) into v_type from unnest(p_types, p_payloads) as a (type, payload)
  join holdfast.types as t on t.name = a.type where t.encrypted and a.payload not like '{"$enc"%';
  if v_type is not null then
    raise exception 'payloads of % are stored encrypted, and this one is not', v_type using errcode = 'HF009',
      hint = 'Enqueue it where the keys are: in a process with encryption, or over HTTP at a server with it.';
  end if;
end 

function holdfast.release_approved(p_jobs uuid[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_later uuid[];
  v_lanes smallint[];
begin
  with put_off as (
    update holdfast.waiting as w set status = 'scheduled', due_at = r.run_at from holdfast.approval_requests as r
    where w.job_id = any (p_jobs) and r.job_id = w.job_id and r.run_at > holdfast.now()
    returning w.job_id, w.lane_id
  )
  select array_agg(p.job_id), array_agg(distinct p.lane_id) into v_later, v_lanes from put_off as p;
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.make_ready(array(select j from unnest(p_jobs) as j where v_later is null or j <> all (v_later)));
end 

function holdfast.renew_job(p_job uuid, p_move text, p_place text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_approval jsonb, p_due timestamp with time zone, p_wake_always boolean)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_was holdfast.bodies;
  v_run_at timestamptz;
  v_asks boolean;
  v_due timestamptz := p_due;
  v_lane smallint;
begin
  select * into v_was from holdfast.bodies as b where b.id = p_job;
  v_run_at := case when p_due is null then v_was.run_at when p_due > v_now then p_due end;
  perform holdfast.tell_replaced(v_was, p_move, p_payload, p_priority, p_max_attempts, p_concurrency_key, v_run_at);
  v_asks := holdfast.ask_again(p_job, v_was.payload::text = p_payload, p_approval, v_run_at);
  if v_asks then
    v_due := coalesce((select r.deadline from holdfast.approval_requests as r where r.job_id = p_job), 'infinity');
  end if;
  update holdfast.bodies as b
  set payload = p_payload::json, priority = p_priority, max_attempts = p_max_attempts, concurrency_key = p_concurrency_key, run_at = v_run_at
  where b.id = p_job;
  if p_place = 'following' then
    update holdfast.following as f set priority = p_priority, due_at = coalesce(p_due, f.due_at) where f.job_id = p_job;
  elsif p_place = 'waiting' then
    update holdfast.waiting as w
    set priority = p_priority, status = case when v_asks then 'awaiting_approval' else w.status end,
        due_at = case when not v_asks and w.status = 'awaiting_approval' then w.due_at else coalesce(v_due, w.due_at) end
    where w.job_id = p_job
    returning case when w.due_at < v_now + interval '12 seconds' then w.lane_id end into v_lane;
  elsif v_asks or p_due > v_now then
    with ungated as (
      delete from holdfast.gated as g where g.job_id = p_job returning g.type_id, g.lane_id, g.attempt
    )
    insert into holdfast.waiting as w (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select p_job, v_due, stood.type_id, stood.lane_id, p_priority, stood.attempt, case when v_asks then 'awaiting_approval' else 'scheduled' end
    from (select q.type_id, q.lane_id, q.attempt from holdfast.leave_queue(array[p_job]) as q union all select * from ungated) as stood
    returning w.lane_id into v_lane;
  elsif p_place = 'gated' then
    update holdfast.gated as g
    set priority = p_priority, rank = g.ready_at - p_priority * l.ageing, concurrency_key = coalesce(p_concurrency_key, '')
    from holdfast.lanes as l where g.job_id = p_job and l.id = g.lane_id;
    insert into holdfast.arrivals (type_id, concurrency_key) values (v_was.type_id, coalesce(p_concurrency_key, ''));
  elsif v_was.concurrency_key is distinct from p_concurrency_key
        and exists (select from holdfast.queue as q where q.job_id = p_job and q.pass > 0) then
    -- Its slot is one of the old key. Of the new one it has none, so it goes back and is admitted like the others.
    with back as (
      insert into holdfast.gated as g (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
      select p_job, q.ready_at - p_priority * l.ageing, q.ready_at, q.type_id, q.lane_id, p_priority, q.attempt, coalesce(p_concurrency_key, '')
      from holdfast.leave_queue(array[p_job]) as q join holdfast.lanes as l on l.id = q.lane_id
      returning g.type_id, g.concurrency_key, g.lane_id
    ), arrived as (
      insert into holdfast.arrivals (type_id, concurrency_key) select b.type_id, b.concurrency_key from back as b
    )
    select b.lane_id into v_lane from back as b;
  else
    update holdfast.queue as q set priority = p_priority where q.job_id = p_job and q.priority <> p_priority;
  end if;
  perform holdfast.wake_lanes(array_remove(array[v_lane], null), p_wake_always);
end 

function holdfast.repair_drift(p_every interval, p_limit integer)
  returns TABLE(what text, repaired integer), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, jit=off
declare
  v_none constant uuid := '00000000-0000-0000-0000-000000000000';
  v_looked holdfast.drift_looked;
  v_slots uuid[];
  v_jobs uuid[];
  v_types integer[];
  v_keys text[];
  v_found holdfast.drift[];
begin
  select * into v_looked from holdfast.drift_looked;
  if v_looked.at > holdfast.now() - p_every or not pg_try_advisory_xact_lock(hashtextextended('holdfast.drift', 0)) then
    return;
  end if;
  v_slots := array(
    select n.job_id from (
      (select h.job_id from holdfast.held as h where h.job_id > v_looked.after_slot order by h.job_id limit p_limit)
      union (select s.job_id from holdfast.lane_slots as s where s.job_id > v_looked.after_slot order by s.job_id limit p_limit)
      union (select f.job_id from holdfast.following as f where f.job_id > v_looked.after_slot order by f.job_id limit p_limit)
    ) as n order by n.job_id limit p_limit);
  v_jobs := array(select q.job_id from holdfast.queue as q where q.job_id > v_looked.after_job order by q.job_id limit p_limit);
  select array_agg(k.type_id order by k.type_id, k.key), array_agg(k.key order by k.type_id, k.key) into v_types, v_keys
  from holdfast.next_keys(v_looked.after_type, v_looked.after_key, p_limit) as k;
  if cardinality(v_slots) + cardinality(v_jobs) + coalesce(cardinality(v_keys), 0) > 0 or v_looked.after_slot <> v_none
     or v_looked.after_job <> v_none or v_looked.after_type > 0 then
    -- A walk that came to its end begins again. That there is still nothing to look at need not be written down.
    update holdfast.drift_looked set at = holdfast.now(),
      after_slot = case when cardinality(v_slots) < p_limit then v_none else v_slots[p_limit] end,
      after_job = case when cardinality(v_jobs) < p_limit then v_none else v_jobs[p_limit] end,
      after_type = case when cardinality(v_keys) = p_limit then v_types[p_limit] else 0 end,
      after_key = case when cardinality(v_keys) = p_limit then v_keys[p_limit] else '' end;
  end if;
  v_found := array(
    select d from holdfast.drift_of_jobs(v_slots || v_jobs) as d union all select d from holdfast.drift_of_keys(v_types, v_keys) as d);
  if v_found = '{}' then
    return;
  end if;
  return query
    with mended as materialized (
      select d.what, count(*)::integer as repaired from holdfast.mend_drift(v_found) as d group by d.what
    ), counted as (
      insert into holdfast.drift_repairs as r (what, total) select m.what, m.repaired from mended as m
      on conflict on constraint drift_repairs_pkey do update set total = r.total + excluded.total
    )
    select m.what, m.repaired from mended as m;
end 

function holdfast.replay_dead(p_jobs uuid[], p_payload text, p_by text, p_why text, p_confirmed text[] DEFAULT '{}'::text[])
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_dead uuid[] := holdfast.lock_dead(p_jobs);
  v_sensitive text[] := array(select distinct t.name from holdfast.dead_letters as d join holdfast.types as t on t.id = d.type_id
                              where d.job_id = any (v_dead) and t.sensitive order by t.name);
  v_moved holdfast.moved[];
  v_go uuid[];
  v_ask uuid[];
  v_job uuid;
  v_lead uuid;
begin
  if v_dead = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_dead(p_jobs[1]);
    return;
  end if;
  if not v_sensitive <@ p_confirmed then
    raise exception 'not confirmed' using errcode = 'HF008', detail = to_jsonb(v_sensitive);
  end if;
  if p_payload is not null then
    perform holdfast.refuse_plaintext(array(select t.name from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
                                            where b.id = any (v_dead)), array[p_payload]);
  end if;
  with risen as (
    delete from holdfast.dead_letters as d where d.job_id = any (v_dead) returning d.*
  ), known as materialized (
    select r.*, b.payload, t.lane_id, p_payload is not null and exists (
      select from holdfast.approval_requests as a where a.job_id = r.job_id) as asks
    from risen as r join holdfast.bodies as b on b.id = r.job_id join holdfast.types as t on t.id = r.type_id
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select k.job_id, v_now, 'replay', p_by, p_why,
           jsonb_strip_nulls(jsonb_build_object('died_at', k.died_at, 'reason', k.reason, 'attempt', k.attempt,
             'payload', case when p_payload is not null then k.payload::text end,
             'approved_by', case when k.asks then (select jsonb_agg(a.actor order by a.at) from holdfast.approvals as a
                                                   where a.job_id = k.job_id and a.verdict = 'approve') end)),
           jsonb_strip_nulls(jsonb_build_object('attempt', 1, 'payload', p_payload))
    from known as k
  ), back as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select k.job_id, case when k.asks then 'infinity' else v_now end, k.type_id, k.lane_id, k.priority, 1,
           case when k.asks then 'awaiting_approval' else 'scheduled' end
    from known as k
  ), counted as (
    insert into holdfast.happenings (type_id, what, count) select k.type_id, 'replayed', count(*) from known as k group by k.type_id
  )
  select array_agg(row (k.job_id, true, 'dead', case when k.asks then 'awaiting_approval' else 'pending' end, null)::holdfast.moved
                   order by k.job_id),
         array_agg(k.job_id) filter (where not k.asks), array_agg(k.job_id) filter (where k.asks)
  into v_moved, v_go, v_ask from known as k;
  -- A dead letter never outlives its body. If one did, it would have to stay where people see it.
  if coalesce(cardinality(v_moved), 0) <> cardinality(v_dead) then
    raise exception 'the body of a dead letter is missing' using errcode = 'XX000';
  end if;
  -- Attempts are counted from one again, and what an earlier number said must not outrank them.
  delete from holdfast.progress as p where p.job_id = any (v_dead);
  if p_payload is not null then
    update holdfast.bodies as b set payload = p_payload::json where b.id = any (v_dead);
    delete from holdfast.checkpoints as c where c.job_id = any (v_dead);
    delete from holdfast.approvals as a where a.job_id = any (v_ask);
    update holdfast.approval_requests as a set deadline = null, run_at = null where a.job_id = any (v_ask);
  end if;
  -- In the order in which enqueues take keys. One by one: the first of two with one key is in front of the second.
  for v_job in
    select b.id from holdfast.bodies as b where b.id = any (v_dead) and b.unique_key is not null order by b.type_id, b.unique_key, b.id
  loop
    v_lead := holdfast.retake_unique(v_job);
    if v_lead is not null then
      with held_back as (
        delete from holdfast.waiting as w where w.job_id = v_job returning w.type_id, w.lane_id, w.priority
      )
      insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
      select v_job, v_lead, v_now, h.type_id, h.lane_id, h.priority from held_back as h;
      v_go := array_remove(v_go, v_job);
    end if;
  end loop;
  perform holdfast.make_ready(v_go);
  perform holdfast.audit_moves('replay', v_moved, jsonb_build_object('attempt', 1, 'new_payload', p_payload is not null)
    || case when v_sensitive = '{}' then '{}' else jsonb_build_object('confirmed', v_sensitive) end, p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.reschedule_jobs(p_jobs uuid[], p_run_at timestamp with time zone, p_delay_ms double precision, p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_at timestamptz := coalesce(p_run_at, v_now + p_delay_ms * interval '1 millisecond');
  v_live uuid[];
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_at <= v_now then
    return query select * from holdfast.run_now(p_jobs, p_by, p_why);
    return;
  end if;
  v_live := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, case when s.status = 'awaiting_approval' then r.run_at else nullif(s.due_at, 'infinity') end as was_due
    from holdfast.where_jobs_stand(v_live) as s left join holdfast.approval_requests as r on r.job_id = s.job_id
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, v_now, 'reschedule', p_by, p_why, jsonb_build_object('due_at', s.was_due), jsonb_build_object('due_at', v_at)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, case when s.status = 'pending' and s.place <> 'following' then 'scheduled' else s.status end,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  -- A job that waits for approval goes on waiting; the time is for afterwards.
  update holdfast.approval_requests as r set run_at = v_at from holdfast.waiting as w
  where r.job_id = any (v_go) and w.job_id = r.job_id and w.status = 'awaiting_approval';
  update holdfast.waiting as w set due_at = v_at where w.job_id = any (v_go) and w.status <> 'awaiting_approval';
  update holdfast.following as f set due_at = v_at where f.job_id = any (v_go);
  with ungated as (
    delete from holdfast.gated as g where g.job_id = any (v_go) returning g.job_id, g.type_id, g.lane_id, g.priority, g.attempt
  )
  insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
  select q.job_id, v_at, q.type_id, q.lane_id, q.priority, q.attempt, 'scheduled' from holdfast.leave_queue(v_go) as q
  union all
  select g.job_id, v_at, g.type_id, g.lane_id, g.priority, g.attempt, 'scheduled' from ungated as g;
  -- Workers know when the next job is due; that may have changed.
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('reschedule', v_moved, jsonb_build_object('due_at', v_at), p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.rescue_leases(p_limit integer, p_jobs integer, p_crashes integer DEFAULT 2)
  returns TABLE(job_id uuid, type text, attempt smallint, worker_id integer, dead boolean), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_lease holdfast.leases;
  v_leases holdfast.leases[] := '{}';
  v_jobs integer := 0;
  v_lanes smallint[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  for v_lease in
    select l.* from holdfast.leases as l where l.expires_at < v_now order by l.expires_at limit p_limit for update skip locked
  loop
    v_leases := v_leases || v_lease;
    v_jobs := v_jobs + cardinality(v_lease.jobs);
    exit when v_jobs >= p_jobs;
  end loop;
  if cardinality(v_leases) = 0 then
    return;
  end if;

  begin
    return query select * from holdfast.end_leases(v_leases, p_crashes);
  exception
    when deadlock_detected or serialization_failure then
      raise;
    when others then
      foreach v_lease in array v_leases loop
        begin
          return query select * from holdfast.end_leases(array[v_lease], p_crashes);
        exception when others then
          raise warning 'holdfast: lease % could not be rescued: %', v_lease.id, sqlerrm;
          perform holdfast.take_lease_apart(v_lease);
        end;
      end loop;
  end;
  select array_agg(l.id) into v_lanes from holdfast.lanes as l;
  perform holdfast.wake_lanes(v_lanes, true);
end 

function holdfast.resume_key(p_type text, p_key text, p_by text DEFAULT NULL::text, p_why text DEFAULT NULL::text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  -- As in admit_by_turn: a pause earns no turns.
  update holdfast.keys as k set paused_at = null, paused_by = null, paused_why = null, rests_until = null, turn = greatest(k.turn, g.turn)
  from holdfast.gates as g where k.type_id = v_type and k.concurrency_key = p_key and g.type_id = v_type;
  perform holdfast.audit('resume_key', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_by, p_why);
  perform holdfast.review_gate(v_type);
end 

function holdfast.resume_type(p_type text, p_by text DEFAULT NULL::text, p_why text DEFAULT NULL::text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.gate_settings(v_type);
  update holdfast.gates set paused_at = null, paused_by = null, paused_why = null, stopped_until = null where type_id = v_type;
  perform holdfast.audit('resume_type', p_type, v_before, holdfast.gate_settings(v_type), p_by, p_why);
  perform holdfast.review_gate(v_type);
end 

function holdfast.retake_unique(p_job uuid)
  returns uuid, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_body holdfast.bodies;
  v_taken holdfast.uniques;
  v_lead uuid;
begin
  select * into v_body from holdfast.bodies as b where b.id = p_job;
  v_taken := holdfast.take_unique(v_body.type_id, v_body.unique_key, p_job, interval '0');
  if v_taken.job_id is null then
    return null;
  end if;
  v_lead := case when exists (select from holdfast.whereabouts(nullif(v_taken.next_job_id, p_job))) then v_taken.next_job_id
                 when exists (select from holdfast.whereabouts(nullif(v_taken.job_id, p_job))) then v_taken.job_id end;
  if exists (
    with recursive ahead (job_id) as (
      select f.follows from holdfast.following as f where f.job_id = v_lead
      union
      select f.follows from ahead as a join holdfast.following as f on f.job_id = a.job_id
    )
    select from ahead as a where a.job_id = p_job) then
    return null;
  end if;
  update holdfast.uniques as u set job_id = coalesce(v_lead, p_job), next_job_id = case when v_lead is not null then p_job end
  where u.type_id = v_taken.type_id and u.key = v_taken.key;
  return v_lead;
end 

function holdfast.review_gate(p_type integer)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_was_keyed boolean := (select g.keyed from holdfast.gates as g where g.type_id = p_type);
  v_keyed boolean;
begin
  update holdfast.gates as g
  set keyed = g.fair or g.key_max_running is not null or g.key_rate_count is not null
    or exists (select from holdfast.keys as k where k.type_id = p_type and (k.paused_at is not null or k.rests_until is not null))
  where g.type_id = p_type returning g.keyed into v_keyed;
  update holdfast.types set gated = true where id = p_type and not gated;
  if v_keyed and not v_was_keyed then
    -- The jobs before the gate were not told apart so far.
    insert into holdfast.arrivals (type_id, concurrency_key)
    select distinct j.type_id, j.concurrency_key from holdfast.gated as j where j.type_id = p_type;
  end if;
  update holdfast.keys as k set full_now = false, turn = greatest(k.turn, g.turn)
  from holdfast.gates as g where k.type_id = p_type and k.full_now and g.type_id = p_type;
  perform holdfast.admit_type(p_type, true);
  perform holdfast.drop_gate_if_open(p_type);
end 

function holdfast.revoke_key(p_id integer, p_by text, p_why text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb;
begin
  perform from holdfast.api_keys where id = p_id for update;
  v_before := holdfast.key_facts(p_id);
  update holdfast.api_keys set revoked_at = holdfast.now() where id = p_id and revoked_at is null;
  if v_before is not null then
    perform holdfast.audit('revoke_key', p_id::text, v_before, holdfast.key_facts(p_id), p_by, p_why);
  end if;
  return v_before is not null;
end 

function holdfast.rotate_key(p_id integer, p_hash bytea, p_prefix text, p_grace_ms double precision, p_by text, p_why text)
  returns integer, plpgsql, volatile, parallel unsafe
declare
  v_old holdfast.api_keys;
  v_before jsonb;
  v_id integer;
begin
  select * into v_old from holdfast.api_keys as k
  where k.id = p_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now()) for update;
  if not found then
    return null;
  end if;
  if v_old.hash is null then
    raise exception 'key % is a certificate, which has no secret to rotate', p_id using errcode = 'HF006',
      hint = 'A new certificate of the same subject is taken as it comes.';
  end if;
  v_before := holdfast.key_facts(p_id);
  v_id := holdfast.create_key(v_old.service, p_hash, null, p_prefix, v_old.roles, v_old.types, v_old.rate_limit,
    extract(epoch from v_old.expires_at - v_old.created_at) * 1000, p_by, p_why);
  update holdfast.api_keys set expires_at = least(expires_at, holdfast.now() + p_grace_ms * interval '1 millisecond') where id = p_id;
  perform holdfast.audit('rotate_key', p_id::text, v_before, holdfast.key_facts(p_id), p_by, p_why);
  return v_id;
end 

function holdfast.run_now(p_jobs uuid[], p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, s.status in ('scheduled', 'failed') as go from holdfast.where_jobs_stand(v_live) as s
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'run_now', p_by, p_why, jsonb_build_object('due_at', s.due_at),
           jsonb_build_object('due_at', holdfast.now())
    from stood as s where s.go
  )
  select array_agg(row (s.job_id, s.go, s.status, case when s.go then 'pending' else s.status end, case s.status
           when 'pending' then case s.place when 'following' then 'it waits for another job of its unique key' else 'it is due already' end
           when 'processing' then 'it runs already'
           when 'awaiting_approval' then 'it waits for approval' end)::holdfast.moved order by s.job_id),
         array_agg(s.job_id) filter (where s.go)
  into v_moved, v_go from stood as s;
  perform holdfast.make_ready(v_go);
  perform holdfast.audit_moves('run_now', v_moved, jsonb_build_object('due_at', holdfast.now()), p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.save_checkpoint(p_job uuid, p_lease bigint, p_value text)
  returns boolean, plpgsql, volatile, parallel unsafe
declare
  v_attempt smallint;
begin
  select q.attempt into v_attempt from holdfast.queue as q where q.job_id = p_job and q.lease_id = p_lease for update;
  if not found then
    return false;
  end if;
  insert into holdfast.checkpoints (job_id, attempt, value, at) values (p_job, v_attempt, p_value::json, holdfast.now())
  on conflict (job_id) do update set attempt = excluded.attempt, value = excluded.value, at = excluded.at;
  return true;
end 

function holdfast.set_alert_rule(p_name text, p_fields jsonb, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.alert_rules as r where r.name = p_name for update;
  if v_before is null and p_fields ->> 'kind' is null then
    raise exception 'there is no rule "%", and to make one its kind is needed', p_name using errcode = 'HF002',
      hint = 'Kinds are dead_letters, breaker, depth, oldest and enqueue_errors.';
  end if;
  insert into holdfast.alert_rules as r (name, kind) values (p_name, coalesce(p_fields ->> 'kind', v_before ->> 'kind')) on conflict (name) do nothing;
  update holdfast.alert_rules as r set
    kind = coalesce(p_fields ->> 'kind', r.kind),
    threshold = coalesce((p_fields ->> 'threshold')::double precision, r.threshold),
    type = case when p_fields ? 'type' then p_fields ->> 'type' else r.type end,
    min_priority = coalesce((p_fields ->> 'min_priority')::smallint, r.min_priority),
    hold = coalesce((p_fields ->> 'hold_ms')::double precision * interval '1 millisecond', r.hold),
    enabled = coalesce((p_fields ->> 'enabled')::boolean, r.enabled)
  where r.name = p_name;
  perform holdfast.audit('set_alert_rule', p_name, v_before, (select to_jsonb(r) from holdfast.alert_rules as r where r.name = p_name), p_by, p_why);
end 

function holdfast.set_depth_limit(p_scope text, p_name text, p_soft bigint, p_hard bigint, p_oldest_ms double precision, p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb := (select to_jsonb(d) from holdfast.depth_limits as d where d.scope = p_scope and d.name = p_name);
begin
  -- A limit for what does not exist would limit nothing, and nobody would be told.
  if p_scope = 'lane' then
    perform holdfast.lane_named(p_name);
  elsif p_scope = 'type' then
    perform holdfast.type_named(p_name);
  end if;
  insert into holdfast.depth_limits (scope, name, soft, hard, oldest)
  values (p_scope, p_name, p_soft, p_hard, p_oldest_ms * interval '1 millisecond')
  on conflict (scope, name) do update set soft = excluded.soft, hard = excluded.hard, oldest = excluded.oldest;
  perform holdfast.audit('limit_depth', concat_ws(' ', p_scope, nullif(p_name, '')), v_before,
    (select to_jsonb(d) from holdfast.depth_limits as d where d.scope = p_scope and d.name = p_name), p_by, p_why);
end 

function holdfast.set_lane(p_lane text, p_fields jsonb, p_by text, p_why text, p_create boolean)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_told constant text[] := '{id,changed_by,changed_why,changed_at}';
  v_made boolean;
  v_lane smallint;
  v_before holdfast.lanes;
  v_after holdfast.lanes;
begin
  if exists (select from holdfast.lanes as l where l.name = p_lane and l is not distinct from holdfast.lane_with(l, p_fields)) then
    return;
  end if;
  -- One at a time: what is read under it stays so.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.lanes', 0));
  v_made := p_create and not exists (select from holdfast.lanes as l where l.name = p_lane);
  if v_made then
    insert into holdfast.lanes (name) values (p_lane);
  end if;
  v_lane := holdfast.lane_named(p_lane);
  select * into v_before from holdfast.lanes as l where l.id = v_lane;
  v_after := holdfast.lane_with(v_before, p_fields);
  if v_after is not distinct from v_before and not v_made then
    return;
  end if;
  if v_before.slots is null and v_after.slots is not null then
    perform pg_advisory_xact_lock(holdfast.settles_lock());
  end if;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  update holdfast.lanes as l
  set slots = v_after.slots, worker_slots = v_after.worker_slots, poll_ms = v_after.poll_ms, lease_ms = v_after.lease_ms,
      enabled = v_after.enabled, ageing = v_after.ageing, changed_by = p_by, changed_why = p_why, changed_at = holdfast.now()
  where l.id = v_lane;
  perform holdfast.audit('set_lane', p_lane, case when not v_made then to_jsonb(v_before) - v_told end, to_jsonb(v_after) - v_told, p_by, p_why);
  if v_before.slots is null and v_after.slots is not null then
    perform holdfast.count_running_in_lane(v_lane);
  end if;
  perform holdfast.wake_lanes(array[v_lane], true);
end 

function holdfast.set_limits(p_type text, p_limits jsonb, p_by text DEFAULT NULL::text, p_why text DEFAULT NULL::text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform pg_advisory_xact_lock(holdfast.settles_lock());
  perform holdfast.lock_gate(v_type);
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  v_before := holdfast.gate_settings(v_type);
  update holdfast.gates as g set
    max_running = case when p_limits ? 'max_running' then (p_limits ->> 'max_running')::integer else g.max_running end,
    key_max_running = case when p_limits ? 'key_max_running' then (p_limits ->> 'key_max_running')::integer else g.key_max_running end,
    rate_count = case when p_limits ? 'rate_count' then (p_limits ->> 'rate_count')::integer else g.rate_count end,
    rate_per = case when p_limits ? 'rate_per_ms' then (p_limits ->> 'rate_per_ms')::double precision * interval '1 millisecond'
                    else g.rate_per end,
    key_rate_count = case when p_limits ? 'key_rate_count' then (p_limits ->> 'key_rate_count')::integer else g.key_rate_count end,
    key_rate_per = case when p_limits ? 'key_rate_per_ms'
                        then (p_limits ->> 'key_rate_per_ms')::double precision * interval '1 millisecond' else g.key_rate_per end,
    fair = coalesce((p_limits ->> 'fair')::boolean, g.fair),
    breaker_share = coalesce((p_limits ->> 'breaker_share')::double precision, g.breaker_share),
    breaker_minimum = coalesce((p_limits ->> 'breaker_minimum')::integer, g.breaker_minimum),
    breaker_window = coalesce((p_limits ->> 'breaker_window_ms')::double precision * interval '1 millisecond', g.breaker_window),
    breaker_probe = coalesce((p_limits ->> 'breaker_probe_ms')::double precision * interval '1 millisecond', g.breaker_probe)
  where g.type_id = v_type;
  if p_by is not null then
    perform holdfast.audit('set_limits', p_type, v_before, holdfast.gate_settings(v_type), p_by, p_why);
  end if;
  perform holdfast.count_running(v_type);
  perform holdfast.pull_back(v_type, null);
  perform holdfast.review_gate(v_type);
end 

function holdfast.set_priority(p_jobs uuid[], p_priority smallint, p_by text, p_why text)
  returns SETOF holdfast.moved, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_live uuid[] := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_go uuid[];
begin
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select * from holdfast.where_jobs_stand(v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, holdfast.now(), 'set_priority', p_by, p_why, jsonb_build_object('priority', s.priority),
           jsonb_build_object('priority', p_priority)
    from stood as s where s.status <> 'processing'
  )
  select array_agg(row (s.job_id, s.status <> 'processing', s.status, s.status,
                        case when s.status = 'processing' then 'it runs already' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id), array_agg(s.job_id) filter (where s.status <> 'processing')
  into v_moved, v_lanes, v_go from stood as s;
  update holdfast.queue as q set priority = p_priority where q.job_id = any (v_go);
  update holdfast.waiting as w set priority = p_priority where w.job_id = any (v_go);
  update holdfast.following as f set priority = p_priority where f.job_id = any (v_go);
  update holdfast.gated as g set priority = p_priority, rank = g.ready_at - p_priority * l.ageing
  from holdfast.lanes as l where g.job_id = any (v_go) and l.id = g.lane_id;
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.audit_moves('set_priority', v_moved, jsonb_build_object('priority', p_priority), p_by, p_why);
  return query select * from unnest(v_moved);
end 

function holdfast.set_role(p_name text, p_permissions text[], p_by text, p_why text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.roles as r where r.name = p_name for update;
  if v_before ->> 'built_in' = 'true' then
    raise exception 'the role % came with the installation and stays as it is', p_name using errcode = 'HF006', hint = 'Make one of another name.';
  end if;
  insert into holdfast.roles (name, permissions) values (p_name, p_permissions)
  on conflict (name) do update set permissions = excluded.permissions;
  perform holdfast.audit('set_role', p_name, v_before, (select to_jsonb(r) from holdfast.roles as r where r.name = p_name), p_by, p_why);
end 

function holdfast.set_type_lane(p_type text, p_lane text, p_by text DEFAULT NULL::text, p_why text DEFAULT NULL::text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type constant integer := holdfast.type_named(p_type);
  v_lane constant smallint := holdfast.lane_named(p_lane);
  v_before jsonb;
begin
  select jsonb_build_object('lane', l.name) into v_before
  from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.id = v_type;
  update holdfast.types as t
  set lane_id = v_lane, left_lanes = holdfast.lanes_left(t.left_lanes, t.lane_id, v_lane), left_at = holdfast.now(),
      left_in = pg_current_xact_id()
  where t.id = v_type and t.lane_id <> v_lane;
  perform holdfast.audit('move_type', p_type, v_before, jsonb_build_object('lane', p_lane), p_by, p_why);
end 

function holdfast.set_weight(p_type text, p_key text, p_weight real, p_by text DEFAULT NULL::text, p_why text DEFAULT NULL::text)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_type integer := holdfast.type_named(p_type);
  v_before jsonb;
begin
  perform holdfast.lock_gate(v_type);
  v_before := holdfast.key_settings(v_type, p_key);
  insert into holdfast.keys (type_id, concurrency_key, weight) values (v_type, p_key, p_weight)
  on conflict (type_id, concurrency_key) do update set weight = excluded.weight;
  perform holdfast.audit('set_weight', p_type || ' ' || p_key, v_before, holdfast.key_settings(v_type, p_key), p_by, p_why);
end 

function holdfast.settle_jobs(p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[], p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[], p_worker integer, p_closed bigint[], p_stops text[] DEFAULT NULL::text[])
  returns TABLE(job_id uuid, lease_id bigint, outcome holdfast.outcome), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_ended uuid[];
  v_ended_leases bigint[];
  v_passed uuid[];
  v_probed integer[];
  v_gate_types integer[];
  v_failing integer[];
  v_cancelled uuid[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  if cardinality(p_moves) > 0 then
    select * into v_ended, v_ended_leases, v_passed, v_probed, v_gate_types, v_failing
    from holdfast.end_moved(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms, p_worker,
                            p_stops);
  else
    select * into v_ended, v_ended_leases, v_passed, v_probed, v_gate_types
    from holdfast.end_completed(p_jobs, p_leases, p_started_ago_ms, p_ended_ago_ms, p_worker);
  end if;
  if v_passed is not null or cardinality(p_stops) > 0 then
    -- All the gates this call can touch, in order, before it touches one: two settles wait for each other.
    perform from holdfast.gates as g where g.type_id = any (v_gate_types) order by g.type_id for update;
  end if;
  if v_failing is not null then
    perform holdfast.judge_breaker(t.id) from (select distinct unnest(v_failing) as id order by 1) as t;
  end if;
  if v_probed is not null then
    perform holdfast.close_breaker(t.id, 'a probe succeeded') from unnest(v_probed) as t (id) order by t.id;
  end if;
  if cardinality(p_stops) > 0 then
    perform holdfast.stop_for(b.type_id, case s.stop when 'key' then coalesce(b.concurrency_key, '') end, s.delay * interval '1 millisecond')
    from unnest(p_jobs, p_stops, p_delays_ms) as s (job_id, stop, delay) join holdfast.bodies as b on b.id = s.job_id
    where s.stop is not null and s.job_id = any (v_ended) order by b.type_id;
  end if;
  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    v_cancelled := holdfast.end_cancelled(p_jobs, p_leases);
  end if;
  perform holdfast.free_slots(v_ended || v_cancelled, v_passed || v_cancelled);
  perform holdfast.start_followers(v_ended || v_cancelled);

  if cardinality(p_closed) > 0 then
    delete from holdfast.leases where id = any (array(
      select l.id from holdfast.leases as l where l.id = any (p_closed) and l.worker_id = p_worker for update skip locked));
  end if;

  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    return query select asked.job_id, asked.lease_id, coalesce(asked.outcome, 'completed')
    from (
      select * from unnest(p_jobs, p_leases) as asked (job_id, lease_id)
      except select * from unnest(v_ended, v_ended_leases) as done (job_id, lease_id)
    ) as lost
    join unnest(p_jobs, p_leases, p_outcomes) as asked (job_id, lease_id, outcome)
      on asked.job_id = lost.job_id and asked.lease_id = lost.lease_id;
  end if;
end 

function holdfast.settles_lock()
  returns bigint, sql, immutable, parallel safe
 select hashtextextended('holdfast.settles', 0) 

function holdfast.start_followers(p_leaders uuid[])
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_jobs uuid[];
  v_lanes smallint[];
begin
  -- Almost always nobody follows anybody; then this one look is all it costs.
  if not exists (select from holdfast.following) then
    return;
  end if;
  v_jobs := array(
    select f.job_id from holdfast.following as f
    where f.follows = any (p_leaders) and not exists (select from holdfast.whereabouts(f.follows))
    order by f.job_id for update skip locked);
  if v_jobs = '{}' then
    return;
  end if;
  with freed as (
    delete from holdfast.following as f where f.job_id = any (v_jobs)
    returning f.job_id, f.due_at, f.type_id, f.lane_id, f.priority
  ), due as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select f.job_id, case when r.job_id is null then greatest(f.due_at, v_now) else coalesce(r.deadline, 'infinity') end,
           f.type_id, f.lane_id, f.priority, 1, case when r.job_id is null then 'scheduled' else 'awaiting_approval' end
    from freed as f left join holdfast.approval_requests as r on r.job_id = f.job_id and not holdfast.is_approved(f.job_id)
  )
  select array_agg(distinct f.lane_id) into v_lanes from freed as f;
  perform holdfast.wake_lanes(v_lanes, true);
end 

function holdfast.status_of(p_job uuid)
  returns text, sql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
  select coalesce(
    (select w.status from holdfast.whereabouts(p_job) as w),
    (select 'dead' from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.outcome::text from holdfast.history as h
     where h.job_id = p_job and h.outcome in ('completed', 'cancelled', 'discarded') limit 1))

function holdfast.stop_for(p_type integer, p_key text, p_for interval)
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_until timestamptz := holdfast.now() + p_for;
begin
  perform holdfast.lock_gate(p_type);
  if p_key is null then
    update holdfast.gates set stopped_until = greatest(stopped_until, v_until) where type_id = p_type;
  else
    insert into holdfast.keys as k (type_id, concurrency_key, rests_until) values (p_type, p_key, v_until)
    on conflict (type_id, concurrency_key) do update set rests_until = greatest(k.rests_until, v_until);
    perform holdfast.pull_back(p_type, p_key);
  end if;
  perform holdfast.review_gate(p_type);
end 

function holdfast.sweep_rest(p_completed interval, p_dead interval, p_limit integer DEFAULT 1000)
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_gone integer;
  v_total integer := 0;
begin
  delete from holdfast.dead_letters_rest where ctid = any (array(
    select d.ctid from holdfast.dead_letters_rest as d where d.died_at < v_now - p_dead limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.history_rest where ctid = any (array(
    select h.ctid from holdfast.history_rest as h
    where h.ended_at < v_now - p_completed
      and not exists (select from holdfast.jobs_still_needed(h.job_id, h.job_id, v_now - p_completed))
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.bodies_rest where ctid = any (array(
    select b.ctid from holdfast.bodies_rest as b
    where b.created_at < v_now - p_completed
      and not exists (select from holdfast.jobs_still_needed(b.id, b.id, v_now - p_completed))
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.idempotency_keys where ctid = any (array(
    select k.ctid from holdfast.idempotency_keys as k
    where k.job_id < holdfast.first_id_at(v_now - p_completed)
      and not exists (select from holdfast.bodies as b where b.id = k.job_id)
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.approval_requests where ctid = any (array(
    select r.ctid from holdfast.approval_requests as r
    where r.job_id < holdfast.first_id_at(v_now - p_completed)
      and not exists (select from holdfast.bodies as b where b.id = r.job_id)
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.approvals where ctid = any (array(
    select a.ctid from holdfast.approvals as a
    where a.job_id < holdfast.first_id_at(v_now - p_completed)
      and not exists (select from holdfast.bodies as b where b.id = a.job_id)
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.moves where ctid = any (array(
    select m.ctid from holdfast.moves as m
    where m.job_id < holdfast.first_id_at(v_now - p_completed)
      and not exists (select from holdfast.bodies as b where b.id = m.job_id)
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.log_lines_rest where ctid = any (array(
    select l.ctid from holdfast.log_lines_rest as l where l.at < v_now - p_completed limit p_limit));
  delete from holdfast.progress where ctid = any (array(
    select p.ctid from holdfast.progress as p
    where p.at < v_now - p_completed and not exists (select from holdfast.bodies as b where b.id = p.job_id) limit p_limit));
  delete from holdfast.checkpoints where ctid = any (array(
    select c.ctid from holdfast.checkpoints as c
    where c.at < v_now - p_completed and not exists (select from holdfast.bodies as b where b.id = c.job_id) limit p_limit));

  delete from holdfast.uniques where ctid = any (array(
    select u.ctid from holdfast.uniques as u
    where u.job_id < holdfast.first_id_at(v_now - p_completed) and u.kept_until < v_now
      and not exists (select from holdfast.bodies as b where b.id = u.job_id)
      and (u.next_job_id is null or not exists (select from holdfast.bodies as b where b.id = u.next_job_id))
    limit p_limit for update skip locked));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;
  -- Whoever ends a job starts what waits behind it; this is for one who forgot.
  perform holdfast.start_followers(array(
    select f.follows from holdfast.following as f
    where not exists (select from holdfast.whereabouts(f.follows)) limit p_limit));

  delete from holdfast.workers where seen_at < v_now - greatest(p_completed, p_dead);
  delete from holdfast.sleepers as s
  where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > v_now - interval '10 minutes');
  return v_total;
end 

function holdfast.take_keys(p_ids uuid[], p_types text[], p_keys text[])
  returns TABLE(place integer, job_id uuid), plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_job record;
begin
  for v_job in
    select a.place, a.id, a.key, t.id as type_id
    from unnest(p_ids, p_types, p_keys) with ordinality as a (id, type, key, place)
    join holdfast.types as t on t.name = a.type
    where a.key is not null
    order by t.id, a.key collate "C", a.place
  loop
    place := v_job.place;
    job_id := null;
    for v_try in 1..100 loop
      insert into holdfast.idempotency_keys (type_id, key, job_id) values (v_job.type_id, v_job.key, v_job.id)
      on conflict do nothing;
      exit when found;
      select k.job_id into job_id from holdfast.idempotency_keys as k where k.type_id = v_job.type_id and k.key = v_job.key;
      exit when found;
      if v_try = 100 then
        raise exception 'an idempotency key came and went a hundred times while it was taken' using errcode = '40001', hint = 'Try again.';
      end if;
    end loop;
    if job_id is not null then
      return next;
    end if;
  end loop;
end 

function holdfast.take_lease_apart(p_lease holdfast.leases)
  returns void, plpgsql, volatile, parallel unsafe
begin
  if cardinality(p_lease.jobs) = 1 then
    update holdfast.leases as l set expires_at = holdfast.now() + interval '1 minute' where l.id = p_lease.id;
    return;
  end if;
  with parts as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select nextval('holdfast.lease_seq'), p_lease.worker_id, p_lease.claimed_at, p_lease.expires_at, array[j.id]
    from unnest(p_lease.jobs) as j (id)
    returning id, jobs[1] as job_id
  )
  update holdfast.queue as q set lease_id = p.id from parts as p where q.job_id = p.job_id and q.lease_id = p_lease.id;
  delete from holdfast.leases as l where l.id = p_lease.id;
end 

function holdfast.take_note(p_note uuid, p_types text[], p_buckets smallint[], p_counts integer[], p_seconds double precision[], p_late_types text[], p_late_counts integer[], p_statuses smallint[], p_status_counts integer[])
  returns void, plpgsql, volatile, parallel unsafe
begin
  insert into holdfast.notes (id, at) values (p_note, holdfast.now()) on conflict do nothing;
  if not found then
    return;
  end if;
  insert into holdfast.durations as d (type_id, bucket, count, seconds)
  select t.id, n.bucket, n.count, n.seconds
  from unnest(p_types, p_buckets, p_counts, p_seconds) as n (type, bucket, count, seconds) join holdfast.types as t on t.name = n.type
  order by t.id, n.bucket
  on conflict (type_id, bucket) do update set count = d.count + excluded.count, seconds = d.seconds + excluded.seconds;
  insert into holdfast.happenings (type_id, what, count)
  select t.id, 'late', n.count from unnest(p_late_types, p_late_counts) as n (type, count) join holdfast.types as t on t.name = n.type;
  insert into holdfast.enqueue_errors as e (status, total)
  select n.status, n.count from unnest(p_statuses, p_status_counts) as n (status, count) order by n.status
  on conflict (status) do update set total = e.total + excluded.total;
end 

function holdfast.take_unique(p_type integer, p_key text, p_job uuid, p_period interval)
  returns holdfast.uniques, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_taken holdfast.uniques;
begin
  for v_try in 1..100 loop
    insert into holdfast.uniques (type_id, key, job_id, taken_at, kept_until)
    values (p_type, p_key, p_job, v_now, v_now + p_period) on conflict do nothing;
    if found then
      return null;
    end if;
    select * into v_taken from holdfast.uniques as u where u.type_id = p_type and u.key = p_key for update;
    if found then
      return v_taken;
    end if;
  end loop;
  raise exception 'a unique key came and went a hundred times while it was taken' using errcode = '40001', hint = 'Try again.';
end 

function holdfast.take_uniques(p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_delays_ms double precision[], p_run_ats timestamp with time zone[], p_keys text[], p_concurrency_keys text[], p_approvals jsonb[], p_uniques text[], p_taken boolean[], p_wake_always boolean)
  returns TABLE(place integer, job_id uuid, what text, stored boolean, delay_ms double precision, key text), plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_job record;
  v_taken holdfast.uniques;
begin
  for v_job in
    select a.place, a.id, a.type, a.payload, a.idempotency_key, a.concurrency_key, a.priority as asked_priority,
           a.max_attempts as asked_max_attempts, a.delay_ms as asked_delay_ms, a.run_at as asked_run_at,
           coalesce(a.priority, t.priority) as priority, coalesce(a.max_attempts, t.max_attempts) as max_attempts,
           coalesce(a.run_at, v_now + a.delay_ms * v_ms) as due_at, t.id as type_id, t.lane_id,
           a.approval as asked_approval, holdfast.approval_rule(t.approval, a.approval) as approval,
           u.key, u.policy, u.period, u.states, u.delay, u.max_wait, count(*) over (partition by t.id, u.key) > 1 as repeated
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                p_approvals, p_uniques, p_taken)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, idempotency_key, concurrency_key,
                               approval, given, taken, place)
    join holdfast.types as t on t.name = a.type
    cross join lateral holdfast.read_uniqueness(coalesce(a.given::jsonb, t.uniqueness), a.payload::jsonb) as u
    where not a.taken and u.policy is not null
    order by t.id, u.key, a.place
  loop
    if v_job.delay is not null and v_job.due_at is not null then
      raise exception 'delay or run_at and unique.delay exclude each other' using errcode = 'HF002';
    end if;
    place := v_job.place;
    job_id := v_job.id;
    what := 'created';
    stored := false;
    delay_ms := extract(epoch from v_job.delay) * 1000;
    key := v_job.key;
    v_taken := holdfast.take_unique(v_job.type_id, v_job.key, v_job.id, coalesce(v_job.period, interval '0'));
    if v_taken.job_id is not null then
      select m.job_id, m.what into job_id, what from holdfast.meet_standing(
        v_taken, (v_job.key, v_job.policy, v_job.period, v_job.states, v_job.delay, v_job.max_wait)::holdfast.uniqueness,
        v_job.id, v_job.payload, v_job.priority, v_job.max_attempts, v_job.concurrency_key, v_job.approval, v_job.due_at,
        v_job.lane_id, p_wake_always) as m;
    end if;

    if what = 'created' and v_job.repeated then
      -- The next job of this key has to find this one, so it cannot wait to be written with the others.
      perform holdfast.enqueue_jobs(
        array[v_job.id], array[v_job.type], array[v_job.payload], array[v_job.asked_priority], array[v_job.asked_max_attempts],
        array[coalesce(delay_ms, v_job.asked_delay_ms)], array[v_job.asked_run_at], array[null::text],
        array[v_job.concurrency_key], true, true, p_wake_always, array[v_job.asked_approval], array['false']);
      stored := true;
    elsif what = 'queued_behind' then
      insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, concurrency_key, unique_key, payload)
      values (v_job.id, v_job.type_id, v_job.priority, v_job.max_attempts, v_now, v_job.due_at, v_job.concurrency_key, v_job.key,
              v_job.payload::json);
      if v_job.approval is not null then
        -- It is asked for when the job in front has ended.
        insert into holdfast.approval_requests (job_id, quorum, deadline, on_deadline, run_at)
        values (v_job.id, (v_job.approval ->> 'quorum')::smallint,
                v_now + (v_job.approval ->> 'deadline_ms')::double precision * v_ms, v_job.approval ->> 'on_deadline', v_job.due_at);
      end if;
      stored := true;
    elsif what <> 'created' then
      stored := true;
      -- Its idempotency key was taken for a job that will not exist.
      update holdfast.idempotency_keys as k set job_id = take_uniques.job_id
      where k.type_id = v_job.type_id and k.key = v_job.idempotency_key;
    end if;
    if stored and job_id = v_job.id and (what = 'created' or v_job.idempotency_key is not null) then
      update holdfast.bodies as b set idempotency_key = v_job.idempotency_key, unique_key = v_job.key where b.id = v_job.id;
    end if;
    return next;
  end loop;
end 

function holdfast.tally_step(at timestamp with time zone)
  returns timestamp with time zone, sql, immutable, parallel safe
 select date_bin('10 seconds', at, 'epoch') 

function holdfast.target_facts(p_target holdfast.alert_targets)
  returns jsonb, sql, immutable, parallel unsafe
  select jsonb_build_object('host', substring(p_target.url from '^https?://([^/?#]+)'), 'rules', p_target.rules)

function holdfast.tell_replaced(p_was holdfast.bodies, p_move text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_run_at timestamp with time zone)
  returns void, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, jit=off
declare
  v_before jsonb;
  v_after jsonb;
  v_times integer := 1 + coalesce((
    select (m.after ->> 'replacements')::integer from holdfast.moves as m
    where m.job_id = p_was.id and m.move in ('replace', 'debounce') order by m.at desc limit 1), 0);
begin
  select coalesce(jsonb_object_agg(c.field, c.was), '{}'), coalesce(jsonb_object_agg(c.field, c.becomes), '{}') into v_before, v_after
  from (values ('priority', to_jsonb(p_was.priority), to_jsonb(p_priority)),
               ('max_attempts', to_jsonb(p_was.max_attempts), to_jsonb(p_max_attempts)),
               ('concurrency_key', to_jsonb(p_was.concurrency_key), to_jsonb(p_concurrency_key)),
               ('due_at', to_jsonb(p_was.run_at), to_jsonb(p_run_at))) as c (field, was, becomes)
  where c.was is distinct from c.becomes;
  insert into holdfast.moves (job_id, at, move, actor, before, after)
  values (p_was.id, holdfast.now(), p_move, coalesce(nullif(current_setting('holdfast.owner', true), ''), session_user),
          v_before || jsonb_strip_nulls(jsonb_build_object(
            'payload', case when p_was.payload::text <> p_payload then p_was.payload::text end,
            'approved_by', (select jsonb_agg(a.actor order by a.at) from holdfast.approvals as a
                            where a.job_id = p_was.id and a.verdict = 'approve'))),
          v_after || jsonb_build_object('replacements', v_times));
  if v_times > 20 then
    delete from holdfast.moves as m where m.job_id = p_was.id and m.move in ('replace', 'debounce')
      and (m.after ->> 'replacements')::integer <= v_times - 20;
  end if;
end 

function holdfast.test_alert_target(p_id integer, p_by text, p_why text)
  returns uuid, plpgsql, volatile, parallel unsafe
declare
  v_job uuid;
begin
  if not exists (select from holdfast.alert_targets as t where t.id = p_id) then
    return null;
  end if;
  select e.id into v_job from holdfast.enqueue('holdfast:alert', jsonb_build_object(
    'target', p_id, 'state', 'test', 'rule', 'test', 'kind', 'test', 'threshold', 0, 'subject', '', 'value', 0,
    'since', holdfast.now(), 'at', holdfast.now())) as e;
  perform holdfast.audit('test_alert_target', p_id::text, null, null, p_by, p_why);
  return v_job;
end 

function holdfast.troubles()
  returns TABLE(rule text, subject text, value double precision), sql, volatile, parallel unsafe
  set jit=off
  select r.name, s.subject, s.value::double precision
  from holdfast.alert_rules as r
  cross join lateral (
    select t.name as subject, m.value - m.before as value
    from holdfast.alert_marks as m join holdfast.types as t on m.what = 'dead ' || t.name
    where r.kind = 'dead_letters' and m.value - m.before > r.threshold and (r.type is null or r.type = t.name)
    union all
    select t.name, 1
    from holdfast.gates as g join holdfast.types as t on t.id = g.type_id
    where r.kind = 'breaker' and (g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'))
      and (r.type is null or r.type = t.name)
    union all
    select coalesce(r.type, ''), sum(d.waiting)
    from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
    where r.kind = 'depth' and (r.type is null or r.type = t.name) having sum(d.waiting) > r.threshold
    union all
    select 'priority ' || d.priority, extract(epoch from holdfast.now() - min(d.oldest_at))
    from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
    where r.kind = 'oldest' and d.priority >= r.min_priority and (r.type is null or r.type = t.name)
    group by d.priority having extract(epoch from holdfast.now() - min(d.oldest_at)) > r.threshold
    union all
    select '', m.value - m.before from holdfast.alert_marks as m
    where r.kind = 'enqueue_errors' and m.what = 'refused' and m.value - m.before > r.threshold
  ) as s
  where r.enabled

function holdfast.type_named(p_name text)
  returns integer, plpgsql, stable, parallel unsafe
begin
  perform holdfast.check_types(array[p_name]);
  return (select t.id from holdfast.types as t where t.name = p_name);
end 

function holdfast.wake_lanes(p_lanes smallint[], p_always boolean)
  returns void, plpgsql, volatile, parallel unsafe
begin
  perform pg_notify('holdfast_lane_' || lane.id, '')
  from unnest(p_lanes) as lane (id)
  where p_always or exists (select from holdfast.sleepers as s where s.lane_id = lane.id);
end 

function holdfast.where_jobs_stand(p_jobs uuid[])
  returns TABLE(job_id uuid, status text, place text, lane_id smallint, priority smallint, attempt smallint, due_at timestamp with time zone, lease_id bigint, type_id integer), sql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
  select q.job_id, case when q.lease_id is null then 'pending' else 'processing' end, 'queue', q.lane_id, q.priority, q.attempt,
         q.ready_at, q.lease_id, q.type_id
  from holdfast.queue as q where q.job_id = any (p_jobs)
  union all
  select w.job_id, w.status, 'waiting', w.lane_id, w.priority, w.attempt, w.due_at, null, w.type_id
  from holdfast.waiting as w where w.job_id = any (p_jobs)
  union all
  select g.job_id, 'pending', 'gated', g.lane_id, g.priority, g.attempt, g.ready_at, null, g.type_id
  from holdfast.gated as g where g.job_id = any (p_jobs)
  union all
  select f.job_id, 'pending', 'following', f.lane_id, f.priority, 1::smallint, f.due_at, null, f.type_id
  from holdfast.following as f where f.job_id = any (p_jobs)

function holdfast.whereabouts(p_job uuid)
  returns TABLE(place text, status text), sql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
  select 'queue', case when q.lease_id is null then 'pending' else 'processing' end from holdfast.queue as q where q.job_id = p_job
  union all select 'waiting', w.status from holdfast.waiting as w where w.job_id = p_job
  union all select 'gated', 'pending' from holdfast.gated as g where g.job_id = p_job
  union all select 'following', 'pending' from holdfast.following as f where f.job_id = p_job
  -- Cancelled, but its handler may still be at work.
  union all select 'stopping', 'processing' from holdfast.cancellations as c where c.job_id = p_job

view holdfast.attempts
  job_id           uuid
  attempt          smallint
  outcome          holdfast.outcome
  started_at       timestamp with time zone
  ended_at         timestamp with time zone
  worker_id        integer
  worker           text
  error            jsonb
as
 SELECT h.job_id,
    h.attempt,
    h.outcome,
    h.started_at,
    h.ended_at,
    h.worker_id,
    w.name AS worker,
    h.error
   FROM holdfast.history h
     LEFT JOIN holdfast.workers w ON w.id = h.worker_id;

view holdfast.counters
  type_id          integer
  completed        bigint
  failed           bigint
  lost             bigint
  dead             bigint
  cancelled        bigint
  replayed         bigint
  late             bigint
  ended            bigint
as
 SELECT type_id,
    completed,
    failed,
    lost,
    dead,
    cancelled,
    replayed,
    late,
    completed + dead - replayed + cancelled AS ended
   FROM ( SELECT t.id AS type_id,
            COALESCE(k.completed, 0::bigint) + COALESCE(o.good, 0::bigint) AS completed,
            COALESCE(k.failed, 0::bigint) + COALESCE(o.bad, 0::bigint) AS failed,
            COALESCE(k.lost, 0::bigint) + COALESCE(o.lost, 0::bigint) AS lost,
            COALESCE(k.dead, 0::bigint) + COALESCE(h.dead, 0::bigint) AS dead,
            COALESCE(k.cancelled, 0::bigint) + COALESCE(h.cancelled, 0::bigint) AS cancelled,
            COALESCE(k.replayed, 0::bigint) + COALESCE(h.replayed, 0::bigint) AS replayed,
            COALESCE(k.late, 0::bigint) + COALESCE(h.late, 0::bigint) AS late
           FROM holdfast.types t
             LEFT JOIN holdfast.totals k ON k.type_id = t.id
             LEFT JOIN ( SELECT tallies.type_id,
                    sum(tallies.good) AS good,
                    sum(tallies.bad) AS bad,
                    sum(tallies.lost) AS lost
                   FROM holdfast.tallies
                  GROUP BY tallies.type_id) o ON o.type_id = t.id
             LEFT JOIN ( SELECT happenings.type_id,
                    sum(happenings.count) FILTER (WHERE happenings.what = 'dead'::text) AS dead,
                    sum(happenings.count) FILTER (WHERE happenings.what = 'cancelled'::text) AS cancelled,
                    sum(happenings.count) FILTER (WHERE happenings.what = 'replayed'::text) AS replayed,
                    sum(happenings.count) FILTER (WHERE happenings.what = 'late'::text) AS late
                   FROM holdfast.happenings
                  GROUP BY happenings.type_id) h ON h.type_id = t.id) s;

view holdfast.jobs
  id               uuid
  type             text
  status           text
  lane             text
  priority         smallint
  attempt          smallint
  max_attempts     smallint
  payload          json
  idempotency_key  text
  concurrency_key  text
  created_at       timestamp with time zone
  due_at           timestamp with time zone
  started_at       timestamp with time zone
  finished_at      timestamp with time zone
  worker_id        integer
  error            jsonb
  owner            text
as
 SELECT b.id,
    t.name AS type,
    s.status,
    l.name AS lane,
    COALESCE(s.priority, b.priority) AS priority,
    s.attempt,
    b.max_attempts,
    b.payload,
    b.idempotency_key,
    b.concurrency_key,
    b.created_at,
    s.due_at,
    s.started_at,
    s.finished_at,
    s.worker_id,
    s.error,
    b.owner
   FROM ( SELECT q.job_id,
                CASE
                    WHEN q.lease_id IS NULL THEN 'pending'::text
                    ELSE 'processing'::text
                END AS status,
            q.lane_id,
            q.priority,
            q.attempt,
            q.ready_at AS due_at,
            e.claimed_at AS started_at,
            NULL::timestamp with time zone AS finished_at,
            e.worker_id,
            NULL::jsonb AS error
           FROM holdfast.queue q
             LEFT JOIN holdfast.leases e ON e.id = q.lease_id
        UNION ALL
         SELECT w.job_id,
            w.status,
            w.lane_id,
            w.priority,
            w.attempt,
            NULLIF(w.due_at, 'infinity'::timestamp with time zone) AS "nullif",
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            NULL::integer,
            NULL::jsonb
           FROM holdfast.waiting w
        UNION ALL
         SELECT g.job_id,
            'pending'::text,
            g.lane_id,
            g.priority,
            g.attempt,
            g.ready_at,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            NULL::integer,
            NULL::jsonb
           FROM holdfast.gated g
        UNION ALL
         SELECT f.job_id,
            'pending'::text,
            f.lane_id,
            f.priority,
            1::smallint AS int2,
            f.due_at,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            NULL::integer,
            NULL::jsonb
           FROM holdfast.following f
        UNION ALL
         SELECT d.job_id,
            'dead'::text,
            NULL::smallint,
            d.priority,
            d.attempt,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            d.died_at,
            NULL::integer,
            d.error
           FROM holdfast.dead_letters d
        UNION ALL
         SELECT h.job_id,
            h.outcome::text AS outcome,
            NULL::smallint,
            NULL::smallint,
            h.attempt,
            NULL::timestamp with time zone,
            h.started_at,
            h.ended_at,
            h.worker_id,
            h.error
           FROM holdfast.history h
          WHERE h.outcome = ANY (ARRAY['completed'::holdfast.outcome, 'cancelled'::holdfast.outcome, 'discarded'::holdfast.outcome])) s
     JOIN holdfast.bodies b ON b.id = s.job_id
     JOIN holdfast.types t ON t.id = b.type_id
     JOIN holdfast.lanes l ON l.id = COALESCE(s.lane_id, t.lane_id);
