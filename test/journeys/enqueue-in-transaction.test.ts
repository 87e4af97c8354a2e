import { type CallerTransaction, defineType, HoldfastError } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { clients, type OpenClient } from '../support/clients.js'
import { emptied } from '../support/emptied.js'

const quiet = { info() {}, warn() {}, error() {} }
const ran: unknown[] = []
const ship = defineType({
  type: 'ship_order',
  run(payload) {
    ran.push(payload)
  },
})

let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})
beforeEach(async () => {
  ran.length = 0
  await emptied(sql, 'bodies', 'queue', 'waiting', 'history', 'idempotency_keys')
})

/** Every row that an enqueue may leave, as another connection sees it. */
async function traces(): Promise<number> {
  const { rows } = await sql.query(`
    select (select count(*) from holdfast.bodies) + (select count(*) from holdfast.queue)
         + (select count(*) from holdfast.waiting) + (select count(*) from holdfast.idempotency_keys) as n`)
  return Number(rows[0].n)
}

describe.each(clients)('in a transaction of $name', ({ open }) => {
  let client: OpenClient
  beforeAll(async () => {
    client = await open(queue.connectionString)
  })
  afterAll(() => client?.close())

  const enqueue = (tx: CallerTransaction, payload: unknown, options = {}) =>
    queue.holdfast.enqueue(ship, payload, { ...options, tx })

  test('an enqueue that rolls back leaves nothing', async () => {
    const { status } = await client.transact(async (tx) => {
      await enqueue(tx, 'later', { delay: '1h' })
      return enqueue(tx, { order: 1 }, { idempotencyKey: 'order:1' })
    }, 'rollback')
    expect(status).toBe('created')
    expect(await traces()).toBe(0)
  })

  test('an enqueue that commits is seen by nobody before, is exactly the job after, and runs once', async () => {
    const payload = { order: 2, note: 'quotes " \' \\ {} and 漢字 🦀, $1 ? :name', nested: [null, true, 1.5, { a: [] }] }
    const { id } = await client.transact(async (tx) => {
      const answer = await enqueue(tx, payload, { idempotencyKey: 'order:2', priority: 8 })
      expect(await traces()).toBe(0)
      return answer
    }, 'commit')
    expect(await queue.enqueued(ship)).toMatchObject([{ id, payload, priority: 8, idempotencyKey: 'order:2' }])
    const { completed } = await queue.drain([ship])
    expect(completed.map((job) => job.id)).toEqual([id])
    expect(ran).toEqual([payload])
  })

  test('a second enqueue with the key is told of the first, whether it is committed or its own', async () => {
    const options = { idempotencyKey: 'order:3' }
    const first = await client.transact((tx) => enqueue(tx, 3, options), 'commit')
    const [second, own, again] = await client.transact(async (tx) => {
      const fresh = { idempotencyKey: 'order:4' }
      return [await enqueue(tx, 3, options), await enqueue(tx, 4, fresh), await enqueue(tx, 4, fresh)]
    }, 'commit')
    expect(second).toEqual({ id: first.id, status: 'existing' })
    expect(again).toEqual({ id: own?.id, status: 'existing' })
  })

  test('many jobs, more than fit one statement, roll back and commit as one', async () => {
    const requests = Array.from({ length: 5_001 }, (_, n) => ship.job(n, n % 2 ? { idempotencyKey: `many:${n}` } : {}))
    await client.transact((tx) => queue.holdfast.enqueueMany(requests, { tx }), 'rollback')
    expect(await traces()).toBe(0)
    const answers = await client.transact((tx) => queue.holdfast.enqueueMany(requests, { tx }), 'commit')
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(5_001)
    expect(await queue.enqueued(ship)).toHaveLength(5_001)
  }, 120_000)

  test('a type nobody registered is a HoldfastError that names the nearest, and keeps what the library said', async () => {
    const refused: unknown = await client
      .transact((tx) => queue.holdfast.enqueue('ship_ordre', 1, { tx }), 'commit')
      .catch((error) => error)
    expect(refused).toBeInstanceOf(HoldfastError)
    expect(refused).toMatchObject({
      code: 'unknown_type',
      message: 'no job type named "ship_ordre" is registered (did you mean "ship_order"?)',
      cause: expect.any(Error),
    })
    expect(await traces()).toBe(0)
  })

  test('what is wrong with the job is found before their transaction is touched', async () => {
    await client.transact(async (tx) => {
      await expect(enqueue(tx, { when: new Date() })).rejects.toMatchObject({ code: 'invalid_payload' })
      await expect(enqueue(tx, 1, { priority: 11 })).rejects.toMatchObject({ code: 'invalid_option' })
      await enqueue(tx, 'the transaction goes on')
    }, 'commit')
    expect(await queue.enqueued(ship)).toHaveLength(1)
  })
})

describe('a transaction', () => {
  test('wakes a sleeping worker when it commits, however long it was open', async () => {
    const worker = await startWorker(queue.holdfast, [ship], { logger: quiet, poll: '60s' })
    const becomesIdle = async () => (await sql.query('select from holdfast.idle_workers')).rowCount
    await vi.waitFor(async () => expect(await becomesIdle()).toBe(1), { timeout: 20_000, interval: 100 })
    const client = new pg.Client({ connectionString: queue.connectionString })
    await client.connect()
    await client.query('begin')
    await queue.holdfast.enqueue(ship, 'at last', { tx: client })
    expect(ran).toEqual([])
    await client.query('commit')
    // Its next look by itself is a minute away.
    await vi.waitFor(() => expect(ran).toEqual(['at last']), { timeout: 20_000, interval: 100 })
    await client.end()
    await worker.stop()
  })

  test('that took its snapshot before a type was first used is told to run again, and then succeeds', async () => {
    const unseen = defineType({ type: 'unseen_before' })
    const client = new pg.Client({ connectionString: queue.connectionString })
    await client.connect()
    const attempt = async () => {
      await client.query('begin isolation level repeatable read; select 1 from holdfast.types')
      return queue.holdfast.enqueue(unseen, 1, { tx: client })
    }
    await expect(attempt()).rejects.toMatchObject({
      code: 'unknown_type',
      message: expect.stringMatching(/registered after this transaction.*run it again/),
    })
    await client.query('rollback')
    expect((await attempt()).status).toBe('created')
    await client.query('commit')
    await client.end()
  })
})
