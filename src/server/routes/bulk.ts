import type { FastifyInstance, FastifyRequest } from 'fastify'
import { allows, onlyOwn } from '../../access/caller.js'
import {
  type BulkBody,
  type BulkListQuery,
  bulkBody,
  bulkEstimate,
  bulkListAnswer,
  bulkListQuery,
  bulkAnswer as bulkSchema,
} from '../../api/bulk.js'
import { jobParams, whyBody } from '../../api/common.js'
import type { Permission } from '../../api/permissions.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import type { BulkActionName } from '../../operate/bulk-request.js'
import { actor, callerOf } from '../auth.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { bulkAnswer, bulkRequest } from './bulk-answers.js'
import { ownerAsked } from './jobs.js'

/** Room for ten thousand ids. */
const bodyBytes = 1024 * 1024
/** What each action needs, as for one job. */
const needed: Readonly<Record<BulkActionName, Permission>> = {
  cancel: 'jobs:cancel',
  'run-now': 'jobs:cancel',
  reschedule: 'jobs:cancel',
  'set-priority': 'workers:manage',
  retry: 'dlq:manage',
  replay: 'dlq:manage',
  discard: 'dlq:manage',
  bury: 'dlq:manage',
  resume: 'jobs:cancel',
}

interface OneBulk {
  Params: { id: string }
}

/** Bulk actions: what is done to many jobs in the background. A service without workers:view acts on its own jobs only. */
export function bulkRoutes(app: FastifyInstance, holdfast: Holdfast, { reader }: Reading): void {
  app.post<{ Body: BulkBody }>(
    '/bulk',
    {
      bodyLimit: bodyBytes,
      schema: {
        summary: 'Do something to all jobs that fit a filter, in the background; with dry_run, only count them',
        body: bulkBody,
        response: { 200: bulkEstimate, 201: bulkSchema },
      },
    },
    async (request, reply) => {
      const { dry_run = false, why } = request.body
      refuseAction(request, request.body.action)
      const owner = ownerOf(request)
      try {
        ownerAsked(request.body.filter?.owner, owner.owner)
        const asked = bulkRequest(request.body)
        if (dry_run) return reply.send({ dry_run: true, ...(await reader.bulkActions.estimate(asked, owner)) })
        const made = await holdfast.bulkActions.create(asked, actor(request, why), owner)
        return reply
          .status(201)
          .headers({ location: `/bulk/${made.id}`, 'cache-control': 'no-store' })
          .send(bulkAnswer(made))
      } catch (error) {
        throw overHttp(error)
      }
    },
  )

  app.get<{ Querystring: BulkListQuery }>(
    '/bulk',
    {
      schema: {
        summary: 'Bulk actions, newest first: those on the jobs of the caller’s own service, or all with workers:view',
        querystring: bulkListQuery,
        response: { 200: bulkListAnswer },
      },
    },
    async (request, reply) => {
      const { limit = 20, cursor } = request.query
      const actions = await reader.bulkActions.list({
        ...ownerOf(request),
        limit,
        ...(cursor === undefined ? {} : { before: cursor }),
      })
      const next = actions.length === limit ? (actions.at(-1)?.id ?? null) : null
      return reply.header('cache-control', 'no-store').send({ actions: actions.map(bulkAnswer), next })
    },
  )

  app.get<OneBulk>(
    '/bulk/:id',
    {
      schema: { summary: 'One bulk action, and how far it has come', params: jobParams, response: { 200: bulkSchema } },
    },
    async (request, reply) => {
      const found = await reader.bulkActions.get(request.params.id, ownerOf(request))
      if (!found) throw notKept(request.params.id)
      return reply.header('cache-control', 'no-store').send(bulkAnswer(found))
    },
  )

  app.post<OneBulk & { Body: { why?: string } }>(
    '/bulk/:id/abort',
    {
      schema: {
        summary: 'End a bulk action after the portion under way',
        params: jobParams,
        body: whyBody,
        response: { 200: bulkSchema },
      },
    },
    async (request) => {
      const { id } = request.params
      const found = await holdfast.bulkActions.get(id, ownerOf(request))
      if (!found) throw notKept(id)
      refuseAction(request, found.action)
      return bulkAnswer(await holdfast.bulkActions.abort(id, actor(request, request.body.why), ownerOf(request)))
    },
  )
}

function refuseAction(request: FastifyRequest, action: BulkActionName): void {
  const permission = needed[action]
  if (allows(callerOf(request), permission)) return
  const problem = `${action} needs ${permission}, which the key of ${callerOf(request).service} does not allow`
  throw new HoldfastError('forbidden', problem, { field: 'action' })
}

function ownerOf(request: FastifyRequest): { owner?: string } {
  const owner = onlyOwn(callerOf(request))
  return owner === undefined ? {} : { owner }
}

function notKept(id: string): HoldfastError {
  return new HoldfastError('not_found', `no bulk action ${id} is kept`, { field: 'id' })
}
