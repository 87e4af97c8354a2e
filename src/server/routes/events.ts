import type { FastifyInstance } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import { type EventQuery, eventQuery, eventsAnswer } from '../../api/events.js'
import { questionOf, readEvents } from '../../history/events.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { told } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import type { Reading } from '../reading.js'

/** The feed of events, a page at a time. */
export function eventRoutes(app: FastifyInstance, holdfast: Holdfast, reading: Reading): void {
  app.get<{ Querystring: EventQuery }>(
    '/events',
    {
      schema: {
        summary: 'What happened to jobs, oldest first: those of the caller’s own service, or of all with workers:view',
        querystring: eventQuery,
        response: { 200: eventsAnswer },
      },
    },
    async (request, reply) => {
      const { after, type, kind, tags, limit = 100 } = request.query
      const filter = {
        ...(after !== undefined && { after }),
        ...(type !== undefined && { types: [type] }),
        ...(kind !== undefined && { kinds: [kind] }),
        ...(tags !== undefined && { tags }),
      }
      const question = questionOf(filter, limit, onlyOwn(callerOf(request)))
      // The first reader begins the recording, and connections for reading cannot write.
      await holdfast.events.open()
      const page = await told(reading.forCaller(request, (reader) => readEvents(insideOf(reader).store.events, question)))
      return reply
        .header('cache-control', 'no-store')
        .send({ ...page, events: page.events.map((event) => ({ ...event, at: event.at.toISOString() })) })
    },
  )
}
