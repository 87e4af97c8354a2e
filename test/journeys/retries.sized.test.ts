import { type BackoffOption, defineType, FatalError, RetryableError } from 'holdfast'
import type { WorkerOptions } from 'holdfast/worker'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { sized } from '../support/sized.js'
import { startHere } from '../support/worker-here.js'

/** For the time between the end of a handler and its settling, on a busy machine. */
const slackSeconds = 10

async function failing(
  queue: Queue,
  how: { backoff?: BackoffOption; maxAttempts?: number; run?: () => unknown; options?: WorkerOptions },
) {
  const { backoff, maxAttempts = 20, options } = how
  const fails = () => {
    throw new Error('it never works')
  }
  // What is tested here is the retry, not the breaker.
  const type = defineType({
    type: 'failing',
    maxAttempts,
    limits: { breaker: false },
    run: how.run ?? fails,
    ...(backoff === undefined ? {} : { backoff }),
  })
  await startHere(queue, [type], { poll: '50ms', ...options })
  return queue.holdfast.enqueue(type, { kept: 'as it was' })
}

/** Seconds from the end of each attempt to the next, read from the database; each wait is cut short once it has been read. */
async function delays(queue: Queue, attempts: number): Promise<number[]> {
  const seconds: number[] = []
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const row = await eventually(async () => {
      const [row] = await queue.sql(
        `select extract(epoch from w.due_at - h.ended_at)::float as seconds, j.status from holdfast.waiting as w
         join holdfast.history as h on h.job_id = w.job_id and h.attempt = w.attempt - 1 join holdfast.jobs as j on j.id = w.job_id
         where h.attempt = $1 and h.outcome in ('failed', 'timed_out')`,
        [attempt],
      )
      return row
    })
    expect(row.status).toBe('failed')
    seconds.push(row.seconds)
    await queue.sql('update holdfast.waiting set due_at = now()')
  }
  return seconds
}

function expectDelays(seconds: number[], lows: number[], jitter: number): void {
  expect(seconds).toHaveLength(lows.length)
  for (const [at, low] of lows.entries()) {
    expect(seconds[at]).toBeGreaterThanOrEqual(low)
    expect(seconds[at]).toBeLessThanOrEqual(low + jitter + slackSeconds)
  }
}

describe('the wait before the next attempt', () => {
  test('is 30 s doubled each time, an hour at most, plus up to 15 s', async () => {
    const queue = await makeQueue()
    await failing(queue, {})
    expectDelays(await delays(queue, 10), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600], 15)
  }, 60_000)

  test("is the type's own", async () => {
    const queue = await makeQueue()
    await failing(queue, { backoff: { base: '10m', factor: 3, cap: '1h', jitter: 0 } })
    expectDelays(await delays(queue, 4), [600, 1800, 3600, 3600], 0)
  })

  test("is what the type's function says", async () => {
    const queue = await makeQueue()
    await failing(queue, { backoff: (attempt, { message }) => `${attempt * (message === 'it never works' ? 100 : 1)}s` })
    expectDelays(await delays(queue, 3), [100, 200, 300], 0)
  })

  test.each<[string, BackoffOption]>([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['answers nonsense', () => 'soon'],
    ['answers with a promise', (async () => 1) as unknown as () => number],
  ])('is the default when the function %s, and the log says so', async (_how, backoff) => {
    // biome-ignore format: one table
    const queue = await makeQueue()
    const warned: object[] = []
    const logger = { info() {}, error() {}, warn: (fields: object) => void warned.push(fields) }
    await failing(queue, { backoff, options: { logger } })
    expectDelays(await delays(queue, 2), [30, 60], 15)
    expect(warned).toContainEqual({ type: 'failing', problem: expect.stringContaining('backoff function') })
  })

  test('is what a RetryableError asks for', async () => {
    const queue = await makeQueue()
    const run = () => {
      throw new RetryableError('slow down', { after: '7m' })
    }
    await failing(queue, { run })
    expectDelays(await delays(queue, 2), [420, 420], 0)
  })

  test('also follows a timeout', async () => {
    const queue = await makeQueue()
    const type = defineType({ type: 'failing', timeout: '100ms', run: () => new Promise(() => {}) })
    await startHere(queue, [type], { poll: '50ms' })
    await queue.holdfast.enqueue(type, {})
    expectDelays(await delays(queue, 2), [30, 60], 15)
  })
})

const fallen = sized({ sample: 1_500, whole: 5_000 })

test(`${fallen} jobs that fail together do not come back together`, async () => {
  const queue = await makeQueue()
  const type = defineType({
    type: 'failing',
    limits: { breaker: false },
    run() {
      throw new Error('the service is down')
    },
  })
  await queue.holdfast.enqueueMany(Array.from({ length: fallen }, () => type.job({})))
  await startHere(queue, [type], { concurrency: 100 })
  await eventually(async () => (await queue.sql('select from holdfast.waiting')).length === fallen)
  const rows = await queue.sql(
    'select extract(epoch from w.due_at - h.ended_at)::float as seconds from holdfast.waiting as w join holdfast.history as h using (job_id)',
  )
  const waits = rows.map(({ seconds }) => seconds)
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.2 * 30)
  const buckets = new Map<number, number>()
  for (const wait of waits) buckets.set(Math.floor(wait), (buckets.get(Math.floor(wait)) ?? 0) + 1)
  expect(Math.max(...buckets.values())).toBeLessThan((2 * fallen) / 15)
}, 60_000)

describe('a job that ends dead', () => {
  test('after its last attempt keeps its payload, all its errors and all its attempts', async () => {
    const queue = await makeQueue()
    let attempt = 0
    const run = () => {
      attempt += 1
      throw new TypeError(`attempt ${attempt} failed`)
    }
    const { id } = await failing(queue, { run, maxAttempts: 3, backoff: { base: 0, cap: 0, jitter: 0 } })
    const story = await eventually(async () => {
      const story = await queue.holdfast.job(id)
      return story?.status === 'dead' && story
    })
    expect(story).toMatchObject({ attempt: 3, maxAttempts: 3, payload: { kept: 'as it was' } })
    expect(story.attempts).toMatchObject(
      [1, 2, 3].map((number) => ({
        attempt: number,
        outcome: 'failed',
        error: { name: 'TypeError', message: `attempt ${number} failed`, stack: expect.stringContaining('retries.sized.test') },
        startedAt: expect.any(Date),
        worker: expect.any(String),
      })),
    )
    const [letter] = await queue.sql('select reason, attempt, error from holdfast.dead_letters')
    expect(letter).toMatchObject({ reason: 'exhausted', attempt: 3, error: { message: 'attempt 3 failed' } })
  })

  test('by a FatalError does so at once', async () => {
    const queue = await makeQueue()
    const run = () => {
      throw new FatalError('the account is closed')
    }
    const { id } = await failing(queue, { run })
    await eventually(async () => (await queue.holdfast.job(id))?.status === 'dead')
    expect((await queue.holdfast.job(id))?.attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', error: { name: 'FatalError' } },
    ])
    expect((await queue.sql('select reason from holdfast.dead_letters'))[0]?.reason).toBe('fatal')
  })
})
