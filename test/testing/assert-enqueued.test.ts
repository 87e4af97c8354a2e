import { AssertionError } from 'node:assert'
import { defineType } from 'holdfast'
import { type Expectation, type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

const sendEmail = defineType({ type: 'send_email', payload: z.object({ to: z.string(), tags: z.array(z.string()).default([]) }) })
const resize = defineType({ type: 'resize', payload: z.object({ width: z.number() }) })

let queue: ScratchQueue
beforeEach(async () => {
  queue = await scratchQueue()
})
afterEach(() => queue.close())

async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(AssertionError)
  return (error as AssertionError).message
}

describe('what is enqueued', () => {
  test('is listed in order, typed by its type, with everything a test may ask', async () => {
    await queue.holdfast.enqueue(sendEmail, { to: 'ada@example.com' }, { priority: 7, idempotencyKey: 'k' })
    await queue.holdfast.enqueue(sendEmail, { to: 'bob@example.com' }, { delay: '1h' })
    await queue.holdfast.enqueue(resize, { width: 100 })
    const emails = await queue.enqueued(sendEmail)
    const to: string[] = emails.map((job) => job.payload.to)
    expect(to).toEqual(['ada@example.com', 'bob@example.com'])
    expect(emails).toMatchObject([
      { status: 'pending', priority: 7, idempotencyKey: 'k', attempt: 1, lane: 'default' },
      { status: 'scheduled', idempotencyKey: null },
    ])
    expect((await queue.enqueued()).map((job) => job.type)).toEqual(['send_email', 'send_email', 'resize'])
    expect(await queue.enqueued('resize')).toHaveLength(1)
    // @ts-expect-error A payload has the fields of its schema and no others.
    emails.map((job) => job.payload.subject)
  })

  test('is no longer what has come to an end, and still what waits for its retry', async () => {
    const runnable = defineType({
      type: 'runnable',
      run(payload) {
        if (payload === 'fails') throw new Error('once')
      },
    })
    await queue.holdfast.enqueueMany([runnable.job('fails'), runnable.job('works')])
    await queue.drain([runnable])
    expect(await queue.enqueued(runnable)).toMatchObject([{ payload: 'fails', status: 'failed', attempt: 2 }])
  })
})

describe('asserting that a job is enqueued', () => {
  test('answers with the jobs that fit a part of the payload', async () => {
    await queue.holdfast.enqueue(sendEmail, { to: 'ada@example.com', tags: ['a', 'b'] })
    const [job] = await queue.assertEnqueued(sendEmail, { tags: ['a', 'b'] })
    expect(job?.payload).toEqual({ to: 'ada@example.com', tags: ['a', 'b'] })
    await queue.assertEnqueued('send_email')
    // @ts-expect-error The compiler knows the fields of the payload.
    await expect(queue.assertEnqueued(sendEmail, { subject: 'hello' })).rejects.toThrow(AssertionError)
  })

  test('fails with a list of what there is instead', async () => {
    await queue.holdfast.enqueue(sendEmail, { to: 'bob@example.com' }, { idempotencyKey: 'welcome:bob' })
    await queue.holdfast.enqueue(resize, { width: 100 }, { delay: '2h' })
    const message = await messageOf(queue.assertEnqueued(sendEmail, { to: 'ada@example.com' }))
    expect(message).toContain("expected a job send_email with { to: 'ada@example.com' } in its payload, but there is none")
    expect(message).toContain("send_email pending, priority 5, key 'welcome:bob': { to: 'bob@example.com' }")
    expect(message).toMatch(/resize scheduled, due \S+Z \(2h after it was enqueued\), priority 5: { width: 100 }/)
  })

  test('fails on an empty queue in one line', async () => {
    expect(await messageOf(queue.assertEnqueued(resize))).toBe('expected a job resize, but there is none; the queue is empty')
  })

  test('counts exactly when asked to', async () => {
    await queue.holdfast.enqueueMany([1, 2].map((width) => resize.job({ width })))
    await queue.assertEnqueued(resize, undefined, { count: 2 })
    await queue.assertEnqueued(resize, { width: 3 }, { count: 0 })
    expect(await messageOf(queue.assertEnqueued(resize, {}, { count: 1 }))).toContain('expected exactly 1 job resize')
    expect(await messageOf(queue.assertEnqueued(resize, {}, { count: 3 }))).toContain('but there are 2')
  })

  test('looks at when it is due, at its priority and at its key', async () => {
    const runAt = new Date('2040-01-01T10:00:00Z')
    await queue.holdfast.enqueue(resize, { width: 1 }, { runAt, priority: 2 })
    await queue.holdfast.enqueue(resize, { width: 2 }, { delay: '90m', idempotencyKey: 'once' })
    await queue.assertEnqueued(resize, { width: 1 }, { runAt, priority: 2 })
    await queue.assertEnqueued(resize, { width: 2 }, { delay: '1h30m', idempotencyKey: 'once' })
    for (const wrong of [{ runAt: new Date() }, { delay: '90m' }, { priority: 5 }, { idempotencyKey: 'once' }]) {
      await expect(queue.assertEnqueued(resize, { width: 1 }, wrong)).rejects.toThrow('but there is none')
    }
    await expect(queue.assertEnqueued(resize, { width: 2 }, { delay: '89m' })).rejects.toThrow('delayed by 1h 29m')
  })

  test('shows at most twenty jobs and says how many more there are', async () => {
    await queue.holdfast.enqueueMany(Array.from({ length: 25 }, (_, width) => resize.job({ width })))
    const message = await messageOf(queue.assertEnqueued(sendEmail))
    expect(message).toContain('{ width: 19 }')
    expect(message).not.toContain('{ width: 20 }')
    expect(message).toContain('and 5 more')
  })
})

describe('inside an open transaction', () => {
  const sees = async (tx: Expectation['tx'] & {}) => {
    await queue.holdfast.enqueue(sendEmail, { to: 'ada@example.com', tags: ['€'] }, { tx, delay: '1h', idempotencyKey: 'k' })
    const [job] = await queue.assertEnqueued(sendEmail, { tags: ['€'] }, { tx, count: 1, delay: '1 hour', idempotencyKey: 'k' })
    expect(job?.payload).toEqual({ to: 'ada@example.com', tags: ['€'] })
    await queue.assertNotEnqueued(resize, undefined, { tx })
    await queue.assertNotEnqueued(sendEmail)
    throw new Error('rolled back')
  }

  test('sees the jobs of that transaction, and outside of it nobody does', async () => {
    const client = new pg.Client({ connectionString: queue.connectionString })
    await client.connect()
    await client.query('begin')
    await expect(sees(client)).rejects.toThrow('rolled back')
    await client.query('rollback')
    await queue.assertNotEnqueued(sendEmail)
    await client.end()
  })

  test('works with a client that reads columns its own way', async () => {
    const sql = postgres(queue.connectionString, { max: 1, onnotice: () => {} })
    await expect(sql.begin((tx) => sees(tx))).rejects.toThrow('rolled back')
    await sql.end()
    const db = new Kysely({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: queue.connectionString, max: 1 }) }),
    })
    await expect(db.transaction().execute((tx) => sees(tx))).rejects.toThrow('rolled back')
    await db.destroy()
  })
})

describe('asserting that a job is not enqueued', () => {
  test('passes when there is none that fits, and fails showing the one that does', async () => {
    await queue.holdfast.enqueue(resize, { width: 1 })
    await queue.assertNotEnqueued(resize, { width: 2 })
    await queue.assertNotEnqueued(sendEmail)
    const message = await messageOf(queue.assertNotEnqueued(resize, { width: 1 }))
    expect(message).toContain('expected no job resize with { width: 1 } in its payload, but there is 1')
  })
})
