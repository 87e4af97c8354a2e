import type { FastifyInstance } from 'fastify'
import { buildParams, buildsAnswer, canaryQuery, canaryAnswer as canarySchema } from '../../api/builds.js'
import { whyBody } from '../../api/common.js'
import type { Holdfast } from '../../holdfast.js'
import { actor } from '../auth.js'
import { buildAnswer, canaryAnswer } from './build-answers.js'

interface OfBuild {
  Params: { build: string }
}

/** The builds of workers: what runs, what drains, and whether a new one may go on. */
export function adminBuildRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { builds } = holdfast.flow
  const noStore = { 'cache-control': 'no-store' }

  app.get(
    '/admin/builds',
    { schema: { summary: 'Which code workers run, the newest first', response: { 200: buildsAnswer } } },
    async (_request, reply) => reply.headers(noStore).send({ builds: (await builds.list()).map(buildAnswer) }),
  )

  app.get<OfBuild & { Querystring: { baseline?: string } }>(
    '/admin/builds/:build/canary',
    {
      schema: {
        summary: 'Whether a build may go on to its next stage: go, wait or roll back',
        params: buildParams,
        querystring: canaryQuery,
        response: { 200: canarySchema },
      },
    },
    async (request, reply) => reply.headers(noStore).send(canaryAnswer(await builds.canary(request.params.build, request.query))),
  )

  for (const [order, summary] of [
    ['drain', 'Tell the workers of a build to finish what they have and claim no more'],
    ['resume', 'Let the workers of a build claim again'],
  ] as const) {
    app.post<OfBuild & { Body: { why?: string } }>(
      `/admin/builds/:build/${order}`,
      { schema: { summary, params: buildParams, body: whyBody } },
      async (request, reply) => {
        await builds[order](request.params.build, actor(request, request.body.why))
        return reply.status(204).send()
      },
    )
  }
}
