import { defineType, FatalError, type Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { makeDead } from '../support/dead-letters.js'
import { eachTestHas } from '../support/fresh-installation.js'

const quiet = { info() {}, warn() {}, error() {} }
const by = { by: 'ada', why: 'the mail server is back' }
const patient = { timeout: 60_000, interval: 100 }

interface Letter {
  to: string
  fails?: 'fatal' | 'always'
}

/** Refuses what has no `to`. */
const schema = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof (value as Letter)?.to === 'string'
        ? { value: value as Letter }
        : { issues: [{ message: 'must be a text', path: ['to'] }] },
  },
}
let repaired: boolean
let ran: { payload: unknown; attempt: number; checkpoint: unknown }[]
const mail = defineType({
  type: 'mail',
  payload: schema,
  maxAttempts: 2,
  limits: { breaker: false },
  backoff: { base: 0, jitter: 0 },
  async run(payload: Letter, ctx) {
    ran.push({ payload, attempt: ctx.job.attempt, checkpoint: await ctx.lastCheckpoint() })
    if (repaired) return
    ctx.progress(0.5, 'half')
    await ctx.checkpoint({ page: 4 })
    if (payload.fails === 'fatal') throw new FatalError(`no such address: ${payload.to}`)
    if (payload.fails === 'always') throw new Error('Connection refused by mail.example')
  },
})
const other = defineType({ type: 'other', limits: { breaker: false }, run: () => Promise.reject(new FatalError('never')) })

let holdfast: Holdfast
let sql: pg.Client

eachTestHas({}, async (made) => {
  ;({ holdfast, sql } = made)
  await holdfast.registerTypes([mail, other])
  repaired = false
  ran = []
})

const manyDead = (count: number, type = 'mail') => makeDead(holdfast, sql, count, type)

it('a replay says that the breaker of the type holds the jobs back', async () => {
  const [first] = await manyDead(3)
  const free = await holdfast.deadLetters.replayMany({ type: 'mail' }, by, { atMost: 1 })
  expect(free).toMatchObject({ done: 1 })
  expect(free).not.toHaveProperty('waits')
  await holdfast.flow.breaker('mail', 'open', by)
  const waits = 'the breaker of mail is open: these jobs wait until a probe succeeds, or until somebody closes it'
  const { letters } = await holdfast.deadLetters.list({ type: 'mail' })
  expect(first).toBeDefined()
  expect(await holdfast.deadLetters.replay(letters[0]?.id as string, by)).toMatchObject({ done: true, waits })
  expect(await holdfast.deadLetters.replayMany({ type: 'mail' }, by)).toMatchObject({ done: 1, waits })
  expect(await holdfast.deadLetters.replayMany({ type: 'other' }, by)).not.toHaveProperty('waits')
})

describe('many dead letters', () => {
  it('are counted first, replayed a thousand at a time, and the others left alone', async () => {
    await manyDead(2_300)
    await manyDead(40, 'other')
    const filter = { type: 'mail', reason: 'exhausted' } as const
    expect(await holdfast.deadLetters.replayMany(filter, by, { dryRun: true })).toMatchObject({ matched: 2_300, done: 0 })
    expect(await holdfast.deadLetters.replayMany(filter, by, { atMost: 3 })).toMatchObject({ matched: 3, done: 3 })
    expect(await holdfast.deadLetters.replayMany(filter, by)).toMatchObject({ matched: 2_297, done: 2_297, refused: {} })
    expect(await insideOf(holdfast).store.inspect.countByStatus()).toEqual([
      { type: 'mail', status: 'pending', count: 2_300 },
      { type: 'other', status: 'dead', count: 40 },
    ])
    expect(await holdfast.deadLetters.discardMany({ all: true }, by)).toMatchObject({ done: 40 })
    expect(await insideOf(holdfast).store.inspect.countByStatus()).toContainEqual({
      type: 'other',
      status: 'discarded',
      count: 40,
    })
  })

  it('go on after a failure half way: each transaction is whole, and none is moved twice', async () => {
    await manyDead(2_500)
    // The second transaction meets a row the database refuses to move.
    const { rows } = await sql.query(
      'select job_id from holdfast.dead_letters order by died_at desc, job_id desc offset 1500 limit 1',
    )
    await sql.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`,
    )
    await sql.query(
      `create trigger refuse before insert on holdfast.waiting for each row when (new.job_id = '${rows[0].job_id}') execute function refuse()`,
    )
    await expect(holdfast.deadLetters.replayMany({ all: true }, by)).rejects.toThrow('not this one')
    expect(await insideOf(holdfast).store.inspect.countByStatus()).toEqual([
      { type: 'mail', status: 'dead', count: 1_500 },
      { type: 'mail', status: 'pending', count: 1_000 },
    ])
    await sql.query('drop trigger refuse on holdfast.waiting')
    expect(await holdfast.deadLetters.replayMany({ all: true }, by)).toMatchObject({ matched: 1_500, done: 1_500 })
    expect((await sql.query('select from holdfast.moves group by job_id having count(*) > 1')).rowCount).toBe(0)
  })

  it('that die again at once are replayed once, not for ever', async () => {
    const worker = await startWorker(holdfast, [mail, other], { logger: quiet })
    await holdfast.enqueueMany(Array.from({ length: 50 }, () => other.job(null)))
    await vi.waitFor(
      async () => expect((await holdfast.deadLetters.replayMany({ all: true }, by, { dryRun: true })).matched).toBe(50),
      patient,
    )
    expect(await holdfast.deadLetters.replayMany({ all: true }, by)).toMatchObject({ done: 50 })
    await vi.waitFor(async () => expect((await sql.query('select from holdfast.history')).rowCount).toBe(100), patient)
    await worker.stop()
  })
})
