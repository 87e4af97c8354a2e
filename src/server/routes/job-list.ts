import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import { type CountsQuery, countsAnswer, countsQuery, type ListQuery, listAnswer, listQuery } from '../../api/jobs.js'
import { countJobs } from '../../history/counts.js'
import { encodeListFilter, type JobListFilter, listJobs } from '../../history/list.js'
import { insideOf } from '../../inside.js'
import { encodePayload } from '../../job/payload.js'
import type { ListFilter } from '../../store/inspect-store.js'
import { explained } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import { parseExactly } from '../body.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { libraryFilter } from './filter.js'
import { summaryAnswer } from './job-answers.js'
import { ownerAsked } from './jobs.js'

/** To list jobs and to count them. */
export function jobListRoutes(app: FastifyInstance, reading: Reading): void {
  app.get<{ Querystring: ListQuery }>(
    '/jobs',
    {
      schema: {
        summary: 'List jobs, newest first: those of the caller’s own service, or of all with workers:view',
        querystring: listQuery,
        response: { 200: listAnswer },
      },
    },
    async (request, reply) => {
      const { limit = 20, cursor = null, ...asked } = request.query
      try {
        const filter = filterAsked(request, asked)
        const { jobs, next, lookedBackTo } = await reading.forCaller(request, (reader) => {
          const { store, privacy } = insideOf(reader)
          return listJobs(store, privacy, filter, { cursor, limit })
        })
        return reply
          .header('cache-control', 'no-store')
          .send({ jobs: jobs.map(summaryAnswer), next, looked_back_to: lookedBackTo?.toISOString() ?? null })
      } catch (error) {
        throw overHttp(explained(error))
      }
    },
  )

  app.get<{ Querystring: CountsQuery }>(
    '/jobs/counts',
    {
      schema: {
        summary: 'How many jobs fit a filter, by status; each is counted up to 1,000, of the newest that are looked at',
        querystring: countsQuery,
        response: { 200: countsAnswer },
      },
    },
    async (request, reply) => {
      try {
        const filter = filterAsked(request, request.query)
        const counts = await reading.forCaller(request, (reader) => {
          const { store, privacy } = insideOf(reader)
          return countJobs(store, privacy, filter)
        })
        return reply.header('cache-control', 'no-store').send(counts)
      } catch (error) {
        throw overHttp(explained(error))
      }
    },
  )
}

/** The jobs that a caller asks for, among those that it may see. */
function filterAsked(request: FastifyRequest, { payload, ...asked }: Omit<ListQuery, 'limit' | 'cursor'>): ListFilter {
  const owner = ownerAsked(asked.owner, onlyOwn(callerOf(request)))
  return { ...encodeListFilter(libraryFilter<JobListFilter>(asked)), owner, payload: partOfPayload(payload) }
}

function partOfPayload(text: string | undefined): string | null {
  return text === undefined ? null : encodePayload(parseExactly(Buffer.from(text)))
}
