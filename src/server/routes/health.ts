import type { FastifyInstance } from 'fastify'
import type { Holdfast } from '../../holdfast.js'
import type { Worker } from '../../worker/worker.js'
import { text } from '../schemas/common.js'
import { answer } from '../schemas/schema.js'

const status = answer({ status: text })
const about = { summary: 'Whether it is alive and truly polling', response: { 200: status, 503: status } }

/** Open to everybody, so it says whether and not why: the reason names hosts and ports. */
export function healthRoutes(app: FastifyInstance, holdfast: Holdfast, worker: Worker | undefined): void {
  app.get('/healthz', { schema: about }, async (_request, reply) => {
    const health = worker ? worker.health().status : await databaseHealth(holdfast)
    return reply
      .status(health === 'ok' ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: health })
  })
}

async function databaseHealth(holdfast: Holdfast): Promise<'ok' | 'unhealthy'> {
  return holdfast.store.inspect.ping().then(
    () => 'ok',
    () => 'unhealthy',
  )
}
