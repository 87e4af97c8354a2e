import type { Store } from '../store/store.js'
import type { Chore } from './upkeep.js'

const everyMs = 600_000
const sweepAtOnce = 1_000

/** Makes the partitions of the days ahead, and drops the days that have had their time, one at a time. */
export function daysChore(
  store: Store,
  keep: { completedMs: number; deadMs: number },
  onDropped: (partition: string) => void,
): Chore {
  return {
    name: 'days',
    everyMs,
    async runOnce() {
      await store.makeDays()
      const dropped = await store.dropOneDay(keep)
      if (dropped !== null) onDropped(dropped)
      const swept = await store.sweepRest(keep, sweepAtOnce)
      return { more: dropped !== null || swept >= sweepAtOnce }
    },
  }
}
