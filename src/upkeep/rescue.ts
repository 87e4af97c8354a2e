import { monotonicMs } from '../clock.js'
import type { RescuedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const atOnce = { leases: 200, jobs: 1_000 }

/** How long after an outage the others get to renew what ran out meanwhile: to notice, to connect again, and to say so. */
const longestGraceMs = 10_000

/**
 * Finds leases nobody renewed and frees their jobs, a few leases at a time, so that no statement is long. After an outage
 * longer than a lease every lease has run out, and most of their workers live: whoever saw the outage waits a little.
 */
export function rescueChore(
  store: Store,
  settings: { everyMs: number; leaseMs: number; crashes: number },
  onRescued: (rows: readonly RescuedRow[]) => void,
): Chore {
  let sawOutage = false
  let notBefore = 0
  return {
    name: 'rescue',
    everyMs: settings.everyMs,
    async runOnce() {
      try {
        const expired = await store.anyLeaseExpired()
        if (sawOutage) notBefore = monotonicMs() + Math.min(longestGraceMs, settings.leaseMs)
        sawOutage = false
        if (!expired || monotonicMs() < notBefore) return { more: false }
        const rows = await store.rescue(atOnce, settings.crashes)
        if (rows.length > 0) onRescued(rows)
        return { more: rows.length > 0 }
      } catch (error) {
        sawOutage = true
        throw error
      }
    },
  }
}
