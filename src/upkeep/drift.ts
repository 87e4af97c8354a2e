import type { OperatorStore, RepairRow } from '../store/operator-store.js'
import type { Chore } from './upkeep.js'

const everyMs = 60_000
/** Where another worker has compared within this time, the chore does nothing: a fleet compares as often as one worker alone. */
const notWithinMs = 40_000
const atOnce = 1_000

/**
 * Compares slots, leases and keys with their jobs, a piece at a time, and repairs what disagrees. Anything to repair is a defect
 * somewhere else, so it is reported.
 */
export function driftChore(store: OperatorStore, onRepaired: (row: RepairRow) => void): Chore {
  return {
    name: 'drift',
    everyMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      for (const row of await store.repairDrift(notWithinMs, atOnce)) onRepaired(row)
      return { more: false }
    },
  }
}
