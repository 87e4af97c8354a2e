import type { OperatorStore } from '../store/operator-store.js'
import type { Chore } from './upkeep.js'

const everyMs = 15_000

/**
 * Counts the jobs that wait. Enqueues count too, but a queue that is drained while nothing is enqueued is seen only here. The database
 * lets one worker of a fleet count, and bounds the cost.
 */
export function depthsChore(store: OperatorStore): Chore {
  return {
    name: 'depths',
    everyMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      await store.measureDepths()
      return { more: false }
    },
  }
}
