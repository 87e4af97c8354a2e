import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const patiently = { timeout: 60_000, interval: 50 }

let queue: ScratchQueue
beforeEach(async () => {
  queue = await scratchQueue()
})
afterEach(() => queue.close())

async function completed(type: string): Promise<number> {
  const counts = await insideOf(queue.holdfast).store.inspect.countByStatus()
  return counts.find((row) => row.type === type && row.status === 'completed')?.count ?? 0
}

describe.each([1, 2])('with %i connection(s) and 50 handlers at once', (connections) => {
  test('handlers that enqueue make progress', async () => {
    const holdfast = new Holdfast({ connectionString: queue.connectionString, connections })
    const child = defineType({ type: 'child', run() {} })
    const parent = defineType({
      type: 'parent',
      async run(n: unknown) {
        await Promise.all([1, 2].map((twin) => holdfast.enqueue(child, { n, twin })))
      },
    })
    await holdfast.enqueueMany(Array.from({ length: 300 }, (_, n) => parent.job(n)))
    const worker = await startWorker(holdfast, [parent, child], { concurrency: 50, logger: quiet })
    await vi.waitFor(async () => expect(await completed('child')).toBe(600), patiently)
    expect(await completed('parent')).toBe(300)
    await worker.stop()
    await holdfast.close()
  }, 90_000)

  test("handlers that hold a connection of the worker's own pool while they enqueue make progress", async () => {
    const pool = new pg.Pool({ connectionString: queue.connectionString, max: connections })
    const holdfast = new Holdfast({ pool })
    const child = defineType({ type: 'child', run() {} })
    const parent = defineType({
      type: 'parent',
      async run(n: unknown) {
        const tx = await pool.connect()
        try {
          await tx.query('begin')
          await holdfast.enqueue(child, n, { tx })
          await tx.query('commit')
        } finally {
          tx.release()
        }
      },
    })
    await holdfast.enqueueMany(Array.from({ length: 200 }, (_, n) => parent.job(n)))
    const worker = await startWorker(holdfast, [parent, child], { concurrency: 50, logger: quiet })
    await vi.waitFor(async () => expect(await completed('child')).toBe(200), patiently)
    await worker.stop()
    await holdfast.close()
    await pool.end()
  }, 90_000)
})

describe('a transaction on the only connection of a pool', () => {
  test('can enqueue a type that another process registered, though this one never saw it', async () => {
    const known = defineType({ type: 'known' })
    await queue.holdfast.registerTypes([known])
    const pool = new pg.Pool({ connectionString: queue.connectionString, max: 1 })
    const holdfast = new Holdfast({ pool })
    const tx = await pool.connect()
    await tx.query('begin')
    expect((await holdfast.enqueue(known, 1, { tx })).status).toBe('created')
    await tx.query('commit')
    tx.release()
    await pool.end()
    await queue.assertEnqueued(known, 1)
  })

  test.each([
    ['to register a type that is new to the database', (tx: pg.PoolClient) => ({ tx })],
    ['that was not given to enqueue', () => ({})],
  ])(
    'is not waited for without end %s: the error says what is full',
    async (_why, options) => {
      const fresh = defineType({ type: 'fresh' })
      const pool = new pg.Pool({ connectionString: queue.connectionString, max: 1 })
      const holdfast = new Holdfast({ pool })
      const tx = await pool.connect()
      await tx.query('begin')
      await expect(holdfast.enqueue(fresh, 1, options(tx))).rejects.toMatchObject({
        code: 'database_unavailable',
        message: expect.stringContaining('the pool has 1 of at most 1 connections and none became free'),
      })
      await tx.query('rollback')
      tx.release()
      // The pool is as good as before: nobody is left waiting in it.
      expect((await holdfast.enqueue(fresh, 1)).status).toBe('created')
      expect(pool.waitingCount).toBe(0)
      await pool.end()
    },
    90_000,
  )
})
