import { Holdfast } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const jobs = sized({ sample: 500, whole: 2_000 })
const workers = sized({ sample: 2, whole: 4 })

/** Each worker in a process of its own, as fleets are run. */
async function startWorkers(database: ObservedDatabase) {
  const settings = { holdfast: { connectionString: database.url }, worker: { concurrency: 10 } }
  return Promise.all(Array.from({ length: workers }, () => startFleet(settings)))
}

const connectionsOf = async ({ sql }: Pick<ObservedDatabase, 'sql'>, name = 'holdfast%'): Promise<number> =>
  (await sql('select from pg_stat_activity where datname = current_database() and application_name like $1', [name])).length

test('an idle worker has one connection, which also hears of new jobs, claims and beats', async () => {
  const database = await makeObservedDatabase()
  const fleet = await startWorkers(database)
  // It stays so while they poll and beat. On a busy machine two statements may meet, which opens another for ten seconds.
  let looks = 0
  await eventually(
    async () => {
      looks = (await connectionsOf(database)) === workers ? looks + 1 : 0
      return looks === 30
    },
    { within: 90_000, every: 100 },
  )
  const producer = new Holdfast({ connectionString: database.url })
  await producer.enqueue('work', {})
  await producer.close()
  await eventually(async () => (await database.counts()).completed === 1)
  expect(await connectionsOf(database)).toBeLessThanOrEqual(2 * workers)
  for (const worker of fleet) expect(await worker.stop()).toBe(0)
  expect(await connectionsOf(database)).toBe(0)
}, 180_000)

test('a busy worker has two', async () => {
  const database = await makeObservedDatabase()
  const producer = new Holdfast({ connectionString: database.url })
  const fleet = await startWorkers(database)
  await producer.enqueueMany(Array.from({ length: jobs }, () => ({ type: 'work', payload: { ms: 5 } })))
  await producer.close()
  const seen: number[] = []
  await eventually(
    async () => {
      seen.push(await connectionsOf(database))
      return (await database.counts()).completed === jobs
    },
    { within: 60_000 },
  )
  expect(Math.max(...seen)).toBeLessThanOrEqual(2 * workers)
  for (const worker of fleet) expect(await worker.stop()).toBe(0)
}, 120_000)

test('the heartbeat thread has a connection only while the event loop is blocked', async () => {
  const queue = await makeQueue()
  await queue.worker({ lease: '3s', concurrency: 1 })
  const heartbeats = () => connectionsOf(queue, 'holdfast heartbeat%')
  const { id } = await queue.holdfast.enqueue('work', { hold: queue.ledger.beside('go') })
  await eventually(() => queue.ledger.starts(id).length === 1)
  const [lease] = await queue.sql('select expires_at::text as at from holdfast.leases')
  await eventually(async () => (await queue.sql('select from holdfast.leases where expires_at > $1', [lease?.at])).length === 1)
  queue.ledger.open('go')
  const { id: blocking } = await queue.holdfast.enqueue('work', { busyMs: 6_000 })
  await eventually(async () => (await heartbeats()) === 1)
  await eventually(async () => (await queue.holdfast.job(blocking))?.status === 'completed')
  await eventually(async () => (await heartbeats()) === 0)
  expect((await queue.holdfast.job(blocking))?.attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
}, 60_000)
