import type { PartitionStore } from '../store/partition-store.js'
import type { Chore } from './upkeep.js'

const makeEveryMs = 60_000
const dropEveryMs = 600_000
const sweepAtOnce = 1_000

/**
 * Makes the partitions of the days ahead. It runs every minute, because it costs one read of the catalog where none is missing, and because
 * a partition that a long transaction kept from being made should be made soon after that.
 */
export function partitionsChore(partitions: PartitionStore): Chore {
  return {
    name: 'partitions',
    everyMs: makeEveryMs,
    async runOnce() {
      await partitions.make()
      return { more: false }
    },
  }
}

/**
 * Drops partitions whose retention has passed, one at a time, and deletes old rows of the default partitions, even if a drop failed. The
 * retention is that of the installation, so that a worker which was told nothing does not drop what others were told to keep.
 */
export function retentionChore(partitions: PartitionStore, onDropped: (partition: string) => void): Chore {
  return {
    name: 'retention',
    everyMs: dropEveryMs,
    async runOnce() {
      const keep = await partitions.keep()
      let dropped: string | null = null
      let swept = 0
      try {
        dropped = await partitions.dropOne(keep)
        if (dropped !== null) onDropped(dropped)
      } finally {
        swept = await partitions.sweep(keep, sweepAtOnce)
      }
      const more = dropped !== null || swept >= sweepAtOnce
      if (!more) await partitions.ran(keep)
      return { more }
    },
  }
}
