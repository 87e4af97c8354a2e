import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, makeBareQueue } from '../support/bare-queue.js'
import { makeCountingPool, type Sent } from '../support/counting-pool.js'
import { eventually } from '../support/facts.js'
import { costOf, plansOf } from '../support/plans.js'
import { sized } from '../support/sized.js'

/**
 * What a job costs, in statements, commits, bytes and pages: counted and never timed, so that a change that makes jobs dearer
 * goes red on every machine. What a claim and a settle cost stands in backlog.sized.test.ts, their plans in plans.sized.test.ts.
 */
const stored = sized({ sample: 50_000, whole: 200_000 })
let queue: BareQueue
let holdfast: Holdfast
let sent: Sent[]
let endPool: () => Promise<void>

beforeEach(async () => {
  queue = await makeBareQueue()
  const counting = makeCountingPool(queue.url)
  sent = counting.sent
  endPool = () => counting.pool.end()
  holdfast = new Holdfast({ pool: counting.pool })
  // The first call may look up the type.
  await holdfast.enqueue('bare', {})
  sent.length = 0
})

afterEach(async () => {
  await holdfast.close()
  await endPool()
  await queue.close()
})

const payload = { text: 'x'.repeat(189) }
let keys = 0
const options = {
  plain: () => ({}),
  'idempotency key': () => ({ idempotencyKey: `key ${keys++}` }),
  'unique key': () => ({ unique: { key: `key ${keys++}` } }),
}
type Kind = keyof typeof options
const many = (count: number, kind: Kind = 'plain') =>
  Array.from({ length: count }, () => ({ type: 'bare', payload, ...options[kind]() }))

/** The statement of one such call. Its jobs are taken out again, so that it can be run once more to see what it does. */
async function statementOf(jobs: number, kind: Kind = 'plain'): Promise<Sent> {
  const stored = (await holdfast.enqueueMany(many(jobs, kind))).map(({ id }) => id)
  for (const table of ['queue', 'idempotency_keys', 'uniques'])
    await queue.client.query(`delete from holdfast.${table} where job_id = any ($1)`, [stored])
  await queue.client.query('delete from holdfast.bodies where id = any ($1)', [stored])
  return sent.findLast(({ text }) => text.includes('enqueue_jobs')) as Sent
}

describe('an enqueue', () => {
  test('is one statement and so one commit, for one job and for a thousand', async () => {
    // Beside them, about once a second, a producer asks how much waits.
    const enqueues = () => sent.filter(({ text }) => !text.includes('depths'))
    for (let i = 0; i < 20; i++) await holdfast.enqueue('bare', payload)
    expect(enqueues()).toHaveLength(20)
    sent.length = 0
    await holdfast.enqueueMany(many(1_000))
    expect(enqueues()).toHaveLength(1)
    expect(sent.map(({ text }) => text).join()).not.toMatch(/\b(begin|commit)\b/i)
  })

  test('writes at most 700 bytes of WAL for a job of 200 bytes, in calls of a thousand', async () => {
    const costs: number[] = []
    for (let round = 0; round < 60 && costs.length < 3; round++) {
      const { text, values } = await statementOf(1_000)
      const { wal, pageImages } = await costOf(queue.client, text, values)
      // After a checkpoint whole pages go into the WAL; that is its cost and not the job's. Each test that makes a database forces one.
      if (pageImages === 0) costs.push(wal / 1_000)
    }
    expect(costs).toHaveLength(3)
    expect(Math.max(...costs)).toBeLessThanOrEqual(700)
    expect(Math.min(...costs)).toBeGreaterThan(400)
  }, 120_000)

  test.each(['idempotency key', 'unique key'] as const)(
    'whose jobs each have an %s that is free runs no more statements inside of the database for 300 of them than for 30',
    async (kind) => {
      const nodesOf = async (jobs: number) => {
        const { text, values } = await statementOf(jobs, kind)
        await queue.client.query('begin')
        const nodes = await plansOf(queue.client, () => queue.client.query(text, values))
        await queue.client.query('rollback')
        return nodes.length
      }
      expect(await nodesOf(300)).toBe(await nodesOf(30))
    },
    120_000,
  )

  test(`looks at no more pages with ${stored} jobs stored than with none`, async () => {
    const empty = await statementOf(100)
    const before = await costOf(queue.client, empty.text, empty.values)
    await queue.fill(stored)
    // The least of several: what fills a table leaves pages behind that whoever comes first has to look at once.
    const after = { pages: Number.POSITIVE_INFINITY }
    for (let n = 0; n < 5; n++) {
      const next = await statementOf(100)
      after.pages = Math.min(after.pages, (await costOf(queue.client, next.text, next.values)).pages)
    }
    // Three trees grow by at most two levels, a page for each lookup; nothing else may grow.
    expect(after.pages).toBeLessThanOrEqual(before.pages + 3 * 2 * 100)
  }, 120_000)

  test('finds its types by name and reads no table whole, with the statistics of an empty database and with fresh ones', async () => {
    const { text, values } = await statementOf(50)
    await queue.client.query('analyze')
    await queue.fill(10_000)
    await queue.client.query(
      `insert into holdfast.types (name, lane_id) select 'type ' || n, 1 from generate_series(1, 5000) as n`,
    )
    for (const analyze of [false, true]) {
      if (analyze) await queue.client.query('analyze')
      await queue.client.query('begin')
      const nodes = await plansOf(queue.client, () => queue.client.query(text, values))
      await queue.client.query('rollback')
      expect(nodes.filter((node) => node.type === 'Seq Scan').map((node) => node.table)).toEqual([])
      expect(nodes.map((node) => node.index)).toContain('types_name')
    }
  }, 120_000)
})

test.each([
  ['that do nothing', null],
  ['behind a limit', { maxRunning: 100_000 }],
  ['behind a limit of each key', { maxRunningPerKey: 100 }],
] as const)(
  'a worker sends less than one statement for every fifty jobs %s',
  async (_, limits) => {
    const jobs = 20_000
    let handled = 0
    const bare = defineType({
      type: 'bare',
      async run() {
        handled++
      },
    })
    if (limits) await holdfast.flow.limit('bare', limits, { by: 'ada' })
    const fill = async () => {
      if (!limits) return queue.fill(jobs)
      // Through the front door, which puts them before their gate.
      const each = (n: number) => ({ type: 'bare', payload: {}, concurrencyKey: `key ${n % 100}` })
      for (let first = 0; first < jobs; first += 1_000)
        await holdfast.enqueueMany(Array.from({ length: 1_000 }, (_, n) => each(first + n)))
    }
    // The least of three: where others use the processor, a worker that waits for it settles fewer jobs at once.
    let least = Number.POSITIVE_INFINITY
    for (let round = 1; round <= 3 && least >= 0.02; round++) {
      await fill()
      const before = sent.length
      const worker = await startWorker(holdfast, [bare], { concurrency: 24, logger: { info() {}, warn() {}, error() {} } })
      try {
        await eventually(() => handled >= round * jobs && worker.health().unwritten === 0)
      } finally {
        await worker.stop()
      }
      least = Math.min(least, (sent.length - before) / jobs)
    }
    expect(least).toBeLessThan(0.02)
    // Claims of 500 at the most: less than this, and they were not counted.
    expect(least).toBeGreaterThanOrEqual(1 / 500)
  },
  120_000,
)
