import { defineType, Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.js'

const pay = defineType({ type: 'pay', run() {} })

let queue: ScratchQueue
let proxy: CuttingProxy
/** Reaches the database through the proxy only. */
let producer: Holdfast
let sql: pg.Client

beforeEach(async () => {
  queue = await scratchQueue()
  proxy = await startCuttingProxy(queue.connectionString)
  producer = new Holdfast({ connectionString: proxy.url })
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  // Registered before, so that the statement that is cut is the one that stores the job.
  await producer.registerTypes([pay])
})
afterEach(async () => {
  await producer.close()
  await proxy.close()
  await sql.end()
  await queue.close()
})

async function counts() {
  const { rows } = await sql.query(`
    select (select count(*)::int from holdfast.bodies) as bodies, (select count(*)::int from holdfast.queue) as queued,
           (select count(*)::int from holdfast.idempotency_keys) as keys`)
  return rows[0]
}

describe('a connection that breaks after the commit and before the answer', () => {
  test('does not fail the enqueue, and does not double the job', async () => {
    proxy.cutAnswerTo('number 17')
    const { id, status } = await producer.enqueue(pay, { invoice: 'number 17' })
    expect(proxy.cuts).toBe(1)
    expect(status).toBe('created')
    expect(await counts()).toEqual({ bodies: 1, queued: 1, keys: 0 })
    expect((await queue.enqueued(pay)).map((job) => job.id)).toEqual([id])
  })

  test('does not make its own idempotency key look taken', async () => {
    proxy.cutAnswerTo('number 18')
    const answer = await producer.enqueue(pay, { invoice: 'number 18' }, { idempotencyKey: 'invoice:18' })
    expect(proxy.cuts).toBe(1)
    expect(answer.status).toBe('created')
    expect(await counts()).toEqual({ bodies: 1, queued: 1, keys: 1 })
    expect(await producer.enqueue(pay, {}, { idempotencyKey: 'invoice:18' })).toEqual({ id: answer.id, status: 'existing' })
  })

  test('still tells of those of several jobs that really existed before', async () => {
    const before = await producer.enqueue(pay, 0, { idempotencyKey: 'known' })
    proxy.cutAnswerTo('the last one')
    const answers = await producer.enqueueMany([
      pay.job(1, { idempotencyKey: 'known' }),
      pay.job(2, { idempotencyKey: 'new' }),
      pay.job('the last one'),
    ])
    expect(proxy.cuts).toBe(1)
    expect(answers.map((answer) => answer.status)).toEqual(['existing', 'created', 'created'])
    expect(answers[0]?.id).toBe(before.id)
    expect(await counts()).toEqual({ bodies: 3, queued: 3, keys: 2 })
  })

  test('keeps a job under an id of the producer exactly once, and may call it existing', async () => {
    const id = '01890000-0000-7000-8000-000000000019'
    proxy.cutAnswerTo('number 19')
    expect((await producer.enqueue(pay, { invoice: 'number 19' }, { id })).id).toBe(id)
    expect(proxy.cuts).toBe(1)
    expect(await counts()).toEqual({ bodies: 1, queued: 1, keys: 0 })
  })

  test('does not fail or double 20,000 jobs that go in one transaction', async () => {
    const requests = Array.from({ length: 20_000 }, (_, n) => pay.job(n, n % 4 ? {} : { idempotencyKey: `of-many:${n}` }))
    // The message of a simple query: its kind, its length, its text.
    proxy.cutAnswerTo('commit\0')
    const answers = await producer.enqueueMany(requests)
    expect(proxy.cuts).toBe(1)
    expect(answers.every((answer) => answer.status === 'created')).toBe(true)
    expect(await counts()).toEqual({ bodies: 20_000, queued: 20_000, keys: 5_000 })
    const { rows } = await sql.query('select id::text from holdfast.bodies order by id')
    expect(rows.map((row) => row.id)).toEqual(answers.map((answer) => answer.id))
  }, 120_000)

  test('four times in a row is told to the caller, who can ask again with the same id', async () => {
    const id = '01890000-0000-7000-8000-000000000020'
    proxy.cutAnswerTo('number 20')
    const cutting = setInterval(() => proxy.cutAnswerTo('number 20'), 1)
    await expect(producer.enqueue(pay, { invoice: 'number 20' }, { id, retryFor: 0 })).rejects.toMatchObject({
      code: 'database_unavailable',
    })
    clearInterval(cutting)
    proxy.cutAnswerTo('nothing that is ever sent')
    expect(proxy.cuts).toBe(4)
    expect(await producer.enqueue(pay, { invoice: 'number 20' }, { id })).toEqual({ id, status: 'existing' })
    expect(await counts()).toEqual({ bodies: 1, queued: 1, keys: 0 })
  })
})

describe('a connection that breaks while the server is still at it', () => {
  test.each(['rollback', 'commit'] as const)(
    'makes the second try wait for the first (the key was held by a %s)',
    async (end) => {
      const holder = new pg.Client({ connectionString: queue.connectionString })
      await holder.connect()
      await holder.query('begin')
      const held = await queue.holdfast.enqueue(pay, 'holder', { idempotencyKey: 'k', tx: holder })
      proxy.cutSenderOf('number 21')
      const enqueued = producer.enqueue(pay, { invoice: 'number 21' }, { idempotencyKey: 'k' })
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      // The first try, whose client has gone, and the second one.
      await vi.waitFor(async () => expect((await sql.query(waiting)).rowCount).toBe(2), { timeout: 20_000, interval: 100 })
      await holder.query(end)
      const answer = await enqueued
      expect(proxy.cuts).toBe(1)
      expect(answer.status).toBe(end === 'commit' ? 'existing' : 'created')
      if (end === 'commit') expect(answer.id).toBe(held.id)
      expect(await counts()).toEqual({ bodies: 1, queued: 1, keys: 1 })
      expect((await queue.enqueued(pay))[0]?.id).toBe(answer.id)
      await holder.end()
    },
  )
})
