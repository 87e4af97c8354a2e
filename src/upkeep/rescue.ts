import { monotonicMs } from '../clock.js'
import type { RescuedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const atOnce = { leases: 200, jobs: 1_000 }

/** How long after an outage the others get to renew what ran out meanwhile: to notice, to connect again, and to say so. */
const longestGraceMs = 10_000

/** What was last heard of leases that have run out. An idle worker hears it with every poll and need not ask. */
export class LeaseNews {
  #expired = false
  #heardAt = Number.NEGATIVE_INFINITY
  #sharing = 1

  /** Where several workers share the asking, each hears it more rarely. */
  heard(expired: boolean, sharing = 1): boolean {
    this.#expired = expired
    this.#sharing = sharing
    this.#heardAt = monotonicMs()
    return expired
  }

  /** Undefined where it is older than that, or than as many times that as there are who ask. */
  within(ms: number): boolean | undefined {
    return monotonicMs() - this.#heardAt < ms * this.#sharing ? this.#expired : undefined
  }

  forget(): void {
    this.#heardAt = Number.NEGATIVE_INFINITY
  }
}

/**
 * Finds leases nobody renewed and frees their jobs, a few leases at a time, so that no statement is long. After an outage
 * longer than a lease every lease has run out, and most of their workers live: whoever saw the outage waits a little.
 */
export function rescueChore(
  store: Store,
  settings: { everyMs: number; leaseMs: number; crashes: number },
  onRescued: (rows: readonly RescuedRow[]) => void,
  news = new LeaseNews(),
): Chore {
  let sawOutage = false
  let notBefore = 0
  return {
    name: 'rescue',
    // Most turns are only a look at what was heard.
    everyMs: settings.everyMs / 3,
    async runOnce() {
      try {
        const expired = news.within(settings.everyMs * 0.75) ?? news.heard(await store.anyLeaseExpired())
        if (sawOutage) notBefore = monotonicMs() + Math.min(longestGraceMs, settings.leaseMs)
        sawOutage = false
        if (!expired || monotonicMs() < notBefore) return { more: false }
        news.forget()
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
