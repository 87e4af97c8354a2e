import { Holdfast } from 'holdfast'
import { startWorker, type WorkerOptions } from 'holdfast/worker'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { quiet, serverPort, work } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

/** A pool of the test's own, with nothing set but its size: it waits for ever, and nobody listens for its errors. */
function makePool(database: ObservedDatabase, max: number, url = database.url): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, application_name: 'their own' })
  onTestFinished(() => pool.end())
  return pool
}

async function makeWorker(holdfast: Holdfast, types: Parameters<typeof startWorker>[1], options: WorkerOptions = {}) {
  const worker = await startWorker(holdfast, types, { logger: quiet, ...options })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return worker
}

const completed = (database: ObservedDatabase, count: number) =>
  eventually(async () => (await database.counts()).completed === count, { within: 60_000 })

describe.each([1, 2])('with a pool of %i', (connections) => {
  test('fifty handlers at once that all enqueue make progress', async () => {
    const database = await makeObservedDatabase()
    const holdfast = new Holdfast({ connectionString: database.url, connections })
    const type = work(async ({ depth }) => {
      if (depth > 0)
        await Promise.all([holdfast.enqueue(type, { depth: depth - 1 }), holdfast.enqueue(type, { depth: depth - 1 })])
    })
    await makeWorker(holdfast, [type], { concurrency: 50 })
    await holdfast.enqueueMany(Array(60).fill(type.job({ depth: 3 })))
    await completed(database, 60 * 15)
    const [row] = await database.sql(
      "select count(*)::integer as count from pg_stat_activity where datname = $1 and application_name = 'holdfast'",
      [database.name],
    )
    expect(row?.count).toBeLessThanOrEqual(connections)
  }, 90_000)
})

test('handlers that hold every connection of the pool can still enqueue in their transactions', async () => {
  const database = await makeObservedDatabase()
  const pool = makePool(database, 5)
  const holdfast = new Holdfast({ pool })
  const after = work(undefined, { type: 'after' })
  const other = new Holdfast({ connectionString: database.url })
  await other.registerTypes([after], { update: true })
  await other.close()
  let holding = 0
  const type = work(async () => {
    const tx = await pool.connect()
    holding += 1
    try {
      await eventually(() => holding === 5)
      await tx.query('begin')
      await holdfast.enqueue(after, {}, { tx })
      await tx.query('commit')
    } finally {
      tx.release()
    }
  })
  await makeWorker(holdfast, [type], { concurrency: 5 })
  const producer = new Holdfast({ connectionString: database.url })
  onTestFinished(() => producer.close())
  await producer.enqueueMany(Array(5).fill(type.job({})))
  await completed(database, 5)
  expect([...(await database.endings()).values()]).toEqual(Array(5).fill(['completed']))
  expect((await database.counts()).pending).toBe(5)
}, 90_000)

test('a pool whose connections are all held by others, and which waits for ever, gives a clear error in time', async () => {
  const database = await makeObservedDatabase()
  const pool = makePool(database, 1)
  const holdfast = new Holdfast({ pool, statementTimeout: '500ms' })
  await holdfast.enqueue(work(), {})
  const holder = await pool.connect()
  const begun = performance.now()
  await expect(holdfast.enqueue(work(), {})).rejects.toMatchObject({ code: 'database_unavailable' })
  expect(performance.now() - begun).toBeLessThan(2 * 5_500 + 3_000)
  holder.release()
  expect((await holdfast.enqueue(work(), {})).status).toBe('created')
  expect((await database.counts()).pending).toBe(2)
}, 60_000)

test("a caller's pool survives the end of all its connections, is given back as it was, and is never closed", async () => {
  const database = await makeObservedDatabase()
  const pool = makePool(database, 3)
  const holdfast = new Holdfast({ pool })
  const escaped: Error[] = []
  const notice = (error: Error) => void escaped.push(error)
  process.on('uncaughtExceptionMonitor', notice)
  onTestFinished(() => void process.off('uncaughtExceptionMonitor', notice))
  const worker = await startWorker(holdfast, [work()], { logger: quiet })
  for (let round = 1; round <= 5; round++) {
    await holdfast.enqueue('work', {})
    await completed(database, round)
    // Idle and in use alike. Each is an error event, which ends a process where nobody listens.
    await database.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'their own'",
      [database.name],
    )
  }
  await worker.stop()
  await holdfast.close()
  expect(escaped).toEqual([])
  expect(pool.ended).toBe(false)
  expect(pool.listenerCount('error')).toBe(0)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  expect(pool.totalCount).toBe(pool.idleCount)
}, 60_000)

test("a caller's pool into silence does not keep an enqueue waiting for ever", async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const pool = makePool(database, 2, proxy.through(database.url))
  pool.on('error', () => {})
  const holdfast = new Holdfast({ pool, statementTimeout: '1s', retryEnqueueFor: 0 })
  proxy.silence()
  await expect(holdfast.enqueue(work(), {})).rejects.toMatchObject({ code: 'database_unavailable' })
  proxy.cut()
  await proxy.heal()
  expect((await holdfast.enqueue(work(), {})).status).toBe('created')
}, 60_000)

test('a pool that cannot be handed to the heartbeat thread is refused with a reason, and nothing of the worker is left', async () => {
  const database = await makeObservedDatabase()
  const { hostname, port, username, password, pathname } = new URL(database.url)
  const pool = new pg.Pool({
    host: hostname,
    port: Number(port),
    user: username,
    database: pathname.slice(1),
    password: async () => password,
  })
  onTestFinished(() => pool.end())
  const holdfast = new Holdfast({ pool })
  const refusal = { code: 'invalid_configuration', message: expect.stringContaining('function') }
  const errors: object[] = []
  const logger = { ...quiet, error: (fields: object) => void errors.push(fields) }
  const guards = process.listenerCount('uncaughtException')
  await expect(startWorker(holdfast, [work()], { logger })).rejects.toMatchObject(refusal)
  expect(errors).toEqual([{ part: 'heartbeat', error: expect.stringContaining('function') }])
  expect(process.listenerCount('uncaughtException')).toBe(guards)
  expect(await database.sql('select from holdfast.workers where stopped_at is null')).toEqual([])
}, 60_000)

test('after close nothing is left open, and the process ends by itself', async () => {
  const database = await makeObservedDatabase()
  const fleet = await startFleet({ holdfast: { connectionString: database.url }, worker: { concurrency: 20 }, workers: 2 })
  const producer = new Holdfast({ connectionString: database.url })
  await producer.enqueueMany(Array(200).fill({ type: 'work', payload: { spawn: 1 } }))
  await completed(database, 400)
  await producer.close()
  expect(await fleet.stop()).toBe(0)
  const left = "select application_name from pg_stat_activity where datname = $1 and application_name like 'holdfast%'"
  expect(await database.sql(left, [database.name])).toEqual([])
  await producer.close()
}, 90_000)
