import type { FastifyInstance } from 'fastify'
import { type SeriesAnswer, type SeriesQuery, seriesAnswer, seriesQuery } from '../../api/series.js'
import { readSeries, type Series } from '../../history/series.js'
import { insideOf } from '../../inside.js'
import { told } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import type { Reading } from '../reading.js'

/** The past in numbers, for charts. A key that is for some types sees those. */
export function seriesRoutes(app: FastifyInstance, reading: Reading): void {
  app.get<{ Querystring: SeriesQuery }>(
    '/series',
    {
      schema: {
        summary: 'What went on, step by step: enqueued, ended, waiting, how long attempts took; of all, a type or a lane',
        querystring: seriesQuery,
        response: { 200: seriesAnswer },
      },
    },
    async (request, reply) => {
      const { from, to, ...rest } = request.query
      const question = {
        ...rest,
        ...(from !== undefined && { from: new Date(from) }),
        ...(to !== undefined && { to: new Date(to) }),
      }
      const { types } = callerOf(request)
      const series = await told(reading.forCaller(request, (reader) => readSeries(insideOf(reader).store, question, types)))
      return reply.header('cache-control', 'no-store').send(answerOf(series))
    },
  )
}

function answerOf({ from, to, stepMs, oldestSeconds, run, priorities, ...columns }: Series): SeriesAnswer {
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    step_ms: stepMs,
    ...columns,
    oldest_s: oldestSeconds,
    run_s: run,
    priorities: priorities.map(({ oldestSeconds: seconds, ...rest }) => ({ ...rest, oldest_s: seconds })),
  }
}
