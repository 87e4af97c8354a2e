import { alertsChore } from '../alerts/chore.js'
import { metricsChore, totalsChore } from '../metrics/chore.js'
import type { Meter } from '../metrics/meter.js'
import { samplesChore, thinningChore } from '../metrics/samples.js'
import { ticksChore } from '../schedule/ticks-chore.js'
import type { Store } from '../store/store.js'
import { driftChore } from '../upkeep/drift.js'
import { idleWorkersChore } from '../upkeep/idle-workers.js'
import { partitionsChore, retentionChore } from '../upkeep/partitions.js'
import { type LeaseNews, rescueChore } from '../upkeep/rescue.js'
import { straysChore } from '../upkeep/strays.js'
import type { Chore } from '../upkeep/upkeep.js'
import type { WorkerSettings } from './options.js'
import type { Report } from './report.js'

const rescueEveryMs = 3_000

/** What every worker does beside its jobs. */
export function choresOf(store: Store, settings: WorkerSettings, meter: Meter, report: Report, news: LeaseNews): Chore[] {
  const { leaseMs, quarantineAfter: crashes } = settings
  return [
    rescueChore(
      store,
      { everyMs: Math.min(rescueEveryMs, leaseMs), leaseMs, crashes },
      (rows) => {
        for (const { id: job, type, attempt, worker, dead } of rows) {
          report.tell('lease.rescued', { job, type, attempt, worker, dead })
        }
      },
      news,
    ),
    idleWorkersChore(store),
    samplesChore(store.samples, store.inspect),
    metricsChore(store.metrics, meter),
    totalsChore(store.metrics),
    alertsChore(store.alerts, (trouble) => report.alert(trouble)),
    straysChore(store.operate),
    ticksChore(store.schedules),
    driftChore(store.operate, (repaired) => report.tell('drift.repaired', repaired)),
    thinningChore(store.samples),
    partitionsChore(store.partitions),
    retentionChore(store.partitions, (partition) => report.partitionDropped(partition)),
  ]
}
