import type { AlertStore, TroubleRow } from '../store/alert-store.js'
import type { Chore } from '../upkeep/upkeep.js'

const everyMs = 15_000
/** A fleet looks together as often as one of them would alone. */
const notWithinMs = 10_000

/** Looks for trouble. The calls about it are enqueued in the statement that finds it. */
export function alertsChore(store: AlertStore, onTrouble: (trouble: TroubleRow) => void): Chore {
  return {
    name: 'alerts',
    everyMs,
    inNoHurry: true,
    async runOnce() {
      for (const trouble of await store.look(notWithinMs)) onTrouble(trouble)
      return { more: false }
    },
  }
}
