import type { FastifyInstance } from 'fastify'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import type { Worker } from '../../worker/worker.js'
import { StatusReader } from '../status.js'

/** What the first page of the dashboard shows, as JSON. */
export function statusRoutes(app: FastifyInstance, holdfast: Holdfast, worker: Worker | undefined): void {
  const reader = new StatusReader(insideOf(holdfast).store, worker)
  app.get(
    '/status',
    { schema: { summary: 'How much stands where, and the newest jobs', response: { 200: {} } } },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(await reader.read()),
  )
}
