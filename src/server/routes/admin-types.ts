import type { FastifyInstance } from 'fastify'
import { allows } from '../../access/caller.js'
import {
  type BreakerBody,
  breakerBody,
  gateAnswer as gateSchema,
  gatesAnswer,
  type LimitsBody,
  limitsBody,
} from '../../api/admin.js'
import { type PauseBody, pauseBody, type ReleaseBody, releaseBody, typeParams, whyBody } from '../../api/common.js'
import {
  type MoveTypeBody,
  movedTypeAnswer,
  moveTypeBody,
  type TypeBody,
  typeBody,
  typeAnswer as typeSchema,
} from '../../api/types.js'
import { HoldfastError } from '../../errors.js'
import type { TypeSettings } from '../../flow/type-settings.js'
import type { Holdfast } from '../../holdfast.js'
import type { Limits } from '../../job/limits.js'
import { actor, callerOf, refuseOtherTypes } from '../auth.js'
import { overHttp } from '../spelling.js'
import { gateAnswer, typeAnswer } from './admin-answers.js'
import { typesAnswer } from './fleet-answers.js'
import { released, theirs } from './job-request.js'

interface OneType<Body> {
  Params: { type: string }
  Body: Body
}

/** Settings, lanes, pauses, breakers and limits of job types. Those that change a gate answer with it. */
export function adminTypeRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { flow } = holdfast
  const afterwards = async (type: string) => {
    const gate = await flow.gate(type)
    return { type, gate: gate ? gateAnswer(gate) : null }
  }
  const whole = async (type: string) => {
    const settings = await flow.type(type)
    if (!settings) throw new HoldfastError('not_found', `no job type named "${type}" is registered`, { field: 'type' })
    return typeAnswer(settings, await flow.gate(type))
  }
  const response = { 200: gateSchema }

  app.get(
    '/admin/job-types',
    { schema: { summary: 'Every job type, its lane and its gate', response: { 200: gatesAnswer } } },
    async (_request, reply) => {
      return reply.header('cache-control', 'no-store').send({ types: await typesAnswer(holdfast) })
    },
  )

  app.get<{ Params: { type: string } }>(
    '/admin/job-types/:type',
    { schema: { summary: 'Everything that is stored about a job type', params: typeParams, response: { 200: typeSchema } } },
    async (request, reply) => reply.header('cache-control', 'no-store').send(await whole(request.params.type)),
  )

  app.put<OneType<TypeBody>>(
    '/admin/job-types/:type',
    {
      schema: {
        summary: 'Define a job type without a worker, or change what is stored about one; what is left out stays',
        params: typeParams,
        body: typeBody,
        response: { 200: typeSchema },
      },
    },
    async (request) => {
      const { type } = request.params
      const { why, approval, unique, ...fields } = request.body
      refuseOtherTypes(request, [type])
      const settings = {
        ...(theirs(fields) as TypeSettings),
        ...(approval === undefined ? {} : { approval: approval && (theirs(approval) as never) }),
        ...(unique === undefined ? {} : { unique: unique ? (theirs(unique) as never) : null }),
      }
      const guards = allows(callerOf(request), 'admin')
      await flow.defineType(type, settings, actor(request, why), { guards }).catch((error) => {
        throw overHttp(error)
      })
      return whole(type)
    },
  )

  app.post<OneType<ReleaseBody>>(
    '/admin/job-types/:type/release',
    {
      schema: {
        summary: 'Give settings of a job type back to its definition, its lane too',
        params: typeParams,
        body: releaseBody,
        response: { 200: typeSchema },
      },
    },
    async (request) => {
      const { type } = request.params
      const { why, fields } = request.body
      refuseOtherTypes(request, [type])
      const guards = allows(callerOf(request), 'admin')
      await flow.releaseType(type, actor(request, why), { ...released(fields), guards }).catch((error) => {
        throw overHttp(error)
      })
      return whole(type)
    },
  )

  app.patch<OneType<MoveTypeBody>>(
    '/admin/job-types/:type',
    {
      schema: {
        summary: 'Move a job type into another lane, with what waits of it',
        params: typeParams,
        body: moveTypeBody,
        response: { 200: movedTypeAnswer },
      },
    },
    async (request) => {
      const { type } = request.params
      const { lane, why } = request.body
      return { type, lane, moved: await flow.moveType(type, lane, actor(request, why)) }
    },
  )

  app.post<OneType<PauseBody>>(
    '/admin/job-types/:type/pause',
    { schema: { summary: 'Pause a type: its jobs wait, enqueue goes on', params: typeParams, body: pauseBody, response } },
    async (request) => {
      const { why, ...ends } = request.body
      await flow.pauseType(request.params.type, actor(request, why), ends)
      return afterwards(request.params.type)
    },
  )

  app.post<OneType<{ why?: string }>>(
    '/admin/job-types/:type/resume',
    { schema: { summary: 'Let a paused type run again', params: typeParams, body: whyBody, response } },
    async (request) => {
      await flow.resumeType(request.params.type, actor(request, request.body.why))
      return afterwards(request.params.type)
    },
  )

  app.post<OneType<BreakerBody>>(
    '/admin/job-types/:type/breaker',
    { schema: { summary: 'Open, close, hold or release a breaker', params: typeParams, body: breakerBody, response } },
    async (request) => {
      const { action, why } = request.body
      await flow.breaker(request.params.type, action, actor(request, why))
      return afterwards(request.params.type)
    },
  )

  app.patch<OneType<LimitsBody>>(
    '/admin/job-types/:type/limits',
    {
      schema: {
        summary: 'Set limits; null takes one away, what is left out stays',
        params: typeParams,
        body: limitsBody,
        response,
      },
    },
    async (request) => {
      const { why, for: lasts, ...limits } = request.body
      const ends = lasts === undefined ? {} : { for: lasts }
      await flow.limit(request.params.type, theirs(limits) as Limits, actor(request, why), ends).catch((error) => {
        throw overHttp(error)
      })
      return afterwards(request.params.type)
    },
  )

  app.post<OneType<ReleaseBody>>(
    '/admin/job-types/:type/limits/release',
    {
      schema: {
        summary: 'Give limits back to what the definition of the type says',
        params: typeParams,
        body: releaseBody,
        response,
      },
    },
    async (request) => {
      const { why, fields } = request.body
      await flow.releaseLimits(request.params.type, actor(request, why), released(fields)).catch((error) => {
        throw overHttp(error)
      })
      return afterwards(request.params.type)
    },
  )
}
