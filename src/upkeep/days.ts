import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const everyMs = 600_000

/** Makes the partitions of the days ahead. */
export function daysChore(store: Store, _retention: { completedMs: number; deadMs: number }): Chore {
  return {
    name: 'days',
    everyMs,
    async runOnce() {
      await store.makeDays()
      return { more: false }
    },
  }
}
