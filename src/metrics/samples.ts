import { fleetWanted } from '../flow/autoscale.js'
import type { InspectStore } from '../store/inspect-store.js'
import type { SampleStore } from '../store/sample-store.js'
import type { Chore } from '../upkeep/upkeep.js'

/** As long as the steps of the finest charts. */
const takeEveryMs = 10_000
const thinEveryMs = 600_000

/**
 * Counts the jobs that wait and samples the numbers of types that changed. Enqueues count what waits too, but a queue that is drained while
 * nothing is enqueued is seen only here. The database lets one process count and sample at a time, and bounds the cost.
 */
export function samplesChore(store: SampleStore, inspect: InspectStore): Chore {
  let previous: string | null = null
  return {
    name: 'samples',
    everyMs: takeEveryMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      previous = await store.take(previous, fleetWanted(await inspect.laneLoads()))
      return { more: false }
    },
  }
}

/** Deletes samples that are finer than charts of their age need. */
export function thinningChore(store: SampleStore): Chore {
  return {
    name: 'thinning',
    everyMs: thinEveryMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      await store.thin()
      return { more: false }
    },
  }
}
