import { defineType, type Enqueued, Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { emptied } from '../support/emptied.js'

const charge = defineType({ type: 'charge', run() {} })
const refund = defineType({ type: 'refund', run() {} })

let queue: ScratchQueue
/** With room for everybody at once. */
let holdfast: Holdfast
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  holdfast = new Holdfast({ connectionString: queue.connectionString, connections: 50 })
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await holdfast.registerTypes([charge, refund])
})
afterAll(async () => {
  await sql.end()
  await holdfast.close()
  await queue.close()
})
beforeEach(() => emptied(sql, 'bodies', 'queue', 'history', 'idempotency_keys'))

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: queue.connectionString })
  await client.connect()
  return client
}

const countJobs = async () => (await sql.query('select count(*)::int as n from holdfast.jobs')).rows[0].n
const countQueued = async () => (await sql.query('select count(*)::int as n from holdfast.queue')).rows[0].n
const countDeadlocks = async () =>
  (await sql.query(`select deadlocks::int as n from pg_stat_database where datname = current_database()`)).rows[0].n

/** Until another session waits for a lock that somebody holds. */
async function untilSomebodyWaits(): Promise<void> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await vi.waitFor(async () => expect((await sql.query(waiting)).rowCount).toBeGreaterThan(0), { timeout: 20_000, interval: 10 })
}

const created = (answers: readonly Enqueued[]) => answers.filter((answer) => answer.status === 'created')

describe('an idempotency key', () => {
  test('makes one job of 50 enqueues at the same moment, and exactly one is told that it created it', async () => {
    for (let round = 0; round < 10; round++) {
      const options = { idempotencyKey: `order:${round}` }
      const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => holdfast.enqueue(charge, n, options)))
      expect(created(answers)).toHaveLength(1)
      expect(new Set(answers.map((answer) => answer.id)).size).toBe(1)
    }
    expect(await countJobs()).toBe(10)
    expect(await countQueued()).toBe(10)
  }, 60_000)

  test.each([
    ['rolls back', 'rollback', 'created'],
    ['commits', 'commit', 'existing'],
  ] as const)(
    'whose first transaction is still open is waited for: when that %s, the second is %3$s',
    async (_how, end, status) => {
      const client = await connect()
      await client.query('begin')
      const first = await holdfast.enqueue(charge, 'first', { idempotencyKey: 'k', tx: client })
      const second = holdfast.enqueue(charge, 'second', { idempotencyKey: 'k' })
      await untilSomebodyWaits()
      await client.query(end)
      const answer = await second
      expect(answer.status).toBe(status)
      expect(answer.id === first.id).toBe(status === 'existing')
      expect(await queue.enqueued(charge)).toMatchObject([{ payload: status === 'existing' ? 'first' : 'second', id: answer.id }])
      await client.end()
    },
  )

  test('may repeat inside one enqueue: the first of them is created, the others are that one', async () => {
    const keys = ['a', 'b', 'a', null, 'a', 'b', null]
    const answers = await holdfast.enqueueMany(keys.map((key, n) => charge.job(n, key === null ? {} : { idempotencyKey: key })))
    expect(answers.map((answer) => answer.status)).toEqual([
      'created', 'created', 'existing', 'created', 'existing', 'existing', 'created',
    ]) // biome-ignore format: one line
    expect(answers.map((answer) => answers.findIndex(({ id }) => id === answer.id))).toEqual([0, 1, 0, 3, 0, 1, 6])
    expect((await queue.enqueued(charge)).map((job) => job.payload)).toEqual([0, 1, 3, 6])
  })

  test('belongs to its type', async () => {
    const [one, two] = [
      await holdfast.enqueue(charge, 1, { idempotencyKey: 'order:1' }),
      await holdfast.enqueue(refund, 1, { idempotencyKey: 'order:1' }),
    ]
    expect(created([one, two])).toHaveLength(2)
  })

  test('still answers after its job is completed', async () => {
    const { id } = await holdfast.enqueue(charge, 1, { idempotencyKey: 'done' })
    await queue.drain([charge])
    expect(await holdfast.enqueue(charge, 2, { idempotencyKey: 'done' })).toEqual({ id, status: 'existing' })
    expect(await countQueued()).toBe(0)
  })

  test('is compared exactly: case, accents, spaces and length count', async () => {
    const keys = ['key', 'Key', ' key', 'key ', 'kéy', 'ke\u0301y', 'x'.repeat(499), 'x'.repeat(500), '🦀'.repeat(250), '%', "'"]
    const answers = await holdfast.enqueueMany(keys.map((idempotencyKey) => charge.job(0, { idempotencyKey })))
    expect(created(answers)).toHaveLength(keys.length)
    const again = await holdfast.enqueueMany(keys.map((idempotencyKey) => charge.job(0, { idempotencyKey })))
    expect(again.map((answer) => answer.id)).toEqual(answers.map((answer) => answer.id))
  })

  test('gives a serialization failure, never a wrong answer, to a transaction that cannot see the first job', async () => {
    for (const options of [{ idempotencyKey: 'unseen' }, { id: '01890000-0000-7000-8000-00000000beef' }]) {
      const client = await connect()
      await client.query('begin isolation level repeatable read; select 1 from holdfast.types')
      const first = await holdfast.enqueue(charge, 1, options)
      const second = holdfast.enqueue(charge, 2, { ...options, tx: client })
      await expect(second).rejects.toMatchObject({ code: '40001' })
      await client.query('rollback')
      await client.query('begin isolation level repeatable read')
      expect(await holdfast.enqueue(charge, 1, { ...options, tx: client })).toEqual({ id: first.id, status: 'existing' })
      await client.query('commit')
      await client.end()
    }
    expect(await countJobs()).toBe(2)
  })
})

describe('enqueues with the same keys', () => {
  const many = (keys: readonly number[]) => keys.map((key) => charge.job(key, { idempotencyKey: `many:${key}` }))

  test('in opposite order never deadlock, 200 times', async () => {
    const before = await countDeadlocks()
    for (let round = 0; round < 200; round++) {
      const keys = Array.from({ length: 20 }, (_, n) => round * 20 + n)
      const answers = await Promise.all([many(keys), many(keys.toReversed())].map((jobs) => holdfast.enqueueMany(jobs)))
      expect(created(answers.flat())).toHaveLength(20)
    }
    await sql.query('select pg_stat_force_next_flush()').catch(() => {})
    expect(await countDeadlocks()).toBe(before)
    expect(await countJobs()).toBe(4_000)
  }, 120_000)

  test('never deadlock either when they are so large that they need several statements', async () => {
    const before = await countDeadlocks()
    for (let round = 0; round < 3; round++) {
      const keys = Array.from({ length: 6_000 }, (_, n) => round * 6_000 + n)
      const answers = await Promise.all([many(keys), many(keys.toReversed())].map((jobs) => holdfast.enqueueMany(jobs)))
      expect(created(answers.flat())).toHaveLength(6_000)
      expect(answers[0]?.map((answer) => answer.id)).toEqual(answers[1]?.map((answer) => answer.id).toReversed())
    }
    expect(await countDeadlocks()).toBe(before)
    expect(await countJobs()).toBe(18_000)
  }, 120_000)
})
