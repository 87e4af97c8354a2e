import type { FastifyInstance } from 'fastify'
import type { Holdfast } from '../../holdfast.js'
import type { Worker } from '../../worker/worker.js'

/** Open to everybody, so it says whether and not why: the reason names hosts and ports. */
export function healthRoutes(app: FastifyInstance, holdfast: Holdfast, worker: Worker | undefined): void {
  app.get('/healthz', { config: { open: true } }, async (_request, reply) => {
    const status = worker ? worker.health().status : await databaseHealth(holdfast)
    return reply
      .status(status === 'ok' ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status })
  })
}

async function databaseHealth(holdfast: Holdfast): Promise<'ok' | 'unhealthy'> {
  return holdfast.store.inspect.ping().then(
    () => 'ok',
    () => 'unhealthy',
  )
}
