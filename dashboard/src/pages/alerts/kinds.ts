import type { AlertKind } from '../../../../src/api/alerts.js'
import { inWords } from '../../parts/time.js'

/** What each kind of rule watches, and in what its threshold is counted. */
export const kindWords: Readonly<Record<AlertKind, string>> = {
  dead_letters: 'jobs of a type that died lately',
  breaker: 'whether a breaker is open',
  depth: 'how many jobs wait',
  oldest: 'for how long the oldest job of a priority is due, in seconds',
  enqueue_errors: 'how many enqueues the servers refused',
  missing_partitions: 'how many partitions are missing',
  notify_queue: 'how full the NOTIFY queue of PostgreSQL is, 0 to 1',
  drift: 'how many slots, leases and keys had to be repaired',
}

const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

/** A value or threshold in the unit of its kind. */
export const valueInWords = (kind: AlertKind, value: number) => (kind === 'oldest' ? inWords(value * 1_000) : short.format(value))
