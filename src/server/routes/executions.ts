import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allowsType, onlyOwn } from '../../access/caller.js'
import { whyBody } from '../../api/common.js'
import { type ResumeBody, resumeBody } from '../../api/dlq.js'
import {
  type ExecutionListQuery,
  executionAnswer,
  executionListAnswer,
  executionListQuery,
  executionParams,
  movedExecutionAnswer,
  type RerunBody,
  rerunBody,
  type StartBody,
  startedAnswer,
  startRequest,
  type TaskListQuery,
  taskListAnswer,
  taskListQuery,
  workflowsAnswer,
} from '../../api/executions.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { isTraceparent } from '../../tracing/traceparent.js'
import type { ExecutionFilter, RegisteredWorkflow } from '../../workflow/executions.js'
import type { MovedExecution } from '../../workflow/moved.js'
import type { Started } from '../../workflow/start.js'
import { actor, callerOf, refuseOwnTypes } from '../auth.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { overviewAnswer, summaryAnswer, taskAnswer, workflowAnswer } from './execution-answers.js'
import { libraryFilter } from './filter.js'
import { checkTimeOf, ownerAsked } from './jobs.js'

interface OneExecution<Body = unknown> {
  Params: { id: string }
  Body: Body
}

/** Starts executions, shows and moves them. To a caller that sees only its own, an execution of another service does not exist. */
export function executionRoutes(app: FastifyInstance, holdfast: Holdfast, reading: Reading): void {
  const { executions } = holdfast

  app.post<{ Body: StartBody }>(
    '/executions',
    {
      schema: {
        summary: 'Start an execution of a registered workflow',
        body: startRequest,
        response: { 200: startedAnswer, 201: startedAnswer },
      },
    },
    async (request, reply) => {
      const { workflow: name, version: asked, input, id, concurrency_key: concurrencyKey, ...same } = request.body
      checkTimeOf(id)
      const { version } = await startable(request, name, asked)
      const { traceparent } = request.headers
      const options = {
        ...{ ...same, version, owner: callerOf(request).service },
        ...(id !== undefined && { id }),
        ...(concurrencyKey !== undefined && { concurrencyKey }),
        ...(typeof traceparent === 'string' && isTraceparent(traceparent) && { traceparent }),
      }
      const started = await executions.start(name, input, options).catch((error) => {
        throw overHttp(error)
      })
      return answered(reply, started)
    },
  )

  app.get<{ Querystring: ExecutionListQuery }>(
    '/executions',
    {
      schema: {
        summary: 'List executions, newest first: those of the caller’s own service, or of all with workers:view',
        querystring: executionListQuery,
        response: { 200: executionListAnswer },
      },
    },
    async (request, reply) => {
      const { limit = 20, cursor, owner: askedOwner, ...filter } = request.query
      const owner = ownerAsked(askedOwner, onlyOwn(callerOf(request)))
      const page = await reading.forCaller(request, (reader) =>
        reader.executions.list(
          { ...libraryFilter<ExecutionFilter>(filter), ...(owner !== null && { owner }) },
          { limit, ...(cursor !== undefined && { cursor }) },
        ),
      )
      return reply.header('cache-control', 'no-store').send({ executions: page.executions.map(summaryAnswer), next: page.next })
    },
  )

  app.get(
    '/workflows',
    {
      schema: {
        summary: 'Registered workflows, each in its latest version: those whose jobs a key may be for',
        response: { 200: workflowsAnswer },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const found = await reading.forCaller(request, (reader) => reader.executions.workflows())
      const workflows = found.filter(({ tasks }) => tasks.every(({ type }) => type === null || allowsType(caller, type)))
      return reply.header('cache-control', 'no-store').send({ workflows: workflows.map(workflowAnswer) })
    },
  )

  app.get<OneExecution>(
    '/executions/:id',
    {
      schema: {
        summary: 'One execution with input, output and its tasks by status',
        params: executionParams,
        response: { 200: executionAnswer },
      },
    },
    async (request, reply) => {
      const found = await reading.reader.executions.overview(request.params.id, ownerOf(request))
      if (!found) throw new HoldfastError('not_found', `no execution ${request.params.id} is kept`, { field: 'id' })
      return reply.header('cache-control', 'no-store').send(overviewAnswer(found))
    },
  )

  app.get<OneExecution & { Querystring: TaskListQuery }>(
    '/executions/:id/tasks',
    {
      schema: {
        summary: 'The tasks of an execution, and their items, by name',
        params: executionParams,
        querystring: taskListQuery,
        response: { 200: taskListAnswer },
      },
    },
    async (request, reply) => {
      const page = await reading.forCaller(request, (reader) =>
        reader.executions.tasks(request.params.id, { ...ownerOf(request), ...request.query }),
      )
      return reply.header('cache-control', 'no-store').send({ tasks: page.tasks.map(taskAnswer), next: page.next })
    },
  )

  app.post<OneExecution<{ why?: string }>>(
    '/executions/:id/cancel',
    {
      schema: {
        summary: 'Cancel an execution: nothing of it starts any more, and its jobs are cancelled',
        params: executionParams,
        body: whyBody,
        response: { 200: movedExecutionAnswer },
      },
    },
    async (request) => orConflict(await executions.cancel(request.params.id, actor(request, request.body.why), ownerOf(request))),
  )

  app.post<OneExecution<ResumeBody>>(
    '/executions/:id/resume',
    {
      schema: {
        summary: 'Go on with an execution that failed or was cancelled: dead jobs are replayed, cancelled ones go on',
        params: executionParams,
        body: resumeBody,
        response: { 200: movedExecutionAnswer },
      },
    },
    async (request) => {
      const { confirm, why } = request.body
      const options = { ...ownerOf(request), ...(confirm !== undefined && { confirm }) }
      return orConflict(await executions.resume(request.params.id, actor(request, why), options))
    },
  )

  app.post<OneExecution<RerunBody>>(
    '/executions/:id/rerun',
    {
      schema: {
        summary: 'Start a new execution that repeats one from a task on, with the same input and graph',
        params: executionParams,
        body: rerunBody,
        response: { 200: startedAnswer, 201: startedAnswer },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { from, why, id: own } = request.body
      checkTimeOf(own)
      const found = await executions.overview(id, ownerOf(request))
      if (found) await startable(request, found.workflow, found.version)
      const options = { ...ownerOf(request), ...(own !== undefined && { id: own }) }
      return answered(reply, await executions.rerun(id, from, actor(request, why), options))
    },
  )

  /** Whoever starts a workflow enqueues jobs of all its types. To a key that is not for all of them, the workflow does not exist. */
  async function startable(request: FastifyRequest, name: string, version: number | undefined): Promise<RegisteredWorkflow> {
    const found = await executions.workflow(name, version)
    const caller = callerOf(request)
    if (found?.types.every((type) => allowsType(caller, type))) {
      refuseOwnTypes(found.types, 'workflow')
      return found
    }
    const which = version === undefined ? '' : ` with version ${version}`
    const problem = `no workflow ${JSON.stringify(name)}${which} is registered that the key of ${caller.service} may start`
    const right =
      'a worker that is given it registers it, or a program with executions.register, and the key has to be for all types of its jobs'
    throw new HoldfastError('unknown_workflow', `${problem}; ${right}`, { field: 'workflow' })
  }
}

function answered(reply: FastifyReply, started: Started): FastifyReply {
  return reply
    .status(started.status === 'created' ? 201 : 200)
    .headers({ location: `/executions/${started.id}`, 'cache-control': 'no-store' })
    .send(started)
}

function ownerOf(request: FastifyRequest): { owner?: string } {
  const owner = onlyOwn(callerOf(request))
  return owner === undefined ? {} : { owner }
}

function orConflict({ because, ...moved }: MovedExecution): Omit<MovedExecution, 'because'> {
  if (moved.done) return moved
  throw new HoldfastError('conflict', `nothing was changed: ${because}`)
}
