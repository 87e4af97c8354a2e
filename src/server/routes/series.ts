import type { FastifyInstance } from 'fastify'
import { type SeriesQuery, seriesQuery, seriesAnswer as seriesSchema } from '../../api/series.js'
import { readSeries } from '../../history/series.js'
import { insideOf } from '../../inside.js'
import { told } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import type { Reading } from '../reading.js'
import { seriesAnswer, seriesQuestion } from './series-answers.js'

/** The past in numbers, for charts. A key that is for some types sees those. */
export function seriesRoutes(app: FastifyInstance, reading: Reading): void {
  app.get<{ Querystring: SeriesQuery }>(
    '/series',
    {
      schema: {
        summary: 'What went on, step by step: enqueued, ended, waiting, how long attempts took; of all, a type or a lane',
        querystring: seriesQuery,
        response: { 200: seriesSchema },
      },
    },
    async (request, reply) => {
      const question = seriesQuestion(request.query)
      const { types } = callerOf(request)
      const series = await told(reading.forCaller(request, (reader) => readSeries(insideOf(reader).store, question, types)))
      return reply.header('cache-control', 'no-store').send(seriesAnswer(series))
    },
  )
}
