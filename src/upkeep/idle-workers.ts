import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const everyMs = 60_000

/** Removes idle workers that died: as long as a row of one stands there, every enqueue into its lanes sends a notification. */
export function idleWorkersChore(store: Store): Chore {
  return {
    name: 'idle_workers',
    everyMs,
    shared: true,
    async runOnce() {
      await store.forgetIdleWorkers()
      return { more: false }
    },
  }
}
