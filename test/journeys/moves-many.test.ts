import { defineType, Holdfast, type JobFilter } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const by = { by: 'ada', why: 'the customer asked' }
const patient = { timeout: 60_000, interval: 100 }
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client
let ran: number

const job = defineType({ type: 'moved', run: () => void ran++ })

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  await holdfast.registerTypes([job])
  ran = 0
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

describe('a move by filter', () => {
  it('takes what was enqueued, and what has died, in the same millisecond', async () => {
    await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile as
                     'select timestamptz ''2026-11-19 12:00:00.000700+00'''`)
    await holdfast.enqueue(job, {})
    expect(await holdfast.buryMany({ type: 'moved' }, by)).toMatchObject({ matched: 1, done: 1 })
    expect(await holdfast.deadLetters.discardMany({ type: 'moved' }, by)).toMatchObject({ matched: 1, done: 1 })
  })

  it('takes thousands, tells how many, and leaves the others alone', async () => {
    const tenant = (n: number) => Array.from({ length: n }, () => job.job({ name: 'x', tenant: n }, { concurrencyKey: `t${n}` }))
    await holdfast.enqueueMany([...tenant(2_500), ...tenant(700)])
    const many: JobFilter = { payload: { tenant: 2_500 } }
    expect(await holdfast.cancelMany(many, by, { dryRun: true })).toEqual({ matched: 2_500, done: 0, refused: {} })
    expect(await holdfast.cancelMany(many, by)).toEqual({ matched: 2_500, done: 2_500, refused: {} })
    expect(await holdfast.cancelMany(many, by)).toEqual({ matched: 0, done: 0, refused: {} })
    expect(await insideOf(holdfast).store.inspect.countByStatus()).toEqual([
      { type: 'moved', status: 'cancelled', count: 2_500 },
      { type: 'moved', status: 'pending', count: 700 },
    ])
    expect(await holdfast.setPriorityMany({ concurrencyKey: 't700' }, 9, by)).toMatchObject({ done: 700 })
    expect(await holdfast.rescheduleMany({ priority: 9 }, { delay: '1h' }, by)).toMatchObject({ done: 700 })
    expect(await holdfast.runNowMany({ status: 'scheduled', type: 'moved', lane: 'default' }, by)).toMatchObject({ done: 700 })
    expect(await holdfast.cancelMany({ createdBefore: new Date('2020-01-01') }, by)).toMatchObject({ matched: 0 })
    expect(await holdfast.cancelMany({ all: true }, by)).toMatchObject({ done: 700 })
  })

  it('ends every job of a busy fleet once: cancelled or completed', { timeout: 120_000 }, async () => {
    await holdfast.flow.limit('moved', { maxRunning: 5 }, { by: 'ada' })
    const workers = await Promise.all([1, 2, 3].map(() => startWorker(holdfast, [job], { logger: quiet, concurrency: 5 })))
    await holdfast.enqueueMany(
      Array.from({ length: 3_000 }, (_, i) => job.job({ name: `${i}` }, i % 5 === 0 ? { delay: '1h' } : {})),
    )
    await vi.waitFor(() => expect(ran).toBeGreaterThan(50), patient)
    const answers = await Promise.all([holdfast.cancelMany({ type: 'moved' }, by), holdfast.cancelMany({ type: 'moved' }, by)])
    const cancelled = answers[0].done + answers[1].done
    await vi.waitFor(async () => {
      const counts = await insideOf(holdfast).store.inspect.countByStatus()
      expect(counts).toContainEqual({ type: 'moved', status: 'cancelled', count: cancelled })
      expect(counts.reduce((sum, { status, count }) => (/cancelled|completed/.test(status) ? sum + count : sum), 0)).toBe(3_000)
    }, patient)
    expect((await sql.query(`select job_id from holdfast.history group by job_id having count(*) > 1`)).rows).toEqual([])
    await vi.waitFor(async () => expect((await sql.query(`select from holdfast.cancellations`)).rowCount).toBe(0), patient)
    const { rows } = await sql.query(`select deadlocks::int as n from pg_stat_database where datname = current_database()`)
    expect(rows).toEqual([{ n: 0 }])
    await Promise.all(workers.map((worker) => worker.stop()))
  })
})
