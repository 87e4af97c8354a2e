import type { FastifyInstance } from 'fastify'
import {
  type BreakerBody,
  breakerBody,
  gateAnswer as gateSchema,
  gatesAnswer,
  type LimitsBody,
  limitsBody,
} from '../../api/admin.js'
import { typeParams, whyBody } from '../../api/common.js'
import type { Holdfast } from '../../holdfast.js'
import type { Limits } from '../../job/limits.js'
import { actor } from '../auth.js'
import { overHttp } from '../spelling.js'
import { gateAnswer } from './admin-answers.js'
import { typesAnswer } from './fleet-answers.js'
import { theirs } from './job-request.js'

interface OneType<Body> {
  Params: { type: string }
  Body: Body
}

/** Pauses, breakers and limits of job types. Each route answers with the gate after the change. */
export function adminTypeRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { flow } = holdfast
  const afterwards = async (type: string) => {
    const gate = await flow.gate(type)
    return { type, gate: gate ? gateAnswer(gate) : null }
  }
  const response = { 200: gateSchema }

  app.get(
    '/admin/job-types',
    { schema: { summary: 'Every job type, its lane and its gate', response: { 200: gatesAnswer } } },
    async (_request, reply) => {
      return reply.header('cache-control', 'no-store').send({ types: await typesAnswer(holdfast) })
    },
  )

  app.post<OneType<{ why?: string }>>(
    '/admin/job-types/:type/pause',
    { schema: { summary: 'Pause a type: its jobs wait, enqueue goes on', params: typeParams, body: whyBody, response } },
    async (request) => {
      await flow.pauseType(request.params.type, actor(request, request.body.why))
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
      const { why, ...limits } = request.body
      await flow.limit(request.params.type, theirs(limits) as Limits, actor(request, why)).catch((error) => {
        throw overHttp(error)
      })
      return afterwards(request.params.type)
    },
  )
}
