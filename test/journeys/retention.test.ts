import { defineType, FatalError, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const week = { completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 }

let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

const job = defineType({
  type: 'kept',
  maxAttempts: 2,
  backoff: { base: 0, jitter: 0 },
  async run(payload, ctx) {
    if (payload === 'dies') throw new FatalError('for good')
    if (payload === 'flaky' && ctx.job.attempt === 1) throw new Error('once')
  },
})

/** Moves the database's clock; time runs on from there. */
async function moveTo(days: number): Promise<void> {
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''${days} days'''`)
  await insideOf(holdfast).store.partitions.make()
}

async function runEverything(): Promise<void> {
  const worker = await startWorker(holdfast, [job], { logger: quiet })
  await vi.waitFor(async () => expect(await countLive()).toBe(0), { timeout: 20_000, interval: 100 })
  await worker.stop()
}

async function countLive(): Promise<number> {
  const { rows } = await sql.query(`select count(*)::int as n from holdfast.jobs
    where status in ('pending', 'processing') or (status in ('failed', 'scheduled') and due_at < holdfast.now())`)
  return rows[0].n
}

async function dropWhatHadItsTime(): Promise<string[]> {
  const dropped: string[] = []
  for (;;) {
    const day = await insideOf(holdfast).store.partitions.dropOne(week)
    if (day === null) return dropped
    dropped.push(day)
  }
}

async function partitions(family: string): Promise<string[]> {
  const { rows } = await sql.query(
    `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1`,
    [`holdfast.${family}`],
  )
  return rows.map((row) => row.relname)
}

/** The day on which a job was enqueued, as partitions are named: the test may have been started just before midnight. */
async function dayOf(id: string): Promise<string> {
  return (await holdfast.job(id))?.createdAt.toISOString().slice(0, 10).replaceAll('-', '') as string
}

describe('retention', () => {
  it('keeps a completed job with its attempts for seven days and then drops its day', async () => {
    const { id } = await holdfast.enqueue(job, 'flaky')
    await runEverything()
    await moveTo(6)
    expect(await dropWhatHadItsTime()).toEqual([])
    expect(await holdfast.job(id)).toMatchObject({
      status: 'completed',
      attempts: [{ outcome: 'failed' }, { outcome: 'completed' }],
    })
    await moveTo(9)
    const dropped = await dropWhatHadItsTime()
    expect(dropped.some((name) => name.startsWith('bodies_'))).toBe(true)
    expect(dropped.some((name) => name.startsWith('history_'))).toBe(true)
    expect(await holdfast.job(id)).toBeUndefined()
    const left = await sql.query('select (select count(*) from holdfast.bodies) + (select count(*) from holdfast.history) as n')
    expect(left.rows[0].n).toBe('0')
  })

  it('carries a dead letter with its body and every attempt past the drop of its day, and lets it go after thirty days', async () => {
    const { id } = await holdfast.enqueue(job, 'dies')
    await runEverything()
    await moveTo(20)
    expect((await dropWhatHadItsTime()).length).toBeGreaterThan(0)
    expect(await holdfast.job(id)).toMatchObject({
      status: 'dead',
      payload: 'dies',
      attempts: [{ outcome: 'failed', attempt: 1 }],
    })
    await moveTo(40)
    await dropWhatHadItsTime()
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect(await holdfast.job(id)).toBeUndefined()
    const left = await sql.query('select (select count(*) from holdfast.bodies) + (select count(*) from holdfast.history) as n')
    expect(left.rows[0].n).toBe('0')
  })

  it('never drops a job that waits for a time after its day was dropped', async () => {
    const { id } = await holdfast.enqueue(job, 'later', { delay: '40d' })
    await moveTo(20)
    expect((await dropWhatHadItsTime()).length).toBeGreaterThan(0)
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled', payload: 'later' })
    await moveTo(41)
    await runEverything()
    expect(await holdfast.job(id)).toMatchObject({ status: 'completed' })
    await moveTo(60)
    await dropWhatHadItsTime()
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect(await holdfast.job(id)).toBeUndefined()
  })

  it('keeps a job that finished lately though it was made long ago, its first attempt included', async () => {
    const slow = defineType({
      type: 'slow_to_succeed',
      backoff: () => '8d',
      async run(_, ctx) {
        if (ctx.job.attempt === 1) throw new Error('come back in eight days')
      },
    })
    const { id } = await holdfast.enqueue(slow, null)
    const first = await startWorker(holdfast, [slow], { logger: quiet })
    await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('failed'), { timeout: 20_000 })
    await first.stop()
    await moveTo(9)
    const second = await startWorker(holdfast, [slow], { logger: quiet })
    await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('completed'), { timeout: 20_000 })
    await second.stop()
    await moveTo(10)
    await dropWhatHadItsTime()
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect((await holdfast.job(id))?.attempts.map((a) => a.outcome)).toEqual(['failed', 'completed'])
  })

  it('frees an idempotency key when its job is gone, and not before', async () => {
    const options = { idempotencyKey: 'invoice:7' }
    const first = await holdfast.enqueue(job, 'once', options)
    await runEverything()
    await moveTo(6)
    await dropWhatHadItsTime()
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect(await holdfast.enqueue(job, 'once', options)).toEqual({ id: first.id, status: 'existing' })
    await moveTo(9)
    await dropWhatHadItsTime()
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    expect((await holdfast.enqueue(job, 'once', options)).status).toBe('created')
  })

  it('leaves a day standing while more rows of it are needed than can be carried over in a moment', async () => {
    const [first] = await holdfast.enqueueMany(Array.from({ length: 5_001 }, () => job.job('later', { delay: '60d' })))
    const today = await dayOf(first?.id as string)
    const before = await partitions('bodies')
    await moveTo(20)
    await dropWhatHadItsTime()
    expect(before).toContain(`bodies_${today}`)
    expect(await partitions('bodies')).toContain(`bodies_${today}`)
  })

  it('drops a day of attempts however many older jobs live, where few of them had an attempt that day', async () => {
    await holdfast.enqueueMany(Array.from({ length: 5_001 }, () => job.job('later', { delay: '60d' })))
    const flaky = await holdfast.enqueue(job, 'flaky', { delay: '10d' })
    const done = await holdfast.enqueue(job, 'done')
    const today = await dayOf(done.id)
    await runEverything()
    await moveTo(10)
    await runEverything()
    await dropWhatHadItsTime()
    expect(await partitions('history')).not.toContain(`history_${today}`)
    expect(await partitions('bodies')).toContain(`bodies_${today}`)
    expect(await holdfast.job(done.id)).toBeUndefined()
    expect((await holdfast.job(flaky.id))?.attempts.map((attempt) => attempt.outcome)).toEqual(['failed', 'completed'])
  })

  it('gives up at once when somebody holds the table, and enqueues go on', async () => {
    await holdfast.enqueue(job, 'done')
    await runEverything()
    await moveTo(9)
    const reader = new pg.Client({ connectionString: scratch.connectionString })
    await reader.connect()
    await reader.query('begin; select count(*) from holdfast.history; select count(*) from holdfast.dead_letters')
    await expect(insideOf(holdfast).store.partitions.dropOne(week)).rejects.toMatchObject({ code: '55P03' })
    expect((await holdfast.enqueue(job, 'goes on')).status).toBe('created')
    await reader.query('rollback')
    await reader.end()
    expect(await insideOf(holdfast).store.partitions.dropOne(week)).toMatch(/_\d{8}$/)
  })

  it('catches jobs of days nobody made in the default partition, and moves them when the day is made', async () => {
    await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                     as 'select pg_catalog.clock_timestamp() + interval ''12 days'''`)
    await holdfast.registerTypes([job])
    const { rows } = await sql.query(`select id from holdfast.enqueue('kept', '{}')`)
    const { id } = rows[0]
    const where = async () =>
      (await sql.query('select tableoid::regclass::text as t from holdfast.bodies where id = $1', [id])).rows[0].t
    expect(await where()).toBe('holdfast.bodies_rest')
    await insideOf(holdfast).store.partitions.make()
    expect(await where()).toMatch(/bodies_\d{8}$/)
    await runEverything()
    expect(await holdfast.job(id)).toMatchObject({ status: 'completed' })
  })

  it('sweeps up, and says in its health what it cannot do, while somebody holds a table for hours', async () => {
    const { id } = await holdfast.enqueue(job, 'later', { delay: '10d' })
    await moveTo(9)
    await dropWhatHadItsTime()
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled' })
    await holdfast.cancel(id, { by: 'ada' })
    await moveTo(30)
    const reader = new pg.Client({ connectionString: scratch.connectionString })
    await reader.connect()
    await reader.query('begin; select count(*) from holdfast.history')
    await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                     as 'select pg_catalog.clock_timestamp() + interval ''50 days'''`)
    const worker = await startWorker(holdfast, [job], { logger: quiet })
    try {
      const left = async () => (await sql.query('select from holdfast.bodies_rest')).rowCount
      await vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 20_000, interval: 100 })
      expect(worker.health()).toMatchObject({ status: 'ok' })
      await vi.waitFor(() => {
        const warnings = worker.health().warnings?.join('\n')
        expect(warnings).toMatch(/the upkeep of partitions has failed for \d+ s: the partition of history for \S+ cannot be made/)
        expect(warnings).toMatch(/the upkeep of retention has failed for \d+ s: /)
      }, 20_000)
    } finally {
      await reader.end()
      await worker.stop()
    }
  })
})
