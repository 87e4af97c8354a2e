import type { RescuedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const leasesAtOnce = 20

/** Finds leases nobody renewed and frees their jobs, a few leases at a time, so that no statement is long. */
export function rescueChore(
  store: Store,
  settings: { everyMs: number; crashes: number },
  onRescued: (rows: readonly RescuedRow[]) => void,
): Chore {
  return {
    name: 'rescue',
    everyMs: settings.everyMs,
    async runOnce() {
      if (!(await store.anyLeaseExpired())) return { more: false }
      const rows = await store.rescue(leasesAtOnce, settings.crashes)
      if (rows.length > 0) onRescued(rows)
      return { more: rows.length > 0 }
    },
  }
}
