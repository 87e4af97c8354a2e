import type { FastifyInstance } from 'fastify'
import {
  type LaneBody,
  laneBody,
  laneParams,
  laneAnswer as laneSchema,
  lanesAnswer,
  priorityBody,
  workerParams,
  workersAnswer,
} from '../../api/admin.js'
import { jobParams, movedAnswer, type ReleaseBody, releaseBody, whyBody } from '../../api/common.js'
import { slotsAnswer, slotsQuery } from '../../api/types.js'
import type { Holdfast } from '../../holdfast.js'
import { explained } from '../../store/sqlstate.js'
import { actor } from '../auth.js'
import { laneAnswer } from './admin-answers.js'
import { workersAnswer as fleetAnswer } from './fleet-answers.js'
import { changeLane, releaseLane } from './lane-change.js'
import { orConflict } from './one-job.js'

/** What operators see of lanes and workers, and do to lanes and single jobs. */
export function adminWorkerRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const noStore = { 'cache-control': 'no-store' }

  app.get(
    '/admin/workers/lanes',
    { schema: { summary: 'Every lane and how full it is', response: { 200: lanesAnswer } } },
    async (_request, reply) => reply.headers(noStore).send({ lanes: (await holdfast.flow.lanes()).map(laneAnswer) }),
  )

  app.post<{ Params: { name: string }; Body: ReleaseBody }>(
    '/admin/workers/lanes/:name/release',
    {
      schema: {
        summary: 'Give fields of a lane back to what it was made with',
        params: laneParams,
        body: releaseBody,
        response: { 200: laneSchema },
      },
    },
    async (request) => {
      const { fields, why } = request.body
      return releaseLane(holdfast, request.params.name, fields, actor(request, why))
    },
  )

  app.patch<{ Params: { name: string }; Body: LaneBody }>(
    '/admin/workers/lanes/:name',
    {
      schema: {
        summary: 'Change a lane, or make it, and move job types into it; workers follow within one look',
        params: laneParams,
        body: laneBody,
        response: { 200: laneSchema },
      },
    },
    async (request) => {
      const { why, ...change } = request.body
      return changeLane(holdfast, request.params.name, change, actor(request, why))
    },
  )

  app.get<{ Params: { name: string }; Querystring: { limit?: number } }>(
    '/admin/workers/lanes/:name/slots',
    {
      schema: {
        summary: 'The jobs that take slots of a lane, the one that has run for longest first',
        params: laneParams,
        querystring: slotsQuery,
        response: { 200: slotsAnswer },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const slots = await holdfast.flow.slots(name, request.query)
      const lane = (await holdfast.flow.lanes()).find((one) => one.name === name)
      return reply.headers(noStore).send({
        lane: name,
        limit: lane?.slots ?? null,
        slots: slots.map(({ workerId, since, leaseUntil, ...slot }) => ({
          ...{ ...slot, worker_id: workerId, since: since.toISOString(), lease_until: leaseUntil.toISOString() },
        })),
      })
    },
  )

  app.get(
    '/admin/workers/status',
    { schema: { summary: 'Workers that live, lanes, and how much waits', response: { 200: workersAnswer } } },
    async (_request, reply) => {
      try {
        return reply.headers(noStore).send(await fleetAnswer(holdfast))
      } catch (error) {
        throw explained(error)
      }
    },
  )

  app.post<{ Params: { id: string }; Body: { why?: string } }>(
    '/admin/workers/processes/:id/drain',
    { schema: { summary: 'Order a worker to finish what it has and claim no more', params: workerParams, body: whyBody } },
    async (request, reply) => {
      await holdfast.flow.drainWorker(Number(request.params.id), actor(request, request.body.why))
      return reply.status(204).send()
    },
  )

  app.post<{ Params: { id: string }; Body: { why?: string } }>(
    '/admin/workers/processes/:id/resume',
    { schema: { summary: 'Let a worker claim again', params: workerParams, body: whyBody } },
    async (request, reply) => {
      await holdfast.flow.resumeWorker(Number(request.params.id), actor(request, request.body.why))
      return reply.status(204).send()
    },
  )

  app.post<{ Params: { id: string }; Body: { why?: string } }>(
    '/admin/workers/jobs/:id/cancel',
    { schema: { summary: 'Cancel a job, also while it runs', params: jobParams, body: whyBody, response: { 200: movedAnswer } } },
    async (request) => orConflict(await holdfast.cancel(request.params.id, actor(request, request.body.why))),
  )

  app.patch<{ Params: { id: string }; Body: { priority: number; why?: string } }>(
    '/admin/workers/jobs/:id/priority',
    {
      schema: {
        summary: 'Give a job that waits another priority',
        params: jobParams,
        body: priorityBody,
        response: { 200: movedAnswer },
      },
    },
    async (request) => {
      const { priority, why } = request.body
      return orConflict(await holdfast.setPriority(request.params.id, priority, actor(request, why)))
    },
  )
}
