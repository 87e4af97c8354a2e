import type { FastifyInstance } from 'fastify'
import {
  type SeriesQuery,
  seriesQuery,
  seriesAnswer as seriesSchema,
  type TypeSeriesQuery,
  typeSeriesQuery,
  typeSeriesAnswer as typeSeriesSchema,
} from '../../api/series.js'
import { readSeries } from '../../history/series.js'
import { readTypeSeries } from '../../history/type-series.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { told } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import type { Reading } from '../reading.js'
import { seriesAnswer, seriesQuestion, typeSeriesAnswer } from './series-answers.js'

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

  app.get<{ Querystring: TypeSeriesQuery }>(
    '/series/types',
    {
      schema: {
        summary: 'What went on in every type: rates, failures, percentiles, what waits, and points to draw a small line of',
        querystring: typeSeriesQuery,
        response: { 200: typeSeriesSchema },
      },
    },
    async (request, reply) => {
      const { types } = callerOf(request)
      const read = (reader: Holdfast) => readTypeSeries(insideOf(reader).store, request.query, types)
      return reply.header('cache-control', 'no-store').send(typeSeriesAnswer(await told(reading.forCaller(request, read))))
    },
  )
}
