import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type PauseBody, pauseBody, whyBody } from '../../api/common.js'
import { whyQuery } from '../../api/jobs.js'
import {
  type BackfillBody,
  backfillBody,
  backfilledAnswer,
  previewAnswer,
  previewQuery,
  pruneBody,
  prunedAnswer,
  ranAnswer,
  type ScheduleBody,
  type ScheduleChange,
  type SchedulesQuery,
  scheduleAnswer,
  scheduleBody,
  scheduleChange,
  scheduleParams,
  scheduleStoryAnswer,
  schedulesAnswer,
  schedulesQuery,
} from '../../api/schedules.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import type { ScheduleDefinition } from '../../schedule/spec.js'
import { actor, refuseOtherTypes } from '../auth.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { definitionOf, scheduleAnswer as stateAnswer, tickAnswer } from './schedule-answers.js'

interface One<Body = { why?: string }> {
  Params: { name: string }
  Body: Body
}

/** What makes jobs by the clock. Whoever lets a schedule make jobs has to be allowed its type. */
export function adminScheduleRoutes(app: FastifyInstance, holdfast: Holdfast, { reader }: Reading): void {
  const { schedules } = holdfast
  const found = async (name: string, of = reader.schedules) => {
    const state = await of.get(name, { ticks: 20 })
    if (state) return state
    throw new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
  }
  const afterwards = async (name: string) => stateAnswer(await found(name, schedules))
  const forItsType = async (request: FastifyRequest<One<never>>) => {
    refuseOtherTypes(request, [(await found(request.params.name, schedules)).type], 'name')
  }
  const response = { 200: scheduleAnswer }

  app.get<{ Querystring: SchedulesQuery }>(
    '/admin/schedules',
    { schema: { summary: 'List schedules by name', querystring: schedulesQuery, response: { 200: schedulesAnswer } } },
    async (request, reply) => {
      const { after, limit = 100 } = request.query
      const page = await reader.schedules.list({ limit, ...(after === undefined ? {} : { after }) })
      const next = page.length === limit ? (page.at(-1)?.name ?? null) : null
      return reply.header('cache-control', 'no-store').send({ schedules: page.map(stateAnswer), next })
    },
  )

  app.get<One>(
    '/admin/schedules/:name',
    {
      schema: {
        summary: 'One schedule: why it waits, and its latest ticks',
        params: scheduleParams,
        response: { 200: scheduleStoryAnswer },
      },
    },
    async (request, reply) => {
      const { ticks, ...state } = await found(request.params.name)
      const { reasons = [] } = (await reader.schedules.explain(state.name)) ?? {}
      return reply.header('cache-control', 'no-store').send({ ...stateAnswer(state), reasons, ticks: ticks.map(tickAnswer) })
    },
  )

  app.get<One & { Querystring: { count?: number } }>(
    '/admin/schedules/:name/preview',
    {
      schema: {
        summary: 'When a schedule ticks next',
        params: scheduleParams,
        querystring: previewQuery,
        response: { 200: previewAnswer },
      },
    },
    async (request, reply) => {
      const ahead = await reader.schedules.preview(request.params.name, { count: request.query.count ?? 10 })
      const ticks = ahead.map(({ tick, due }) => ({ tick: tick.toISOString(), due: due.toISOString() }))
      return reply.header('cache-control', 'no-store').send({ ticks })
    },
  )

  app.post<{ Body: ScheduleBody }>(
    '/admin/schedules',
    { schema: { summary: 'Create a schedule', body: scheduleBody, response: { 201: scheduleAnswer } } },
    async (request, reply) => {
      const { name, why, ...fields } = request.body
      refuseOtherTypes(request, [fields.type])
      await spelled(schedules.create({ name, ...definitionOf(fields) } as ScheduleDefinition, actor(request, why)))
      return reply.status(201).send(await afterwards(name))
    },
  )

  app.patch<One<ScheduleChange>>(
    '/admin/schedules/:name',
    { schema: { summary: 'Change the named fields of a schedule', params: scheduleParams, body: scheduleChange, response } },
    async (request) => {
      const { why, ...fields } = request.body
      await forItsType(request as never)
      if (fields.type !== undefined) refuseOtherTypes(request, [fields.type])
      await spelled(schedules.change(request.params.name, definitionOf(fields), actor(request, why)))
      return afterwards(request.params.name)
    },
  )

  app.post<One<PauseBody>>(
    '/admin/schedules/:name/pause',
    { schema: { summary: 'Pause a schedule: no tick makes a job', params: scheduleParams, body: pauseBody, response } },
    async (request) => {
      const { why, ...ends } = request.body
      await schedules.pause(request.params.name, actor(request, why), ends)
      return afterwards(request.params.name)
    },
  )

  for (const [act, summary] of [
    ['resume', 'Let a schedule tick again, from now on'],
    ['reset', 'Take back what operators changed of a schedule that stands in code'],
  ] as const) {
    app.post<One>(
      `/admin/schedules/:name/${act}`,
      { schema: { summary, params: scheduleParams, body: whyBody, response } },
      async (request) => {
        await schedules[act](request.params.name, actor(request, request.body.why))
        return afterwards(request.params.name)
      },
    )
  }

  app.post<One>(
    '/admin/schedules/:name/run',
    { schema: { summary: 'Make a job of a schedule now', params: scheduleParams, body: whyBody, response: { 200: ranAnswer } } },
    async (request) => {
      await forItsType(request as never)
      const { inTheWay, ...ran } = await schedules.runNow(request.params.name, actor(request, request.body.why))
      return { ...ran, in_the_way: inTheWay }
    },
  )

  app.post<One<BackfillBody>>(
    '/admin/schedules/:name/backfill',
    {
      schema: {
        summary: 'Make a job of each tick of a range that has none',
        params: scheduleParams,
        body: backfillBody,
        response: { 200: backfilledAnswer },
      },
    },
    async (request) => {
      await forItsType(request as never)
      const { from, to, dry_run: dryRun = false, why } = request.body
      const range = { from: new Date(from), to: new Date(to) }
      const { ticks, made } = await schedules.backfill(request.params.name, range, actor(request, why), { dryRun })
      return { ticks, made: made.map(({ tick, job }) => ({ tick: tick.toISOString(), job })) }
    },
  )

  app.delete<{ Params: { name: string }; Querystring: { why?: string } }>(
    '/admin/schedules/:name',
    {
      schema: {
        summary: 'Remove a schedule that does not stand in code',
        params: scheduleParams,
        querystring: whyQuery,
        response: { 204: {} },
      },
    },
    async (request, reply) => {
      await schedules.remove(request.params.name, actor(request, request.query.why))
      return reply.status(204).send()
    },
  )

  app.post<{ Body: { dry_run?: boolean; why?: string } }>(
    '/admin/schedules/prune',
    { schema: { summary: 'Remove the schedules that are gone from code', body: pruneBody, response: { 200: prunedAnswer } } },
    async (request) => {
      const { dry_run: dryRun = false, why } = request.body
      return { names: await schedules.prune(actor(request, why), { dryRun }) }
    },
  )
}

async function spelled<Answer>(call: Promise<Answer>): Promise<Answer> {
  return call.catch((error) => {
    throw overHttp(error)
  })
}
