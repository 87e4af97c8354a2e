import type { FastifyInstance } from 'fastify'
import { typeParams } from '../../api/common.js'
import {
  type DepthBody,
  depthBody,
  depthsAnswer,
  type KeyBody,
  keyBody,
  keyStateAnswer,
  keyStatesAnswer,
  type WeightBody,
  weightBody,
} from '../../api/flow.js'
import type { KeySettings } from '../../flow/states.js'
import type { Holdfast } from '../../holdfast.js'
import { actor } from '../auth.js'
import { pausedAnswer } from './admin-answers.js'
import { depthsOf, limitDepth } from './depth-answers.js'
import { moment } from './job-answers.js'

interface OneType<Body = unknown> {
  Params: { type: string }
  Body: Body
}

/** Depth limits, and pauses and weights of single concurrency keys. */
export function adminFlowRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { flow } = holdfast
  const limits = async () => ({ limits: await depthsOf(holdfast) })
  const afterwards = async (type: string, key: string) => {
    const [found = { key, weight: 1, paused: null, restsUntil: null, halted: null }] = await flow.keys(type, key)
    return { type, ...settings(found) }
  }
  const response = { 200: keyStateAnswer }

  app.get(
    '/admin/depth-limits',
    { schema: { summary: 'How much may wait, and how much does', response: { 200: depthsAnswer } } },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(await limits()),
  )

  app.put<{ Body: DepthBody }>(
    '/admin/depth-limits',
    {
      schema: {
        summary: 'Set how much may wait in the queue, a lane or a type; what is null or left out is not limited',
        body: depthBody,
        response: { 200: depthsAnswer },
      },
    },
    async (request) => {
      await limitDepth(holdfast, request.body, actor(request, request.body.why))
      return limits()
    },
  )

  app.get<OneType>(
    '/admin/job-types/:type/keys',
    {
      schema: { summary: 'Keys of a type about which something was set', params: typeParams, response: { 200: keyStatesAnswer } },
    },
    async (request, reply) => {
      const { type } = request.params
      return reply.header('cache-control', 'no-store').send({ type, keys: (await flow.keys(type)).map(settings) })
    },
  )

  app.post<OneType<KeyBody>>(
    '/admin/job-types/:type/keys/pause',
    { schema: { summary: 'Pause one key of a type: its jobs wait', params: typeParams, body: keyBody, response } },
    async (request) => {
      const { key, why, ...ends } = request.body
      await flow.pauseKey(request.params.type, key, actor(request, why), ends)
      return afterwards(request.params.type, key)
    },
  )

  app.post<OneType<KeyBody>>(
    '/admin/job-types/:type/keys/resume',
    { schema: { summary: 'Let a paused key run again', params: typeParams, body: keyBody, response } },
    async (request) => {
      const { key, why } = request.body
      await flow.resumeKey(request.params.type, key, actor(request, why))
      return afterwards(request.params.type, key)
    },
  )

  app.put<OneType<WeightBody>>(
    '/admin/job-types/:type/keys/weight',
    { schema: { summary: 'How many turns a key gets beside others', params: typeParams, body: weightBody, response } },
    async (request) => {
      const { key, weight, why } = request.body
      await flow.setWeight(request.params.type, key, weight, actor(request, why))
      return afterwards(request.params.type, key)
    },
  )
}

function settings({ key, weight, paused, restsUntil, halted }: KeySettings) {
  const halt = halted && { job: halted.job, at: halted.at.toISOString() }
  return { key, weight, paused: pausedAnswer(paused), rests_until: moment(restsUntil), halted: halt }
}
