import { monotonicMs } from '../clock.js'
import type { RescuedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const atOnce = { leases: 200, jobs: 1_000 }

/** After an outage, the other workers have this long to connect again and renew the leases that ran out meanwhile. */
const longestGraceMs = 10_000

/** Whether any lease had run out, as the database last said. It says so in its answer to every tick of an idle worker, which then need not ask. */
export class LeaseNews {
  #expired = false
  #notedAt = Number.NEGATIVE_INFINITY
  #sharing = 1

  /** `sharing`: how many idle workers take turns in polling; each gets an answer that many times more rarely. */
  note(expired: boolean, sharing = 1): boolean {
    this.#expired = expired
    this.#sharing = sharing
    this.#notedAt = monotonicMs()
    return expired
  }

  /** The last answer; undefined where it is older than that time, or than that time for each worker that shares the polling. */
  within(ms: number): boolean | undefined {
    return monotonicMs() - this.#notedAt < ms * this.#sharing ? this.#expired : undefined
  }

  forget(): void {
    this.#notedAt = Number.NEGATIVE_INFINITY
  }
}

/**
 * Finds leases that were not renewed and frees their jobs, a few leases at a time, so that no statement takes long. After an outage that was
 * longer than a lease all leases have run out although most workers live, so a worker that saw the outage waits a little first.
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
    // Most runs only read what the last tick said, and send no statement.
    everyMs: settings.everyMs / 3,
    async runOnce() {
      try {
        const expired = news.within(settings.everyMs * 0.75) ?? news.note(await store.leases.anyExpired())
        if (sawOutage) notBefore = monotonicMs() + Math.min(longestGraceMs, settings.leaseMs)
        sawOutage = false
        if (!expired || monotonicMs() < notBefore) return { more: false }
        news.forget()
        const rows = await store.leases.rescue(atOnce, settings.crashes)
        if (rows.length > 0) onRescued(rows)
        return { more: rows.length > 0 }
      } catch (error) {
        sawOutage = true
        throw error
      }
    },
  }
}
