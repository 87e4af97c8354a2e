import type { FastifyInstance } from 'fastify'
import { sleep } from '../clock.js'
import { metricsChore } from '../metrics/chore.js'
import type { Meter } from '../metrics/meter.js'
import type { Store } from '../store/store.js'
import { depthsChore } from '../upkeep/depths.js'
import { Upkeep } from '../upkeep/upkeep.js'
import type { Logger } from '../worker/logger.js'

const lastNoteWithinMs = 5_000

/** A fleet may have no worker but those behind HTTP: then what /metrics answers is counted and added up from here. */
export function keepCounting(app: FastifyInstance, store: Store, meter: Meter, log: Logger): void {
  const upkeep = new Upkeep([depthsChore(store.operate), metricsChore(store.metrics, meter)], (chore, error) =>
    log.warn({ chore, error: String(error) }, 'a chore failed; it comes again'),
  )
  app.addHook('onReady', async () => upkeep.start())
  app.addHook('onClose', async () => {
    const rest = upkeep.stop().then(() => meter.note(store.metrics))
    // What the database leaves unanswered is not waited for: nothing depends on it.
    await Promise.race([rest.catch(() => {}), sleep(lastNoteWithinMs, { unref: true })])
  })
}
