import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jobParams, movedAnswer, whyBody } from '../../api/common.js'
import {
  type DlqQuery,
  dlqQuery,
  letterAnswer,
  lettersAnswer,
  manyAnswer,
  manyBody,
  type ReplayBody,
  type ReplayManyBody,
  replayBody,
  replayManyBody,
} from '../../api/dlq.js'
import type { Schema } from '../../api/schema.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { refused } from '../../job/refused.js'
import { told } from '../../store/sqlstate.js'
import { actor, refuseOwnTypes } from '../auth.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { filterOf, letterAnswer as inList, manyMoved, storyOfLetter } from './letter-answers.js'
import { orConflict } from './one-job.js'

interface OneLetter<Body = unknown> {
  Params: { id: string }
  Body: Body
}

/** Lists, replays and discards dead letters. */
export function adminDlqRoutes(app: FastifyInstance, holdfast: Holdfast, reading: Reading): void {
  const { deadLetters } = holdfast

  app.get<{ Querystring: DlqQuery }>(
    '/admin/dlq',
    { schema: { summary: 'Dead letters, newest first', querystring: dlqQuery, response: { 200: lettersAnswer } } },
    async (request, reply) => {
      const { limit = 20, cursor, ...filter } = request.query
      const options = { limit, ...(cursor === undefined ? {} : { after: cursor }) }
      const find = (reader: Holdfast) => reader.deadLetters.list(filterOf(filter), options)
      const page = await reading.forCaller(request, find).catch((error) => {
        throw error.field === 'after' ? badCursor() : overHttp(error)
      })
      return reply.header('cache-control', 'no-store').send({ letters: page.letters.map(inList), next: page.next ?? null })
    },
  )

  app.get<OneLetter>(
    '/admin/dlq/:id',
    { schema: { summary: 'One dead letter, its payload and every attempt', params: jobParams, response: { 200: letterAnswer } } },
    async (request, reply) => {
      const { id } = request.params
      const letter = await reading.reader.deadLetters.get(id)
      if (!letter) throw new HoldfastError('not_found', `no job ${id} is among the dead letters`, { field: 'id' })
      return reply.header('cache-control', 'no-store').send(storyOfLetter(letter))
    },
  )

  app.post<OneLetter<ReplayBody>>(
    '/admin/dlq/:id/replay',
    {
      schema: {
        summary: 'Replay a dead letter, with another payload where one is given',
        params: jobParams,
        body: replayBody,
        response: { 200: movedAnswer },
      },
    },
    async (request) => {
      const { why, ...options } = request.body
      if (Object.hasOwn(options, 'payload')) {
        const job = await told(insideOf(holdfast).store.inspect.job(request.params.id))
        refuseOwnTypes(job ? [job.type] : [])
      }
      return orConflict(await deadLetters.replay(request.params.id, actor(request, why), options))
    },
  )

  app.post<OneLetter<{ why?: string }>>(
    '/admin/dlq/:id/discard',
    { schema: { summary: 'End a dead letter for good', params: jobParams, body: whyBody, response: { 200: movedAnswer } } },
    async (request) => orConflict(await deadLetters.discard(request.params.id, actor(request, request.body.why))),
  )

  const many = (path: string, summary: string, move: 'replayMany' | 'discardMany', body: Schema) =>
    app.post<{ Body: ReplayManyBody }>(
      path,
      { schema: { summary, body, response: { 200: manyAnswer } } },
      async (request: FastifyRequest<{ Body: ReplayManyBody }>) => {
        const { filter, dry_run: dryRun = true, at_most: atMost, confirm, why } = request.body
        const options = { dryRun, ...(atMost === undefined ? {} : { atMost }), ...(confirm === undefined ? {} : { confirm }) }
        const moved = await deadLetters[move](filterOf(filter), actor(request, why), options).catch((error) => {
          throw overHttp(error)
        })
        return manyMoved(moved, dryRun)
      },
    )
  many('/admin/dlq/replay', 'Replay what fits a filter; counts only, unless dry_run is false', 'replayMany', replayManyBody)
  many('/admin/dlq/discard', 'Discard what fits a filter; counts only, unless dry_run is false', 'discardMany', manyBody)
}

function badCursor(): HoldfastError {
  return refused('cursor', 'must be the next of an earlier page')
}
