import { setTimeout as sleep } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Oracle, type Said, startOracle } from '../support/oracle.js'
import { longTest, sized } from '../support/sized.js'

const by = { by: 'ada', why: 'a test' }
let scratch: ScratchDatabase
let holdfast: Holdfast
let oracle: Oracle
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  oracle = await startOracle()
  await holdfast.registerTypes([defineType({ type: 'watched', maxAttempts: 3 })])
})
afterEach(async () => {
  await oracle.close()
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

async function startWorkers(count: number, options: { lease?: string; listen?: boolean } = {}): Promise<number[]> {
  const { connectionString } = scratch
  const workers: number[] = []
  for (let i = 0; i < count; i++) {
    workers.push((await oracle.startWorker({ connectionString, lease: '10s', ...options })).pid as number)
  }
  return workers
}

function heard(what: Said['what'], job: string): Said | undefined {
  return oracle.said.find((said) => said.what === what && said.job === job)
}

async function until(what: Said['what'], job: string, timeout = 30_000): Promise<Said> {
  return vi.waitFor(
    () => {
      const found = heard(what, job)
      expect(found, `${what} of ${job}`).toBeDefined()
      return found as Said
    },
    { timeout, interval: 5 },
  )
}

async function enqueue(payload: { ms?: number; stubborn?: number }): Promise<string> {
  return (await holdfast.enqueue('watched', payload, { concurrencyKey: 'one' })).id
}

const limits = {
  'of its type': () => holdfast.flow.limit('watched', { maxRunning: 1 }, { by: 'ada' }),
  'of its key': () => holdfast.flow.limit('watched', { maxRunningPerKey: 1 }, { by: 'ada' }),
  'of its lane': () => holdfast.flow.setLane('default', { slots: 1 }, by),
}

describe.each(Object.entries(limits))('the slot %s of a cancelled job', (of, setLimit) => {
  it('is kept until its handler has ended, and then given to the next', async () => {
    await setLimit()
    await startWorkers(2)
    const first = await enqueue({ ms: 60_000, stubborn: 2_000 })
    await until('begin', first)
    const second = await enqueue({})
    expect(await holdfast.cancel(first, by)).toMatchObject({ done: true, was: 'processing', status: 'cancelled' })
    expect((await holdfast.job(first))?.status).toBe('cancelled')
    expect((await until('abort', first)).detail).toBe('JobCancelledError')
    const began = await until('begin', second)
    const ended = heard('end', first) as Said
    expect(ended).toBeDefined()
    expect(began.at).toBeGreaterThanOrEqual(ended.at)
    expect(began.at - ended.at).toBeLessThan(2_500)
    expect(oracle.most).toBe(1)
    await vi.waitFor(async () => expect((await holdfast.job(second))?.status).toBe('completed'), { timeout: 20_000 })
    expect((await sql.query('select from holdfast.cancellations')).rowCount).toBe(0)
  })

  // npm test kills a worker for one of the three, the long run for each.
  const inEveryRun = of === 'of its type' ? it : longTest
  inEveryRun('comes free with its lease when the worker dies with the handler', { timeout: 120_000 }, async () => {
    await setLimit()
    const [worker] = await startWorkers(1, { lease: '8s' })
    const first = await enqueue({ ms: 60_000, stubborn: 60_000 })
    await until('begin', first)
    await startWorkers(1, { lease: '8s' })
    const second = await enqueue({})
    await holdfast.cancel(first, by)
    await until('abort', first)
    process.kill(worker as number, 'SIGKILL')
    await until('begin', second, 60_000)
    expect(oracle.most).toBe(1)
    const { attempts, status } = (await holdfast.job(first)) as NonNullable<Awaited<ReturnType<Holdfast['job']>>>
    expect([status, attempts.map((attempt) => attempt.outcome)]).toEqual(['cancelled', ['cancelled']])
    await vi.waitFor(async () => expect((await sql.query('select from holdfast.cancellations')).rowCount).toBe(0), {
      timeout: 20_000,
    })
  })
})

const handlers = sized({ sample: 25, whole: 200 })

it(`${handlers} handlers under a limit of one, cancelled at random in three workers, never overlap, and none is forgotten`, {
  timeout: 180_000,
}, async () => {
  await holdfast.flow.limit('watched', { maxRunning: 1, maxRunningPerKey: 1 }, { by: 'ada' })
  await startWorkers(3)
  const answers = new Map<string, boolean>()
  oracle.onSaid = async ({ what, job }) => {
    if (what !== 'begin' || Math.random() < 0.4) return
    await sleep(Math.random() * 20)
    answers.set(job, (await holdfast.cancel(job, by)).done)
  }
  const jobs = Array.from({ length: handlers }, () => ({
    type: 'watched',
    payload: { ms: Math.random() * 20, stubborn: Math.random() * 30 },
    concurrencyKey: `tenant ${Math.floor(Math.random() * 3)}`,
  }))
  await holdfast.enqueueMany(jobs)
  const open = 'select job_id from holdfast.queue union all select job_id from holdfast.cancellations'
  await vi.waitFor(async () => expect((await sql.query(open)).rowCount).toBe(0), { timeout: 150_000, interval: 100 })
  const { rows } = await sql.query(`select status, count(*)::int as count from holdfast.jobs group by status order by status`)
  expect(rows.map((row) => row.status)).toEqual(['cancelled', 'completed'])
  expect(rows[0].count + rows[1].count).toBe(handlers)
  expect(rows[0].count).toBe([...answers.values()].filter(Boolean).length)
  expect(oracle.most).toBe(1)
})

describe('the signal of a cancelled handler', () => {
  it('fires at once where the worker can be called', async () => {
    await startWorkers(1, { lease: '60s' })
    // Its first heartbeats are over and the next one comes in fifteen seconds.
    const settled = `select from holdfast.workers join holdfast.idle_workers on worker_id = id
      where seen_at < clock_timestamp() - interval '2 seconds'`
    await vi.waitFor(async () => expect((await sql.query(settled)).rowCount).toBe(1), { timeout: 20_000 })
    const id = await enqueue({ ms: 60_000 })
    await until('begin', id)
    const asked = performance.now()
    await holdfast.cancel(id, by)
    expect((await until('abort', id)).at - asked).toBeLessThan(5_000)
  })

  it('fires with the next heartbeat where it cannot', async () => {
    await startWorkers(1, { lease: '10s', listen: false })
    const id = await enqueue({ ms: 60_000 })
    await until('begin', id)
    await holdfast.cancel(id, by)
    // The reason tells it apart from a lease that ran out and from the timeout. How soon it comes is up to the machine.
    expect((await until('abort', id)).detail).toBe('JobCancelledError')
    await vi.waitFor(
      () => expect(oracle.said.some((said) => said.what === 'told' && said.detail === 'job.cancelled')).toBe(true),
      {
        timeout: 20_000,
      },
    )
  })
})
