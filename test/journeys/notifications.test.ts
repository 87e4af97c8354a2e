import { setTimeout as pause } from 'node:timers/promises'
import { type AnyJobType, Holdfast } from 'holdfast'
import { startWorker, type WorkerOptions } from 'holdfast/worker'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { quiet, work } from '../support/small-worker.js'

interface Ear {
  client: pg.Client
  /** What was said since the last time: each channel as often as it was notified. Nothing that was sent is still on its way. */
  heard(): Promise<string[]>
}

/** Hears what workers would hear, in the order of the commits. */
async function makeEar(database: ObservedDatabase): Promise<Ear> {
  const client = await database.connect()
  let notifications: pg.Notification[] = []
  client.on('notification', (one) => notifications.push(one))
  for (const { id } of await database.sql('select id from holdfast.lanes')) await client.query(`listen "holdfast.lane_${id}"`)
  await client.query('listen marker')
  return {
    client,
    async heard() {
      await database.sql('notify marker')
      await eventually(() => notifications.some(({ channel }) => channel === 'marker'))
      const lanes = notifications.filter(({ channel }) => channel !== 'marker')
      notifications = []
      // NOTIFY carries no data, ever: its payload is limited, and it is copied to everybody.
      expect(lanes.filter(({ payload }) => payload !== '')).toEqual([])
      return lanes.map(({ channel }) => channel)
    },
  }
}

async function makeWorker(database: ObservedDatabase, types: AnyJobType[], options: WorkerOptions = {}): Promise<Holdfast> {
  const holdfast = new Holdfast({ connectionString: database.url })
  const worker = await startWorker(holdfast, types, { logger: quiet, ...options })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return holdfast
}

const idleWorkers = async (database: ObservedDatabase) => (await database.sql('select from holdfast.idle_workers')).length

test('a transaction notifies each lane at most once, and sends no data', async () => {
  const database = await makeObservedDatabase()
  const types = [work(), work(undefined, { type: 'chat', lane: 'interactive' })]
  const holdfast = await makeWorker(database, types)
  const ear = await makeEar(database)
  await eventually(async () => (await idleWorkers(database)) === 2)
  const [first, second] = (
    await database.sql("select id from holdfast.lanes where name in ('default', 'interactive') order by id")
  ).map(({ id }) => `holdfast.lane_${id}`)

  await holdfast.enqueue('work', {})
  expect(await ear.heard()).toEqual([first])
  const client = await database.connect()
  await client.query('begin')
  for (const type of ['work', 'chat', 'work', 'chat', 'work']) await holdfast.enqueue(type, {}, { tx: client })
  await client.query("savepoint s; select holdfast.enqueue('work', '{}'); release s")
  expect(await ear.heard()).toEqual([])
  await client.query('commit')
  expect((await ear.heard()).sort()).toEqual([first, second].sort())

  await client.query('begin')
  await holdfast.enqueue('work', {}, { tx: client })
  await client.query('rollback')
  expect(await ear.heard()).toEqual([])
  // Several statements, one transaction.
  await holdfast.enqueueMany(Array(12_000).fill({ type: 'work', payload: {} }))
  expect(await ear.heard()).toEqual([first])
}, 60_000)

test('no notification is sent where no worker is idle', async () => {
  const database = await makeObservedDatabase()
  const ear = await makeEar(database)
  let finish: () => void = () => {}
  const blocked = new Promise<void>((resolve) => {
    finish = resolve
  })
  onTestFinished(() => finish())
  const holdfast = await makeWorker(database, [work(() => blocked)], { concurrency: 2, drain: '0s' })
  await eventually(async () => (await idleWorkers(database)) === 1)
  await holdfast.enqueueMany([1, 2].map(() => ({ type: 'work', payload: {} })))
  // Full for a second: it could not act on a notification.
  await eventually(async () => (await database.counts()).processing === 2 && (await idleWorkers(database)) === 0)
  expect(await ear.heard()).toHaveLength(1)
  for (let n = 0; n < 20; n++) await holdfast.enqueue('work', {})
  await holdfast.enqueue('work', {}, { delay: '1s' })
  expect(await ear.heard()).toEqual([])
}, 60_000)

test('a worker that does not listen asks for no notifications', async () => {
  const database = await makeObservedDatabase()
  const ear = await makeEar(database)
  const holdfast = await makeWorker(database, [work()], { listen: false })
  for (let n = 1; n <= 3; n++) {
    await holdfast.enqueue('work', {})
    await eventually(async () => (await database.counts()).completed === n)
  }
  // One that listens would become idle a second after its last work.
  await pause(2_000)
  await holdfast.enqueue('work', {})
  expect(await idleWorkers(database)).toBe(0)
  expect(await ear.heard()).toEqual([])
}, 60_000)

test('a retry or snooze that is due within moments notifies workers, a later one does not', async () => {
  const database = await makeObservedDatabase()
  const backoff = (attempt: number) => (attempt === 1 ? '1s' : '1h')
  const types = [
    work(
      () => {
        throw new Error('always')
      },
      { backoff, maxAttempts: 3 },
    ),
  ]
  const holdfast = await makeWorker(database, types)
  const ear = await makeEar(database)
  await eventually(async () => (await idleWorkers(database)) === 1)
  const { id } = await holdfast.enqueue('work', {})
  await eventually(async () => (await database.endings()).get(id)?.length === 2)
  // When it was enqueued, when it was put off by a second, and when that was over; not when it was put off by an hour.
  expect(await ear.heard()).toHaveLength(3)
}, 60_000)

test('the longest names and payloads never reach a notification', async () => {
  const database = await makeObservedDatabase()
  const lane = `l${'o'.repeat(61)}g`
  const type = 't'.repeat(200)
  await database.sql('insert into holdfast.lanes (name) values ($1)', [lane])
  const long = work(undefined, { type, lane })
  const holdfast = await makeWorker(database, [long])
  const ear = await makeEar(database)
  // In its own lane, and in that of the jobs that send webhooks.
  await eventually(async () => (await idleWorkers(database)) === 2)
  const payload = { text: 'x'.repeat(65_536 - '{"text":""}'.length) }
  await holdfast.enqueue(long, payload, { idempotencyKey: 'k'.repeat(500) })
  expect(await ear.heard()).toHaveLength(1)
  await eventually(async () => (await database.counts()).completed === 1)
  const nowhere = work(undefined, { type: 'nowhere', lane: 'l'.repeat(1_000) })
  await expect(holdfast.enqueue(nowhere, {})).rejects.toMatchObject({ code: 'unknown_lane' })
}, 60_000)
