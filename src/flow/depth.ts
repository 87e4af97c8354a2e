import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused } from '../job/refused.js'
import type { DepthLimit } from '../store/operator-store.js'

/** How much may wait. What is left out is not limited. */
export interface DepthFields {
  /** From here on low priorities are refused, and the higher ones the closer it comes to hard. */
  soft?: number
  /** From here on nothing is taken. */
  hard?: number
  /** Once the oldest job has waited this long, the lower half of the priorities is refused; after twice as long, all. */
  oldest?: Duration
}

export function readDepth({ soft, hard, oldest }: DepthFields): DepthLimit {
  for (const [field, value] of Object.entries({ soft, hard })) {
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= 1e12)) continue
    throw refused(field, `is ${String(value)}; it must be a whole number of jobs from 1. To refuse all, pause the producer`)
  }
  if (soft !== undefined && hard !== undefined && soft > hard)
    throw refused('soft', `is ${soft}, more than hard, which is ${hard}`)
  const oldestMs = oldest === undefined ? null : toMilliseconds(oldest, 'oldest')
  if (oldestMs === 0) throw refused('oldest', 'is 0; every waiting job would be too old')
  return { soft: soft ?? null, hard: hard ?? null, oldestMs }
}
