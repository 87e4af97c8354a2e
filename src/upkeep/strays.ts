import type { OperatorStore } from '../store/operator-store.js'
import type { Chore } from './upkeep.js'

const everyMs = 60_000
const atOnce = 5_000

/**
 * Moves the jobs of a type that has changed its lane into the new lane, also those of transactions that were open meanwhile. Until then
 * workers also claim from the lane it left, so that no job waits for this.
 */
export function straysChore(store: OperatorStore): Chore {
  return {
    name: 'strays',
    everyMs,
    shared: true,
    async runOnce() {
      return { more: (await store.bringStrays(atOnce)) > 0 }
    },
  }
}
