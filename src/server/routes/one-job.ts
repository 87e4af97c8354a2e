import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import { jobParams, movedAnswer } from '../../api/common.js'
import { type ResumeBody, resumeBody } from '../../api/dlq.js'
import {
  type DeleteQuery,
  deleteQuery,
  explainAnswer,
  jobAnswer,
  type LogQuery,
  logAnswer,
  logQuery,
  type SignalBody,
  signalAnswer,
  signalBody,
} from '../../api/jobs.js'
import { type ApproveBody, approveBody, decidedAnswer, type RejectBody, rejectBody } from '../../api/verdicts.js'
import { HoldfastError } from '../../errors.js'
import type { JobStory } from '../../history/story.js'
import type { Holdfast } from '../../holdfast.js'
import type { Decided } from '../../operate/approval.js'
import type { Moved } from '../../operate/moves.js'
import { actor, callerOf } from '../auth.js'
import type { Reading } from '../reading.js'
import { explanationAnswer, logAnswerOf, storyAnswer } from './job-answers.js'

export interface OneJob {
  Params: { id: string }
}

/** Routes that read, explain, signal, cancel, resume, approve and reject one job. */
export function oneJobRoutes(app: FastifyInstance, holdfast: Holdfast, { reader }: Reading): void {
  app.get<OneJob>(
    '/jobs/:id',
    { schema: { summary: 'One job with all its attempts', params: jobParams, response: { 200: jobAnswer } } },
    async (request, reply) => reply.header('cache-control', 'no-store').send(storyAnswer(await visibleJob(reader, request))),
  )

  app.get<OneJob>(
    '/jobs/:id/explain',
    { schema: { summary: 'Why a job is not running now', params: jobParams, response: { 200: explainAnswer } } },
    async (request, reply) => {
      const { id } = await visibleJob(reader, request)
      const explanation = await reader.explain(id)
      if (!explanation) throw notKept(id)
      return reply.header('cache-control', 'no-store').send(explanationAnswer(id, explanation))
    },
  )

  app.get<OneJob & { Querystring: LogQuery }>(
    '/jobs/:id/log',
    {
      schema: {
        summary: 'What the handler of a job logged, first to last',
        params: jobParams,
        querystring: logQuery,
        response: { 200: logAnswer },
      },
    },
    async (request, reply) => {
      const { id } = await visibleJob(reader, request)
      return reply.header('cache-control', 'no-store').send(logAnswerOf(await reader.log(id, request.query)))
    },
  )

  // Two things under one address, told apart by more than the job's status: a cancel that is sent again because its answer
  // was lost must not delete what it has cancelled.
  app.delete<OneJob & { Querystring: DeleteQuery }>(
    '/jobs/:id',
    {
      schema: {
        summary: 'Cancel a job that waits or runs; with forget=true, delete one that has ended',
        params: jobParams,
        querystring: deleteQuery,
        response: { 200: movedAnswer },
      },
    },
    async (request) => {
      const { id } = await visibleJob(holdfast, request)
      const { why, forget = false } = request.query
      const who = actor(request, why)
      return orConflict(forget ? await holdfast.forget(id, who) : await holdfast.cancel(id, who))
    },
  )

  app.post<OneJob & { Body: SignalBody }>(
    '/jobs/:id/signals',
    { schema: { summary: 'Send a signal to a job', params: jobParams, body: signalBody, response: { 202: signalAnswer } } },
    async (request, reply) => {
      const { id } = await visibleJob(holdfast, request)
      const { name, payload } = request.body
      await holdfast.signal(id, name, payload, { by: actor(request, undefined) })
      return reply.status(202).send({ id, signal: name })
    },
  )

  app.post<OneJob & { Body: ResumeBody }>(
    '/jobs/:id/resume',
    { schema: { summary: 'Take up a cancelled job', params: jobParams, body: resumeBody, response: { 200: movedAnswer } } },
    async (request) => {
      const { id } = await visibleJob(holdfast, request)
      const { confirm, why } = request.body
      return orConflict(await holdfast.resume(id, actor(request, why), confirm === undefined ? {} : { confirm }))
    },
  )

  app.post<OneJob & { Body: ApproveBody }>(
    '/jobs/:id/approve',
    { schema: { summary: 'Approve a job', params: jobParams, body: approveBody, response: { 200: decidedAnswer } } },
    async (request) => {
      const { id } = await somebodyElsesJob(holdfast, request)
      const { why, ...options } = request.body
      return orConflict(await holdfast.approve(id, actor(request, why), options))
    },
  )

  app.post<OneJob & { Body: RejectBody }>(
    '/jobs/:id/reject',
    { schema: { summary: 'Reject a job, and say why', params: jobParams, body: rejectBody, response: { 200: decidedAnswer } } },
    async (request) => {
      const { id } = await somebodyElsesJob(holdfast, request)
      const { why, ...options } = request.body
      return orConflict(await holdfast.reject(id, { ...actor(request, why), why }, options))
    },
  )
}

/** To a caller that sees only its own jobs, a job of another service does not exist. */
export async function visibleJob(holdfast: Holdfast, request: FastifyRequest<OneJob>): Promise<JobStory> {
  const { id } = request.params
  const story = await holdfast.job(id)
  const own = onlyOwn(callerOf(request))
  if (!story || (own !== undefined && story.owner !== own)) throw notKept(id)
  return story
}

/** The service that enqueued a job, or wrote its payload last, may not approve it. */
async function somebodyElsesJob(holdfast: Holdfast, request: FastifyRequest<OneJob>): Promise<JobStory> {
  const story = await visibleJob(holdfast, request)
  const { service } = callerOf(request)
  const writer = story.changes.findLast(({ before }) => 'payload' in before)?.by
  if (story.owner === service || writer === service) {
    const did = story.owner === service ? 'asked for this job' : 'wrote the payload of this job'
    throw new HoldfastError('forbidden', `${service} ${did}, so somebody else has to decide about it`)
  }
  return story
}

export function orConflict<Answer extends Moved | Decided>(moved: Answer): Answer {
  if (moved.done) return moved
  throw new HoldfastError('conflict', `nothing was changed: ${moved.because ?? `the job is ${moved.status}`}`)
}

function notKept(id: string): HoldfastError {
  return new HoldfastError('not_found', `no job ${id} is kept`, { field: 'id' })
}
