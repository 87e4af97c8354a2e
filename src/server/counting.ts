import type { FastifyInstance } from 'fastify'
import { alertsChore } from '../alerts/chore.js'
import { sleep } from '../clock.js'
import { metricsChore, totalsChore } from '../metrics/chore.js'
import type { Meter } from '../metrics/meter.js'
import { samplesChore, thinningChore } from '../metrics/samples.js'
import type { Store } from '../store/store.js'
import { Upkeep } from '../upkeep/upkeep.js'
import type { Logger } from '../worker/logger.js'
import { loggingMonitor } from './background.js'

const lastNoteWithinMs = 5_000

/** Counts for /metrics and evaluates alert rules from the server, because a fleet may have only remote workers. */
export function keepCounting(app: FastifyInstance, store: Store, meter: Meter, log: Logger): void {
  const alerted = alertsChore(store.alerts, (trouble) => log[trouble.state === 'firing' ? 'warn' : 'info'](trouble, 'alert'))
  const chores = [
    samplesChore(store.samples, store.inspect),
    metricsChore(store.metrics, meter),
    totalsChore(store.metrics),
    alerted,
    thinningChore(store.samples),
  ]
  const upkeep = new Upkeep(chores, loggingMonitor(log))
  app.addHook('onResponse', async ({ method, routeOptions: { url } }, { statusCode }) => {
    if (method === 'POST' && (url === '/jobs' || url === '/jobs/bulk')) meter.enqueueAnswered(statusCode)
    if (method === 'GET' && url === '/jobs/:id') meter.statusAnswered(statusCode)
  })
  app.addHook('onReady', async () => upkeep.start())
  app.addHook('onClose', async () => {
    const rest = upkeep.stop().then(() => meter.note(store.metrics))
    // It does not wait for a database that does not answer: nothing depends on it.
    await Promise.race([rest.catch(() => {}), sleep(lastNoteWithinMs, { unref: true })])
  })
}
