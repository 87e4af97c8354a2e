import type { FastifyInstance } from 'fastify'
import { plainText } from '../../api/common.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { expose } from '../../metrics/exposition.js'
import { ReplicaFirst } from '../../store/replica.js'

/** Answers Prometheus from stored counters, so that a scrape costs the same however many jobs there are. */
export function metricsRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { store } = insideOf(holdfast)
  app.get(
    '/metrics',
    { schema: { summary: 'Everything that is measured, for Prometheus', response: { 200: plainText } } },
    async (_request, reply) =>
      reply
        .headers({ 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' })
        .send(expose(await store.metrics.read(), ReplicaFirst.stateOf(store.database))),
  )
}
