import type { AlertStore, TroubleRow } from '../store/alert-store.js'
import type { Chore } from '../upkeep/upkeep.js'

const everyMs = 15_000
/** How often the rules are evaluated: once per interval in the whole fleet, however many workers there are. */
const notWithinMs = 10_000

/** Evaluates the alert rules. The statement that finds trouble also enqueues the webhooks. */
export function alertsChore(store: AlertStore, onTrouble: (trouble: TroubleRow) => void): Chore {
  return {
    name: 'alerts',
    everyMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      for (const trouble of await store.look(notWithinMs)) onTrouble(trouble)
      return { more: false }
    },
  }
}
