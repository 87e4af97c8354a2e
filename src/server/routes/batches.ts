import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import {
  addAnswer,
  addRequest,
  type BatchBody,
  type BatchListQuery,
  batchAnswer,
  batchListAnswer,
  batchListQuery,
  batchParams,
  batchRequest,
  type CallbackBody,
  cancelledBatchAnswer,
  closedBatchAnswer,
  createdBatchAnswer,
  type RetryBatchBody,
  retriedBatchAnswer,
  retryBatchBody,
} from '../../api/batches.js'
import { whyBody } from '../../api/common.js'
import type { JobBody } from '../../api/jobs.js'
import type { BatchFilter } from '../../batch/batches.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { actor, callerOf, refuseOtherTypes, spend } from '../auth.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { batchAnswer as answerOf } from './batch-answers.js'
import { libraryFilter } from './filter.js'
import { jobRequest } from './job-request.js'
import { asSeenBy, checkJob, pathIn } from './jobs.js'

interface OneBatch<Body = unknown> {
  Params: { id: string }
  Body: Body
}

/** Room for a hundred payloads of the largest size and their options. */
const bulkBytes = 8 * 1024 * 1024
const callbacks = ['on_success', 'on_failure', 'on_complete'] as const

/** Makes batches, adds to them, shows and changes them. To a caller that sees only its own, a batch of another service does not exist. */
export function batchRoutes(app: FastifyInstance, holdfast: Holdfast, { reader }: Reading): void {
  const { batches } = holdfast

  app.post<{ Body: BatchBody }>(
    '/batches',
    {
      bodyLimit: bulkBytes,
      schema: {
        summary: 'Make a batch of up to 100 jobs, all or none; more can be added',
        body: batchRequest,
        response: { 200: createdBatchAnswer, 201: createdBatchAnswer },
      },
    },
    async (request, reply) => {
      const { jobs = [], id, name, open, on_success: success, on_failure: failure, on_complete: complete } = request.body
      for (const field of callbacks) if (request.body[field]) await checkCallback(request, field, request.body[field])
      await checkMembers(request, jobs)
      const asked = {
        ...(id !== undefined && { id }),
        ...(name !== undefined && { name }),
        ...(open !== undefined && { open }),
        ...(success && { onSuccess: jobRequest(success) }),
        ...(failure && { onFailure: jobRequest(failure) }),
        ...(complete && { onComplete: jobRequest(complete) }),
        jobs: jobs.map((job) => jobRequest(job, request.headers.traceparent)),
      }
      const created = await batches.create(asked, { owner: callerOf(request).service, retryFor: 0 }).catch(async (error) => {
        throw await asSeenBy(request, holdfast, error, (problem) => pathIn(jobs, problem))
      })
      return reply
        .status(created.status === 'created' ? 201 : 200)
        .headers({ location: `/batches/${created.id}`, 'cache-control': 'no-store' })
        .send(created)
    },
  )

  app.post<OneBatch<{ jobs: JobBody[] }>>(
    '/batches/:id/jobs',
    {
      bodyLimit: bulkBytes,
      schema: {
        summary: 'Add up to 100 jobs to a batch that has not ended, all or none',
        params: batchParams,
        body: addRequest,
        response: { 201: addAnswer },
      },
    },
    async (request, reply) => {
      const { jobs } = request.body
      await checkMembers(request, jobs)
      const requests = jobs.map((job) => jobRequest(job, request.headers.traceparent))
      const added = await batches
        .add(request.params.id, requests, { owner: callerOf(request).service, retryFor: 0 })
        .catch(async (error) => {
          throw await asSeenBy(request, holdfast, error, (problem) => pathIn(jobs, problem))
        })
      return reply.status(201).header('cache-control', 'no-store').send({ jobs: added })
    },
  )

  app.get<{ Querystring: BatchListQuery }>(
    '/batches',
    {
      schema: {
        summary: 'List batches, newest first: those of the caller’s own service, or of all with workers:view',
        querystring: batchListQuery,
        response: { 200: batchListAnswer },
      },
    },
    async (request, reply) => {
      const { job, limit = 20, cursor, ...filter } = request.query
      const owner = ownerOf(request)
      const page = {
        ...libraryFilter<BatchFilter>(filter),
        ...owner,
        limit,
        ...(cursor === undefined ? {} : { before: cursor }),
      }
      const found = job === undefined ? await reader.batches.list(page) : [await reader.batches.of(job, owner)]
      const shown = found.filter((batch) => batch !== undefined)
      const next = job === undefined && shown.length === limit ? (shown.at(-1)?.id ?? null) : null
      return reply.header('cache-control', 'no-store').send({ batches: shown.map(answerOf), next })
    },
  )

  app.get<OneBatch>(
    '/batches/:id',
    { schema: { summary: 'One batch, with its members by status', params: batchParams, response: { 200: batchAnswer } } },
    async (request, reply) => {
      const batch = await reader.batches.get(request.params.id, ownerOf(request))
      if (!batch) throw new HoldfastError('not_found', `no batch ${request.params.id} is kept`, { field: 'id' })
      return reply.header('cache-control', 'no-store').send(answerOf(batch))
    },
  )

  app.post<OneBatch>(
    '/batches/:id/close',
    {
      schema: {
        summary: 'Let an open batch end with its last member',
        params: batchParams,
        response: { 200: closedBatchAnswer },
      },
    },
    async (request) => {
      const { id } = request.params
      return { id, closed: await batches.close(id, { owner: callerOf(request).service }) }
    },
  )

  app.post<OneBatch<{ why?: string }>>(
    '/batches/:id/cancel',
    {
      schema: {
        summary: 'Cancel every member of a batch that has not ended',
        params: batchParams,
        body: whyBody,
        response: { 200: cancelledBatchAnswer },
      },
    },
    async (request) => {
      const { done, was, because, id } = await batches.cancel(
        request.params.id,
        actor(request, request.body.why),
        ownerOf(request),
      )
      if (!done) throw new HoldfastError('conflict', `nothing was changed: ${because}`)
      return { id, done, was }
    },
  )

  app.post<OneBatch<RetryBatchBody>>(
    '/batches/:id/retry',
    {
      schema: {
        summary: 'Replay the dead members of a batch, in a round of their own',
        params: batchParams,
        body: retryBatchBody,
        response: { 200: retriedBatchAnswer },
      },
    },
    async (request) => {
      const { confirm, why } = request.body
      const options = { ...ownerOf(request), ...(confirm === undefined ? {} : { confirm }) }
      return batches.retry(request.params.id, actor(request, why), options)
    },
  )

  async function checkMembers(request: FastifyRequest, jobs: readonly JobBody[]): Promise<void> {
    for (const [index, { type }] of jobs.entries()) refuseOtherTypes(request, [type], `jobs[${index}].type`)
    spend(request, Math.max(0, jobs.length - 1))
    for (const [index, job] of jobs.entries()) {
      await checkJob(holdfast, job).catch((error) => {
        throw overHttp(error, ['jobs', index])
      })
    }
  }

  async function checkCallback(request: FastifyRequest, field: string, callback: CallbackBody): Promise<void> {
    refuseOtherTypes(request, [callback.type], `${field}.type`)
    await checkJob(holdfast, callback).catch((error) => {
      throw overHttp(error, [field])
    })
  }
}

function ownerOf(request: FastifyRequest): { owner?: string } {
  const owner = onlyOwn(callerOf(request))
  return owner === undefined ? {} : { owner }
}
