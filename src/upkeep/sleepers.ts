import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const everyMs = 60_000

/** Strikes out workers that died asleep: as long as one stands there, every enqueue of its lanes calls it. */
export function sleepersChore(store: Store): Chore {
  return {
    name: 'sleepers',
    everyMs,
    async runOnce() {
      await store.forgetSleepers()
      return { more: false }
    },
  }
}
