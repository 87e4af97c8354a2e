import type { OperatorStore } from '../store/operator-store.js'
import type { Chore } from './upkeep.js'

const everyMs = 60_000
const atOnce = 5_000

/**
 * Brings jobs after their type when it has changed its lane, also those of transactions that were open meanwhile. Until then
 * workers look into the lane it left, so that none of them waits for this.
 */
export function straysChore(store: OperatorStore): Chore {
  return {
    name: 'strays',
    everyMs,
    async runOnce() {
      return { more: (await store.bringStrays(atOnce)) > 0 }
    },
  }
}
