import type { OperatorStore } from '../store/operator-store.js'
import type { Chore } from './upkeep.js'

const everyMs = 15_000

/**
 * Counts what waits, also where nobody enqueues, so that a drained queue is seen to be one. The database sees to it that a
 * fleet counts once and that counting stays cheap.
 */
export function depthsChore(store: OperatorStore): Chore {
  return {
    name: 'depths',
    everyMs,
    inNoHurry: true,
    async runOnce() {
      await store.measureDepths()
      return { more: false }
    },
  }
}
