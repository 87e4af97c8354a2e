import type { FastifyInstance } from 'fastify'
import {
  type BreakerBody,
  breakerBody,
  type DependencyBody,
  dependenciesAnswer,
  dependencyBody,
  dependencyParams,
  dependencyAnswer as dependencySchema,
} from '../../api/admin.js'
import { type PauseBody, pauseBody, type ReleaseBody, releaseBody, whyBody } from '../../api/common.js'
import type { Holdfast } from '../../holdfast.js'
import type { DependencyLimits } from '../../job/limits.js'
import { actor } from '../auth.js'
import { overHttp } from '../spelling.js'
import { dependencyAnswer } from './admin-answers.js'
import { released, theirs } from './job-request.js'

interface OneDependency<Body> {
  Params: { name: string }
  Body: Body
}

/** Limits, pauses and breakers of dependencies, which all types that use one share. Each route answers with it after the change. */
export function adminDependencyRoutes(app: FastifyInstance, { flow }: Holdfast): void {
  const afterwards = async (name: string) => dependencyAnswer(await flow.dependency(name))
  const params = dependencyParams
  const response = { 200: dependencySchema }

  app.get(
    '/admin/dependencies',
    { schema: { summary: 'Every dependency, who uses it and its gate', response: { 200: dependenciesAnswer } } },
    async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ dependencies: (await flow.dependencies()).map(dependencyAnswer) }),
  )

  app.patch<OneDependency<DependencyBody>>(
    '/admin/dependencies/:name',
    {
      schema: {
        summary: 'Set limits of a dependency; null takes one away, what is left out stays',
        params,
        body: dependencyBody,
        response,
      },
    },
    async (request) => {
      const { why, for: lasts, create = false, ...limits } = request.body
      const options = lasts === undefined ? { create } : { create, for: lasts }
      const { name } = request.params
      await flow.limitDependency(name, theirs(limits) as DependencyLimits, actor(request, why), options).catch((error) => {
        throw overHttp(error)
      })
      return afterwards(name)
    },
  )

  app.post<OneDependency<ReleaseBody>>(
    '/admin/dependencies/:name/release',
    { schema: { summary: 'Give limits of a dependency back to what the code says', params, body: releaseBody, response } },
    async (request) => {
      const { why, fields } = request.body
      await flow.releaseDependency(request.params.name, actor(request, why), released(fields)).catch((error) => {
        throw overHttp(error)
      })
      return afterwards(request.params.name)
    },
  )

  app.post<OneDependency<PauseBody>>(
    '/admin/dependencies/:name/pause',
    { schema: { summary: 'Pause a dependency: jobs of all types that use it wait', params, body: pauseBody, response } },
    async (request) => {
      const { why, ...ends } = request.body
      await flow.pauseDependency(request.params.name, actor(request, why), ends)
      return afterwards(request.params.name)
    },
  )

  app.post<OneDependency<{ why?: string }>>(
    '/admin/dependencies/:name/resume',
    { schema: { summary: 'Let the types that use a paused dependency run again', params, body: whyBody, response } },
    async (request) => {
      await flow.resumeDependency(request.params.name, actor(request, request.body.why))
      return afterwards(request.params.name)
    },
  )

  app.post<OneDependency<BreakerBody>>(
    '/admin/dependencies/:name/breaker',
    { schema: { summary: 'Open, close, hold or release the breaker of a dependency', params, body: breakerBody, response } },
    async (request) => {
      const { action, why } = request.body
      await flow.dependencyBreaker(request.params.name, action, actor(request, why))
      return afterwards(request.params.name)
    },
  )
}
