import { defineType, FatalError, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { canMove, isStatus, type JobStatus, moves } from '../../src/job/state.js'
import { moveClock } from '../support/moving-clock.js'

const quiet = { info() {}, warn() {}, error() {} }
const patience = { timeout: 20_000, interval: 100 }

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

async function rowOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await sql.query('select * from holdfast.jobs where id = $1', [id])
  expect(rows, 'every job stands in the view exactly once').toHaveLength(1)
  expect(isStatus(rows[0].status)).toBe(true)
  return rows[0]
}

function becomes(id: string, status: JobStatus): Promise<Record<string, unknown>> {
  return vi.waitFor(async () => {
    const row = await rowOf(id)
    expect(row.status).toBe(status)
    return row
  }, patience)
}

describe('the view holdfast.jobs', () => {
  /** What the handler does next, set by the test; it waits there until then. */
  let next: { promise: Promise<'succeed' | 'fail' | 'die'>; resolve(what: 'succeed' | 'fail' | 'die'): void }
  let worker: Worker | undefined

  const job = defineType({
    type: 'lives',
    lane: 'interactive',
    priority: 7,
    maxAttempts: 3,
    backoff: { base: '1h', factor: 1, jitter: 0 },
    async run() {
      const what = await next.promise
      next = decision()
      if (what === 'die') throw new FatalError('for good')
      if (what === 'fail') throw new Error('not this time')
    },
  })

  function decision(): typeof next {
    let resolve: (typeof next)['resolve'] = () => {}
    const promise = new Promise<'succeed' | 'fail' | 'die'>((done) => {
      resolve = done
    })
    return { promise, resolve }
  }

  beforeEach(() => {
    next = decision()
  })

  afterEach(async () => {
    next.resolve('succeed')
    await worker?.stop()
    worker = undefined
  })

  const start = async () => {
    worker = await startWorker(holdfast, [job], { concurrency: 1, poll: '50ms', logger: quiet })
    return worker
  }

  test('shows a job right at every stage of a life with delay, failure and success', async () => {
    const { id } = await holdfast.enqueue(job, { for: 'the view' }, { delay: '1h', idempotencyKey: 'once' })
    const seen: (JobStatus | null)[] = [null]
    const stage = async (status: JobStatus, facts: Record<string, unknown>) => {
      const row = await becomes(id, status)
      const about = { id, type: 'lives', lane: 'interactive', priority: 7, max_attempts: 3, idempotency_key: 'once' }
      expect(row).toMatchObject({ ...about, payload: { for: 'the view' }, created_at: expect.any(Date), ...facts })
      expect(canMove(seen.at(-1) as JobStatus | null, status), `${seen.at(-1)} → ${status}`).toBe(true)
      seen.push(status)
    }
    const waits = { started_at: null, finished_at: null, worker_id: null, error: null, due_at: expect.any(Date) }

    await stage('scheduled', { attempt: 1, ...waits })
    await moveClock(sql, '1 hour')
    await insideOf(holdfast).store.tick(10, '1970-01-01T00:00:00Z')
    await stage('pending', { attempt: 1, ...waits })

    const { id: worker_id } = await start()
    const runs = { started_at: expect.any(Date), finished_at: null, worker_id, error: null }
    await stage('processing', { attempt: 1, ...runs })
    next.resolve('fail')
    // Why it is tried again.
    await stage('failed', { attempt: 2, ...waits, error: expect.objectContaining({ message: 'not this time' }) })

    await worker?.stop()
    await moveClock(sql, '3 hours')
    await insideOf(holdfast).store.tick(10, '1970-01-01T00:00:00Z')
    await stage('pending', { attempt: 2, ...waits })
    const { id: second } = await start()
    await stage('processing', { attempt: 2, ...runs, worker_id: second })
    next.resolve('succeed')
    await stage('completed', {
      attempt: 2,
      started_at: expect.any(Date),
      finished_at: expect.any(Date),
      worker_id: second,
      error: null,
    })
    expect(seen.slice(1)).toEqual(['scheduled', 'pending', 'processing', 'failed', 'pending', 'processing', 'completed'])
    const { rows: attempts } = await sql.query('select * from holdfast.attempts where job_id = $1 order by attempt', [id])
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', worker_id, error: { message: 'not this time' }, started_at: expect.any(Date) },
      { attempt: 2, outcome: 'completed', worker_id: second, error: null, ended_at: expect.any(Date) },
    ])
    expect(attempts[0].worker).toBe(worker?.name)
  })

  test('shows a job that died, with its last error', async () => {
    const { id } = await holdfast.enqueue(job, {})
    await start()
    await becomes(id, 'processing')
    next.resolve('die')
    expect(await becomes(id, 'dead')).toMatchObject({
      attempt: 1,
      priority: 7,
      finished_at: expect.any(Date),
      error: { name: 'FatalError', message: 'for good' },
    })
  })

  test('shows a job that was handed back as pending, its attempt unspent', async () => {
    const { id } = await holdfast.enqueue(job, {})
    worker = await startWorker(holdfast, [job], { drain: 0, logger: quiet })
    await becomes(id, 'processing')
    await worker.stop()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', attempt: 1, worker_id: null, started_at: null })
    const { rows } = await sql.query('select attempt, outcome from holdfast.attempts where job_id = $1', [id])
    expect(rows).toEqual([{ attempt: 1, outcome: 'handed_back' }])
  })

  test('counts: select status, count(*) is all it takes', async () => {
    await holdfast.enqueueMany(Array.from({ length: 5 }, () => job.job({})))
    await holdfast.enqueueMany(Array.from({ length: 3 }, () => job.job({}, { delay: '1d' })))
    await holdfast.enqueue(job, {}, { priority: 9 })
    await start()
    await vi.waitFor(async () => expect(worker?.health().running).toBe(1), patience)
    const { rows } = await sql.query('select status, count(*)::integer from holdfast.jobs group by status order by status')
    expect(rows).toEqual([
      { status: 'pending', count: 5 },
      { status: 'processing', count: 1 },
      { status: 'scheduled', count: 3 },
    ])
  })
})

describe('the database and job/state.ts agree', () => {
  test('on every status that the tables and the view can hold', async () => {
    const { rows } = await sql.query(`
      select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'waiting_has_a_reason'
      union all select pg_get_viewdef('holdfast.jobs'::regclass)
      union all select pg_get_viewdef('holdfast.live'::regclass)`)
    const [{ places }] = (await sql.query('select holdfast.places() as places')).rows
    const named = rows.flatMap(({ text }) => [...text.matchAll(/'(\w+)'::(?:text|holdfast\.outcome)/g)].map((match) => match[1]))
    expect([...new Set(named)].filter((status) => !isStatus(status)).sort()).toEqual(places.sort())
    const missing = ['scheduled', 'pending', 'processing', 'failed', 'completed', 'dead'].filter((it) => !named.includes(it))
    expect(missing).toEqual([])
  })

  /** What settle_jobs is asked to do, and the cause it has in the table of moves. */
  const settling = [
    { move: null, outcome: null, delay: null, cause: 'complete' },
    { move: 'retry', outcome: 'failed', delay: 3_600_000, cause: 'fail' },
    { move: 'exhaust', outcome: 'timed_out', delay: null, cause: 'exhaust' },
    { move: 'die', outcome: 'failed', delay: null, cause: 'exhaust' },
    { move: 'snooze', outcome: 'snoozed', delay: 3_600_000, cause: 'snooze' },
    { move: 'hand_back', outcome: 'handed_back', delay: null, cause: 'hand_back' },
  ] as const

  test.each(settling)('on where $cause leads (settle_jobs: $move)', async ({ move, outcome, delay, cause }) => {
    const { id } = await holdfast.enqueue(defineType({ type: 'settled' }), {})
    await sql.query(`select * from holdfast.claim_jobs(1, (select lane_id from holdfast.types), null, 1, 60000, $1)`, [
      Array(10).fill(0),
    ])
    expect((await rowOf(id)).status).toBe('processing')
    const { rows: lost } = await sql.query(
      `select holdfast.settle_jobs(array[$1::uuid], (select array_agg(id) from holdfast.leases), array[$2::text],
         array[$3::holdfast.outcome], array[null], array[10], array[0], array[$4::float8], 1, (select array_agg(id) from holdfast.leases))`,
      [id, move, outcome, delay],
    )
    expect(lost).toEqual([])
    const { to } = moves.find(({ from, by }) => from === 'processing' && by === cause) as { to: JobStatus }
    expect((await rowOf(id)).status).toBe(to)
  })

  test('on where a rescue leads', async () => {
    const { id } = await holdfast.enqueue(defineType({ type: 'settled' }), {})
    await sql.query(`select * from holdfast.claim_jobs(1, (select lane_id from holdfast.types), null, 1, 0, $1)`, [
      Array(10).fill(0),
    ])
    expect(await insideOf(holdfast).store.leases.rescue({ leases: 1, jobs: 1_000 })).toHaveLength(1)
    const { to } = moves.find(({ by }) => by === 'rescue') as { to: JobStatus }
    expect(await rowOf(id)).toMatchObject({ status: to, attempt: 2 })
  })
})
