import { type DeathNotice, defineType, FatalError, type Holdfast } from 'holdfast'
import { startWorker, type WorkerOptions } from 'holdfast/worker'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { eachTestHas } from '../support/fresh-installation.js'

let holdfast: Holdfast
let sql: pg.Client
eachTestHas({}, (made) => {
  ;({ holdfast, sql } = made)
})

const lines: [level: string, fields: object, message: string][] = []
const log = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message])
const logger = { info: log('info'), warn: log('warn'), error: log('error') }

async function working(types: Parameters<typeof startWorker>[1], options: WorkerOptions = {}) {
  const worker = await startWorker(holdfast, types, { logger, ...options })
  onTestFinished(() => worker.stop())
  return worker
}

const onlyAttempt = { maxAttempts: 1, limits: { breaker: false } as const }
const dies = { ...onlyAttempt, run: () => Promise.reject(new FatalError('no such address')) }

describe('hooks in the process', () => {
  test('of a type and of the worker are told how each attempt ended, once that is written', async () => {
    const told: unknown[] = []
    const hooks = (whose: string) => ({
      onComplete: async ({ job, type }: { job: string; type: string }) =>
        void told.push([whose, 'completed', type, (await holdfast.job(job))?.status]),
      onFailure: ({ retryInMs, error }: { retryInMs: number; error: string }) =>
        void told.push([whose, 'failed', retryInMs, error]),
      onDead: ({ reason, error }: { reason: string; error: string }) => void told.push([whose, 'dead', reason, error]),
    })
    const fails = defineType({
      type: 'fails',
      ...hooks('type'),
      backoff: { base: 10, cap: 10, jitter: 0 },
      run(_, { job }) {
        if (job.attempt === 1) throw new Error('not yet')
        throw new FatalError('never')
      },
    })
    const works = defineType({ type: 'works', ...hooks('type'), run: () => {} })
    await working([fails, works], hooks('worker'))
    await holdfast.enqueue(fails, {})
    await eventually(() => told.length === 4)
    await holdfast.enqueue(works, {})
    await eventually(() => told.length === 6)
    expect(told.slice(0, 4)).toEqual([
      ['type', 'failed', 10, 'not yet'],
      ['worker', 'failed', 10, 'not yet'],
      ['type', 'dead', 'fatal', 'never'],
      ['worker', 'dead', 'fatal', 'never'],
    ])
    // These ask the database first, and nobody waits for either.
    expect(told.slice(4).sort()).toEqual([
      ['type', 'completed', 'works', 'completed'],
      ['worker', 'completed', 'works', 'completed'],
    ])
  })

  test('that throw are told in the log and change nothing', async () => {
    const works = defineType({
      type: 'works',
      onComplete: () => Promise.reject(new Error('the metrics server is away')),
      run: () => 'done',
    })
    await working([works])
    expect(await holdfast.wait(await holdfast.enqueue(works, {}))).toBe('done')
    const line = { hook: 'onComplete', type: 'works', error: 'the metrics server is away' }
    await eventually(() => lines.some(([, fields]) => 'hook' in fields))
    expect(lines).toContainEqual(['error', line, 'a hook threw'])
  })
})

describe('a durable reaction to a death', () => {
  const seen: DeathNotice[] = []
  const mourn = defineType({ type: 'mourn', unique: { by: ['type'] }, run: (notice: DeathNotice) => void seen.push(notice) })
  const mail = defineType({ type: 'mail', ...dies, onDead: { enqueue: mourn } })

  test('is a job with what happened, for each job that died, whatever is unique about its type', async () => {
    await working([mail, mourn])
    const ids = (await holdfast.enqueueMany([mail.job({}), mail.job({})])).map(({ id }) => id)
    await eventually(() => seen.length === 2)
    expect(seen.map(({ job }) => job).sort()).toEqual(ids.sort())
    expect(seen[0]).toEqual({
      ...{ job: expect.any(String), type: 'mail', reason: 'fatal', attempt: 1 },
      diedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      error: { name: 'FatalError', message: 'no such address' },
    })
  })

  test('is there the moment the death is, and nobody sees one without the other', async () => {
    await working([mail], { concurrency: 20 })
    const count = 300
    await holdfast.enqueueMany(Array.from({ length: count }, () => mail.job({})))
    const counts = `select (select count(*)::int from holdfast.dead_letters) as dead,
      (select count(*)::int from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where t.name = 'mourn') as reactions`
    const looks = await eventually(async () => {
      const [row] = (await sql.query(counts)).rows
      expect(row.reactions).toBe(row.dead)
      return row.dead === count && row
    })
    expect(looks).toEqual({ dead: count, reactions: count })
  })

  test('also follows a death that no worker of the type has written: of a deadline', async () => {
    const late = defineType({ type: 'late', onDead: { enqueue: mourn }, run: () => {} })
    await holdfast.registerTypes([late])
    const { id } = await holdfast.enqueue(late, {}, { expireIn: 1 })
    await working([mourn])
    await eventually(() => seen.some(({ job, reason }) => job === id && reason === 'expired'))
  })

  test('that cannot be enqueued is told in the log of the job, and the job is dead all the same', async () => {
    const lost = defineType({ type: 'lost', ...dies, onDead: { enqueue: 'nobody_knows_it' } })
    await working([lost])
    const { id } = await holdfast.enqueue(lost, {})
    await eventually(async () => (await holdfast.job(id))?.status === 'dead')
    expect(await holdfast.log(id)).toMatchObject([{ level: 'error', line: expect.stringContaining('nobody_knows_it') }])
  })

  test('is refused where it could not work', () => {
    const of = (onDead: unknown) => () => defineType({ type: 'mail', onDead: onDead as never })
    expect(of({ enqueue: 'mail' })).toThrow('onDead.enqueue is mail itself')
    expect(of({ enqueu: mourn })).toThrow(/onDead.enqueu is not known \(did you mean "enqueue"\?\)/)
    expect(of('mourn')).toThrow('onDead is "mourn"; it must be a function, or { enqueue: type }')
    expect(of({ enqueue: defineType({ type: 'secret', encrypt: true }) })).toThrow('whose payloads are encrypted')
  })
})
