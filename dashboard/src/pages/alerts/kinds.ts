import type { AlertKind } from '../../../../src/api/alerts.js'
import { inWords } from '../../parts/time.js'

/** What each kind of rule watches, and in what its threshold is counted. */
export const kindWords: Readonly<Record<AlertKind, string>> = {
  dead_letters: 'jobs of a type that died lately',
  breaker: 'whether a breaker is open',
  depth: 'how many jobs wait',
  depth_growth: 'how many more jobs wait each minute',
  oldest: 'for how long the oldest job of a priority is due, in seconds',
  slow_starts: 'for how long 99 % of jobs are due before they begin, in seconds',
  slow_runs: 'how many times as long as before attempts of a type take',
  enqueue_errors: 'how many enqueues the servers refused',
  enqueue_error_rate: 'which share of the enqueues the servers refused, 0 to 1',
  enqueue_spike: 'how many jobs of a type are enqueued each minute, if three times as many as usual',
  late_results: 'results of a type that came without a lease, in ten minutes',
  rescues: 'leases of a type that ran out, in ten minutes',
  restarts: 'workers that died and were started again, in ten minutes',
  retention: 'since when retention was not done, in seconds',
  missing_partitions: 'how many partitions are missing',
  notify_queue: 'how full the NOTIFY queue of PostgreSQL is, 0 to 1',
  drift: 'how many slots, leases and keys had to be repaired',
}

const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

/** A value or threshold in the unit of its kind. */
export const valueInWords = (kind: AlertKind, value: number) =>
  ['oldest', 'slow_starts', 'retention'].includes(kind) ? inWords(value * 1_000) : short.format(value)
