interface Case {
  /** By metric and labels, in the notation of promtool: one value a minute. */
  series: Record<string, string>
  /** Minutes after which it fires, and after which it does not yet. */
  at: number
  quietAt?: number
  labels: Record<string, string>
  summary: string
  /** Another alert, which must not fire by then. */
  silent?: string
}

/** A fast burn: many in an hour. A slow one: fewer, for six hours, which the fast alert does not name. */
const fast = (name: string, words: string, share: string, series: Record<string, string>): Case => ({
  series,
  at: 65,
  quietAt: 1,
  labels: { severity: 'critical', slo: name },
  summary: `The objective that ${words} is missed: ${share} went wrong in 1h.`,
})
const slow = (silent: string, name: string, words: string, share: string, series: Record<string, string>): Case => ({
  series,
  at: 365,
  quietAt: 1,
  silent,
  labels: { severity: 'warning', slo: name },
  summary: `The objective that ${words} is missed: ${share} went wrong in 6h.`,
})
/** Both alerts of one objective; `series` makes the counters that grow by so many a minute, `bad` of them wrong. */
function objective(
  alert: string,
  name: string,
  words: string,
  shares: Shares,
  series: (bad: number, minutes: number) => Record<string, string>,
) {
  const [much, little] = shares
  return {
    [`${alert}Fast`]: fast(name, words, `${much / 10}%`, series(much, 70)),
    [`${alert}Slow`]: slow(`${alert}Fast`, name, words, `${little / 10}%`, series(little, 370)),
  }
}
/** Of a thousand, in a fast burn and in a slow one. */
type Shares = [number, number]
const starts = (le: number) => (bad: number, minutes: number) => ({
  [`holdfast_wait_duration_seconds_bucket{type="a",priority="5",le="${le}"}`]: `0+${1_000 - bad}x${minutes}`,
  'holdfast_wait_duration_seconds_count{type="a",priority="5"}': `0+1000x${minutes}`,
})

const [warning, critical] = [{ severity: 'warning' }, { severity: 'critical' }]
const ofA = { ...warning, type: 'a' }

/** What makes each alert of docs/prometheus-rules.yml fire. */
export const cases: Record<string, Case> = {
  HoldfastDeadLetters: {
    ...{ series: { 'holdfast_jobs_dead_total{type="a"}': '0 0 3 3 3 3' }, at: 5, quietAt: 1, labels: ofA },
    summary: 'Jobs of a ended dead in the last ten minutes.',
  },
  HoldfastDeadLettersWait: {
    ...{ series: { 'holdfast_dlq_depth{type="a"}': '2x70' }, at: 61, quietAt: 59, labels: { severity: 'info', type: 'a' } },
    summary: '2 dead letters of a wait until somebody replays or discards them.',
  },
  HoldfastBreakerOpen: {
    ...{ series: { 'holdfast_breaker_open{type="a"}': '0 1x5' }, at: 2, quietAt: 0, labels: ofA },
    summary: 'The breaker of a is open: most of its attempts failed.',
  },
  HoldfastQueueDeep: {
    // Two servers answer for the same fleet.
    series: {
      'holdfast_queue_depth{type="a",priority="5",instance="one"}': '10001x10',
      'holdfast_queue_depth{type="a",priority="5",instance="two"}': '10001x10',
    },
    ...{ at: 6, quietAt: 4, labels: warning, summary: '10001 jobs wait. From 100,000 on low priorities are refused.' },
  },
  HoldfastUrgentQueueDeep: {
    ...{ series: { 'holdfast_queue_depth{type="a",priority="8"}': '101x5' }, at: 2, quietAt: 0, labels: critical },
    summary: '101 jobs of priority 7 and above wait.',
  },
  HoldfastQueueGrows: {
    ...{ series: { 'holdfast_queue_depth{type="a",priority="5"}': '0+200x20' }, at: 15, quietAt: 7, labels: warning },
    summary: '1000 jobs more wait than five minutes ago.',
  },
  HoldfastJobsWait: {
    ...{ series: { 'holdfast_oldest_pending_job_age_seconds{priority="3"}': '700x5' }, at: 2, quietAt: 0 },
    ...{ labels: { ...warning, priority: '3' }, summary: 'A job of priority 3 has waited for 11m 40s.' },
  },
  HoldfastUrgentJobsWait: {
    ...{ series: { 'holdfast_oldest_pending_job_age_seconds{priority="8"}': '70x5' }, at: 2, quietAt: 0 },
    ...{ labels: { ...critical, priority: '8' }, summary: 'A job of priority 8 has waited for 1m 10s.' },
  },
  HoldfastSlowStarts: {
    series: {
      'holdfast_wait_duration_seconds_bucket{type="a",priority="5",le="30"}': '0x30',
      'holdfast_wait_duration_seconds_bucket{type="a",priority="5",le="60"}': '0+100x30',
      'holdfast_wait_duration_seconds_bucket{type="a",priority="5",le="+Inf"}': '0+100x30',
    },
    ...{ at: 20, quietAt: 9, labels: warning },
    summary: 'One of a hundred jobs begins more than 59.7s after it is due.',
  },
  HoldfastSlowRuns: {
    series: {
      'holdfast_processing_duration_seconds_bucket{type="a",le="0.1"}': '0+60x60 3600x10',
      'holdfast_processing_duration_seconds_bucket{type="a",le="1"}': '0+60x70',
      'holdfast_processing_duration_seconds_bucket{type="a",le="+Inf"}': '0+60x70',
      'holdfast_processing_duration_seconds_count{type="a"}': '0+60x70',
    },
    ...{ at: 69, quietAt: 64, labels: ofA },
    summary: 'Attempts of a take more than twice as long as in the hours before: the queue will be deep soon.',
  },
  HoldfastEnqueueRefused: {
    ...{ series: { 'holdfast_enqueue_errors_total{status="400"}': '0+20x10' }, at: 7, quietAt: 1, labels: warning },
    summary: '100 requests to enqueue were refused in five minutes.',
  },
  HoldfastEnqueueErrors: {
    series: { 'holdfast_enqueue_errors_total{status="503"}': '0+2x10', holdfast_enqueue_requests_total: '0+100x10' },
    ...{ at: 7, quietAt: 0, labels: critical },
    summary: 'More than 1 % of the requests to enqueue found the queue full or the server failing: 10 in five minutes.',
  },
  HoldfastEnqueueSpike: {
    ...{ series: { 'holdfast_jobs_enqueued_total{type="a"}': '0+1x60 60+200x10' }, at: 69, quietAt: 60, labels: ofA },
    summary: '200 jobs of a are enqueued each minute, more than three times as many as usual.',
  },
  HoldfastLateResults: {
    ...{ series: { 'holdfast_late_settles_total{type="a"}': '0 0 1 1 1' }, at: 4, quietAt: 1, labels: ofA },
    summary: 'Attempts of a ran beside another one of the same job and were fenced off. Is the lease too short?',
  },
  HoldfastLeasesRunOut: {
    ...{ series: { 'holdfast_lease_rescues_total{type="a"}': '0+5x10' }, at: 10, quietAt: 1, labels: ofA },
    summary: 'Workers go silent while they run a.',
  },
  HoldfastWorkersRestart: {
    ...{ series: { holdfast_worker_restarts_total: '0+1x10' }, at: 10, quietAt: 2, labels: critical },
    summary: '10 workers died and were started again within ten minutes.',
  },
  HoldfastRetentionLate: {
    ...{ series: { holdfast_retention_last_done_timestamp_seconds: '0x1500' }, at: 1_455, quietAt: 1_445, labels: warning },
    summary: 'Retention was last done 1d 0h 15m 0s ago: what is over is still stored.',
  },
  HoldfastNobodyWorks: {
    series: { holdfast_active_workers: '0x5', 'holdfast_queue_depth{type="a",priority="5"}': '5x5' },
    ...{ at: 3, quietAt: 1, labels: critical, summary: 'Jobs wait and no worker was heard of for minutes.' },
  },
  HoldfastWorkersStalled: {
    ...{ series: { holdfast_stalled_workers: '1x5' }, at: 3, quietAt: 1, labels: warning },
    summary: '1 workers are alive and take no jobs.',
  },
  HoldfastMostAttemptsFail: {
    series: {
      'holdfast_jobs_failed_total{type="a",outcome="failed"}': '0+3x40',
      'holdfast_jobs_failed_total{type="a",outcome="crashed"}': '0+3x40',
      'holdfast_jobs_completed_total{type="a"}': '0+4x40',
    },
    ...{ at: 35, quietAt: 10, labels: ofA, summary: 'More than half of the attempts of a fail.' },
  },
  HoldfastDatabaseUnreachable: {
    ...{ series: { holdfast_connection_errors_total: '0+10x10' }, at: 6, quietAt: 0, labels: warning },
    summary: '50 statements did not reach the database in five minutes.',
  },
  HoldfastDrift: {
    ...{ series: { 'holdfast_drift_repairs_total{what="key"}': '0 0 1 1' }, at: 3, quietAt: 1 },
    labels: { ...warning, what: 'key' },
    summary: 'Slots, leases or keys disagreed with their jobs (key) and were repaired. It is a defect: please report it.',
  },
  HoldfastDayMissing: {
    ...{ series: { 'holdfast_missing_partitions{table="history"}': '1x15' }, at: 12, quietAt: 8 },
    ...{ labels: { ...warning, table: 'history' }, summary: 'history has no partition for today or tomorrow.' },
  },
  HoldfastNotifyQueueFull: {
    ...{ series: { holdfast_notify_queue_usage_ratio: '0.5x5' }, at: 3, quietAt: 0, labels: warning },
    summary: 'The NOTIFY queue of PostgreSQL is 50% full.',
  },
  HoldfastMetricsMissing: {
    ...{ series: { up: '0x5' }, at: 3, quietAt: 1, labels: critical, summary: 'No server of Holdfast answers /metrics.' },
  },
  ...objective('HoldfastSloEnqueue', 'enqueue', '99.95 % of the requests to enqueue are taken', [100, 4], (bad, minutes) => ({
    'holdfast_enqueue_errors_total{status="503"}': `0+${bad}x${minutes}`,
    holdfast_enqueue_requests_total: `0+1000x${minutes}`,
  })),
  ...objective(
    'HoldfastSloProcessing',
    'processing',
    '99.9 % of the attempts are not lost with their worker',
    [100, 10],
    (bad, minutes) => ({
      'holdfast_jobs_failed_total{type="a",outcome="lost"}': `0+${bad}x${minutes}`,
      'holdfast_jobs_completed_total{type="a"}': `0+${1_000 - bad}x${minutes}`,
    }),
  ),
  ...objective('HoldfastSloStatus', 'status', '99.9 % of the requests to see a job are answered', [50, 10], (bad, minutes) => ({
    holdfast_status_errors_total: `0+${bad}x${minutes}`,
    holdfast_status_requests_total: `0+1000x${minutes}`,
  })),
  ...objective('HoldfastSloStart', 'start', '99 % of the attempts begin within 30 s of being due', [500, 100], starts(30)),
  ...objective(
    'HoldfastSloStartUnderBacklog',
    'start_under_backlog',
    '99 % of the attempts begin within 5 minutes of being due, also under a backlog',
    [500, 100],
    starts(300),
  ),
}
