export interface Metric {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

function metric<const Labels extends readonly string[]>(name: string, kind: Metric['kind'], labels: Labels, help: string) {
  return { name: `holdfast_${name}`, kind, labels, help } as const
}

/** Every metric, once. Types are those that were registered and lanes those that were made, so labels are bounded. */
export const metrics = {
  depth: metric('queue_depth', 'gauge', ['type', 'priority'], 'Jobs that are due and wait, as counted last.'),
  scheduled: metric('jobs_scheduled', 'gauge', ['type'], 'Jobs that wait for a time, a retry or an approval, as counted last.'),
  blocked: metric(
    'jobs_blocked',
    'gauge',
    ['type'],
    'Jobs that wait for a signal or for another job, as counted last; no depth.',
  ),
  processing: metric('jobs_processing', 'gauge', ['type'], 'Jobs that run, as counted last.'),
  oldest: metric(
    'oldest_pending_job_age_seconds',
    'gauge',
    ['priority'],
    'How long the oldest job of a priority has been due without running; 0 where none waits.',
  ),
  enqueued: metric('jobs_enqueued_total', 'counter', ['type'], 'Jobs that were enqueued, as counted last.'),
  completed: metric('jobs_completed_total', 'counter', ['type'], 'Jobs that completed.'),
  failed: metric(
    'jobs_failed_total',
    'counter',
    ['type', 'outcome'],
    'Attempts that ended badly, whether or not another one follows: failed, timed_out, out_of_memory, crashed, or lost with their lease.',
  ),
  dead: metric('jobs_dead_total', 'counter', ['type'], 'Jobs that became dead letters, apart from those that expired.'),
  expired: metric(
    'jobs_expired_total',
    'counter',
    ['type'],
    'Jobs that became dead letters because they had not started by their time.',
  ),
  replayed: metric('jobs_replayed_total', 'counter', ['type'], 'Dead letters that were replayed.'),
  cancelled: metric('jobs_cancelled_total', 'counter', ['type'], 'Jobs that were cancelled or not approved.'),
  resumed: metric('jobs_resumed_total', 'counter', ['type'], 'Cancelled jobs that were resumed.'),
  snoozed: metric('jobs_snoozed_total', 'counter', ['type'], 'Attempts that ended because their handler put the job off.'),
  handedBack: metric('jobs_handed_back_total', 'counter', ['type'], 'Attempts that a worker ended to hand the job back.'),
  rescued: metric(
    'lease_rescues_total',
    'counter',
    ['type'],
    'Attempts whose lease ran out because their worker stopped renewing it.',
  ),
  late: metric(
    'late_settles_total',
    'counter',
    ['type'],
    'Results that were refused because their lease was gone: the attempt may have run beside the next one.',
  ),
  refused: metric(
    'enqueue_errors_total',
    'counter',
    ['status'],
    'Requests to enqueue over HTTP that were refused, by the status of the answer.',
  ),
  enqueueRequests: metric('enqueue_requests_total', 'counter', [], 'Requests to enqueue over HTTP that were answered.'),
  statusRequests: metric('status_requests_total', 'counter', [], 'Requests to see a job over HTTP that were answered.'),
  statusErrors: metric('status_errors_total', 'counter', [], 'Requests to see a job over HTTP that were answered with 5xx.'),
  connectionErrors: metric(
    'connection_errors_total',
    'counter',
    [],
    'Statements of workers and servers that failed because the database could not be reached.',
  ),
  driftRepairs: metric(
    'drift_repairs_total',
    'counter',
    ['what'],
    'Slots, leases and keys that disagreed with their jobs and were repaired; it should be 0.',
  ),
  duration: metric('processing_duration_seconds', 'histogram', ['type'], 'How long attempts took that completed or failed.'),
  wait: metric('wait_duration_seconds', 'histogram', ['type', 'priority'], 'How long attempts had been due when they began.'),
  deadLetters: metric('dlq_depth', 'gauge', ['type'], 'Dead letters, as counted last.'),
  verified: metric(
    'verified_total',
    'counter',
    ['type', 'outcome'],
    'Completed jobs that were looked at again, and whether their work was found done (confirmed) or not (refuted).',
  ),
  dutyRuns: metric('duty_runs_total', 'counter', ['duty'], 'How often a duty of the workers found something to do.'),
  dutyFailures: metric(
    'duty_failures_total',
    'counter',
    ['duty'],
    'Failures of a duty of the workers, of a whole run or of one row.',
  ),
  dutySeconds: metric('duty_seconds_total', 'counter', ['duty'], 'How long the duties of the workers took.'),
  setAside: metric(
    'set_aside',
    'gauge',
    ['duty'],
    'Jobs and gates that a duty could not handle and tries again later; it should be 0.',
  ),
  workers: metric('active_workers', 'gauge', [], 'Workers that have not stopped and sent a heartbeat within three minutes.'),
  restarts: metric(
    'worker_restarts_total',
    'counter',
    [],
    'Workers that went without stopping, where another one started on the same host afterwards.',
  ),
  stalled: metric(
    'stalled_workers',
    'gauge',
    [],
    'Workers that send heartbeats but have not looked for jobs for a minute; it should be 0.',
  ),
  breaker: metric('breaker_open', 'gauge', ['type'], '1 while the breaker of the type is open.'),
  paused: metric('type_paused', 'gauge', ['type'], '1 while the type is paused.'),
  dependencySlots: metric(
    'dependency_slots',
    'gauge',
    ['dependency'],
    'How many jobs that use the dependency may run at once, for those with such a limit.',
  ),
  dependencyInUse: metric(
    'dependency_slots_in_use',
    'gauge',
    ['dependency'],
    'How many jobs that use the dependency run, as counted last, for those with a limit.',
  ),
  dependencyPaused: metric('dependency_paused', 'gauge', ['dependency'], '1 while the dependency is paused.'),
  dependencyBreaker: metric('dependency_breaker_open', 'gauge', ['dependency'], '1 while the breaker of the dependency is open.'),
  slots: metric('lane_slots', 'gauge', ['lane'], 'How many jobs of the lane may run at once, for lanes with such a limit.'),
  slotsInUse: metric('lane_slots_in_use', 'gauge', ['lane'], 'How many jobs of the lane run, for lanes with a limit.'),
  buildWorkers: metric('build_workers', 'gauge', ['build'], 'Workers of the build that were heard of within three minutes.'),
  buildAttempts: metric(
    'build_attempts_total',
    'counter',
    ['build', 'outcome'],
    'Attempts of the workers of a build that completed or failed, for builds with a worker that was heard of within a day.',
  ),
  retention: metric(
    'retention_last_done_timestamp_seconds',
    'gauge',
    [],
    'When a worker last went through everything that is kept for a time and dropped what was over; until then, when it was installed.',
  ),
  replicaUsed: metric('replica_used', 'gauge', [], '1 while this server reads lists and metrics from its replica.'),
  replicaLag: metric(
    'replica_lag_seconds',
    'gauge',
    [],
    'How far the replica of this server is behind; NaN: there is none, or nobody can tell.',
  ),
  missingPartitions: metric(
    'missing_partitions',
    'gauge',
    ['table'],
    'Partitions of today and tomorrow that are missing; their rows go to the default partition.',
  ),
  notifyQueue: metric(
    'notify_queue_usage_ratio',
    'gauge',
    [],
    'How full the NOTIFY queue of PostgreSQL is, 0 to 1. From 0.5 on no notifications are sent, and workers poll.',
  ),
} as const satisfies Record<string, Metric>
