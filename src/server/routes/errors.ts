import type { FastifyInstance } from 'fastify'
import {
  type ErrorGroupAnswer,
  type ErrorsQuery,
  errorAnswer,
  errorsAnswer,
  errorsQuery,
  fingerprintParams,
  type OneErrorQuery,
  oneErrorQuery,
} from '../../api/errors.js'
import { HoldfastError } from '../../errors.js'
import { type ErrorGroup, listErrorGroups, readErrorGroup } from '../../history/error-groups.js'
import { insideOf } from '../../inside.js'
import { told } from '../../store/sqlstate.js'
import { callerOf } from '../auth.js'
import type { Reading } from '../reading.js'

/** Error groups. A key that is for some types sees those. */
export function errorRoutes(app: FastifyInstance, reading: Reading): void {
  app.get<{ Querystring: ErrorsQuery }>(
    '/errors',
    {
      schema: {
        summary: 'Failures that are the same as one: how many on which day, first and last, and an example',
        querystring: errorsQuery,
        response: { 200: errorsAnswer },
      },
    },
    async (request, reply) => {
      const { since, ...same } = request.query
      const question = { ...same, ...(since !== undefined && { since: new Date(since) }) }
      const { types } = callerOf(request)
      const groups = await told(reading.forCaller(request, (reader) => listErrorGroups(insideOf(reader).store, question, types)))
      return reply.header('cache-control', 'no-store').send({ groups: groups.map(groupAnswer) })
    },
  )

  app.get<{ Params: { fingerprint: string }; Querystring: OneErrorQuery }>(
    '/errors/:fingerprint',
    {
      schema: {
        summary: 'One error group, of each type that has it',
        params: fingerprintParams,
        querystring: oneErrorQuery,
        response: { 200: errorAnswer },
      },
    },
    async (request, reply) => {
      const { fingerprint } = request.params
      const { since } = request.query
      const { types } = callerOf(request)
      const question = since === undefined ? {} : { since: new Date(since) }
      const groups = await told(
        reading.forCaller(request, (reader) => readErrorGroup(insideOf(reader).store, fingerprint, question, types)),
      )
      if (groups.length === 0) {
        throw new HoldfastError('not_found', `no error group ${fingerprint} is kept`, { field: 'fingerprint' })
      }
      const count = groups.reduce((sum, group) => sum + group.count, 0)
      return reply.header('cache-control', 'no-store').send({ fingerprint, count, groups: groups.map(groupAnswer) })
    },
  )
}

export function groupAnswer({ firstAt, lastAt, ...same }: ErrorGroup): ErrorGroupAnswer {
  return { ...same, first_at: firstAt.toISOString(), last_at: lastAt.toISOString() }
}
