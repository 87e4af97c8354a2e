import type { FastifyInstance } from 'fastify'
import { jobParams, movedAnswer, whyBody } from '../../api/common.js'
import { type RescheduleBody, rescheduleBody } from '../../api/jobs.js'
import type { Holdfast } from '../../holdfast.js'
import type { NewTime } from '../../operate/moves.js'
import { actor } from '../auth.js'
import { overHttp } from '../spelling.js'
import { type OneJob, orConflict, visibleJob } from './one-job.js'

/** Routes that move one job that does not run: to now, to another time, to the dead letters. */
export function jobMoveRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const schema = { params: jobParams, response: { 200: movedAnswer } }

  app.post<OneJob & { Body: { why?: string } }>(
    '/jobs/:id/run-now',
    { schema: { ...schema, summary: 'Make a job that waits for a time due at once', body: whyBody } },
    async (request) => {
      const { id } = await visibleJob(holdfast, request)
      return orConflict(await holdfast.runNow(id, actor(request, request.body.why)))
    },
  )

  app.post<OneJob & { Body: RescheduleBody }>(
    '/jobs/:id/reschedule',
    { schema: { ...schema, summary: 'Make a job that does not run due at another time', body: rescheduleBody } },
    async (request) => {
      const { id } = await visibleJob(holdfast, request)
      const { why, ...asked } = request.body
      const moved = holdfast.reschedule(id, timeOf(asked), actor(request, why))
      return orConflict(
        await moved.catch((error) => {
          throw overHttp(error)
        }),
      )
    },
  )

  app.post<OneJob & { Body: { why?: string } }>(
    '/jobs/:id/bury',
    { schema: { ...schema, summary: 'Make a dead letter of a job that does not run', body: whyBody } },
    async (request) => {
      const { id } = await visibleJob(holdfast, request)
      return orConflict(await holdfast.bury(id, actor(request, request.body.why)))
    },
  )
}

/** Whether one of them was given is asked by the library. */
function timeOf({ run_at, delay }: RescheduleBody): NewTime {
  return { ...(delay !== undefined && { delay }), ...(run_at !== undefined && { runAt: new Date(run_at) }) } as NewTime
}
