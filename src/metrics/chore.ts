import type { MetricsStore } from '../store/metrics-store.js'
import type { Chore } from '../upkeep/upkeep.js'
import type { Meter } from './meter.js'

const everyMs = 15_000

/** Writes down what this process measured. */
export function metricsChore(store: MetricsStore, meter: Meter): Chore {
  return {
    name: 'metrics',
    everyMs,
    inNoHurry: true,
    async runOnce() {
      await meter.note(store)
      return { more: false }
    },
  }
}

/** Sees that what was counted is added up. */
export function totalsChore(store: MetricsStore): Chore {
  return {
    name: 'totals',
    everyMs,
    inNoHurry: true,
    shared: true,
    async runOnce() {
      await store.keepTotals()
      return { more: false }
    },
  }
}
