import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused, refuseUnknown } from '../job/refused.js'
import type { DepthLimit } from '../store/operator-store.js'

/** How much may wait. What is left out is not limited. */
export interface DepthFields {
  /**
   * From here on low priorities are refused, and the higher ones the closer it comes to hard.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  soft?: number
  /**
   * From here on nothing is taken.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  hard?: number
  /**
   * Once the oldest job has waited this long, the lower half of the priorities is refused; after twice as long, all.
   * @range 1 ms to 100 years
   * @default none: no limit
   */
  oldest?: Duration
  /**
   * Most jobs that wait for a time of their own; from here on no such job is taken, and others are.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  scheduled?: number
  /**
   * Most jobs that wait for their next attempt; from here on nothing is taken.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  retrying?: number
  /**
   * Most jobs that wait for an approval; from here on no such job is taken, and others are.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  unapproved?: number
  /**
   * Most jobs that wait for a signal, for another job or for a newer worker; from here on nothing is taken.
   * @range 1 to 1,000,000,000,000
   * @default none: no limit
   */
  blocked?: number
}

const known = ['soft', 'hard', 'oldest', 'scheduled', 'retrying', 'unapproved', 'blocked']

export function readDepth(fields: DepthFields): DepthLimit {
  refuseUnknown(fields, known)
  const { soft, hard, oldest, ...most } = fields
  for (const [field, value] of Object.entries({ soft, hard, ...most })) {
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= 1e12)) continue
    throw refused(field, `is ${String(value)}; it must be a whole number of jobs from 1. To refuse all, pause the producer`)
  }
  if (soft !== undefined && hard !== undefined && soft > hard)
    throw refused('soft', `is ${soft}, more than hard, which is ${hard}`)
  const oldestMs = oldest === undefined ? null : toMilliseconds(oldest, 'oldest')
  if (oldestMs === 0) throw refused('oldest', 'is 0; every waiting job would be too old')
  return { soft: soft ?? null, hard: hard ?? null, oldestMs, most }
}
