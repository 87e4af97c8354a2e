import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type AnyJobType, Holdfast } from 'holdfast'
import { startWorker, type WorkerOptions } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { sized } from '../support/sized.js'
import { quiet, serverPort, work } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

/** No job here may wait for the poll of a minute. */
const soon = { within: 20_000 }
/**
 * A worker that has lain down looks again by itself, but each time after twice as long: not even ten times in these seconds.
 * Whatever starts this often, one after the other, was called for.
 */
const often = sized({ sample: 15, whole: 25 })
const oftenWithin = 30_000

async function makeWorker(database: ObservedDatabase, types: AnyJobType[], options: WorkerOptions = {}, url = database.url) {
  const holdfast = new Holdfast({ connectionString: url })
  const worker = await startWorker(holdfast, types, { logger: quiet, poll: '60s', ...options })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return { holdfast, worker }
}

const idleWorkers = async (database: ObservedDatabase) => (await database.sql('select from holdfast.idle_workers')).length
const becomesIdle = (database: ObservedDatabase) => eventually(async () => (await idleWorkers(database)) > 0)
const completed = (database: ObservedDatabase, count: number) =>
  eventually(async () => (await database.counts()).completed === count, soon)

test('an idle worker starts a job when it is enqueued, however it is enqueued', async () => {
  const database = await makeObservedDatabase()
  const { holdfast } = await makeWorker(database, [work()])
  await becomesIdle(database)
  const one = () => holdfast.enqueue('work', {})
  const inSql = () => database.sql("select holdfast.enqueue('work', '{}')")
  // Enough for several statements in one transaction.
  const many = () => holdfast.enqueueMany(Array(5_001).fill({ type: 'work', payload: {} }))
  let expected = 0
  for (const { way, size, times } of [
    { way: one, size: 1, times: often },
    { way: inSql, size: 1, times: often },
    { way: many, size: 5_001, times: sized({ sample: 1, whole: 2 }) },
  ]) {
    const begun = performance.now()
    for (let n = 0; n < times; n++) {
      await way()
      expected += size
      await completed(database, expected)
    }
    expect(performance.now() - begun).toBeLessThan(oftenWithin)
  }
  await holdfast.enqueue('work', {}, { delay: '1s' })
  await completed(database, expected + 1)
}, 120_000)

test('a job enqueued in a transaction that commits late starts with the commit, also when it was due meanwhile', async () => {
  const database = await makeObservedDatabase()
  const { holdfast } = await makeWorker(database, [work()])
  const client = await database.connect()
  await becomesIdle(database)
  const begun = performance.now()
  for (let n = 1; n <= often; n++) {
    await client.query('begin')
    await holdfast.enqueue('work', {}, { tx: client, ...(n % 2 ? { delay: '50ms' } : {}) })
    await pause(100)
    await client.query('commit')
    await completed(database, n)
  }
  expect(performance.now() - begun).toBeLessThan(oftenWithin)
}, 60_000)

test('a producer that looked for idle workers before this one subscribed, and commits after, is not missed', async () => {
  const database = await makeObservedDatabase()
  await slowDownCommits(database, '2.5')
  let finish: () => void = () => {}
  const blocked = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { holdfast } = await makeWorker(database, [work(({ wait }) => (wait ? blocked : undefined))], { concurrency: 1 })
  await holdfast.enqueue('work', { wait: true })
  await eventually(async () => (await database.counts()).processing === 1 && (await idleWorkers(database)) === 0)
  const enqueuing = holdfast.enqueue('work', {}, { priority: 7 })
  await eventually(async () => (await database.sql("select from pg_stat_activity where wait_event = 'PgSleep'")).length > 0)
  // The worker becomes idle a second after its last work.
  finish()
  await becomesIdle(database)
  expect((await database.counts()).completed).toBe(1)
  await enqueuing
  await completed(database, 2)
}, 60_000)

test('a job that is enqueued while workers become idle does not wait for the poll', async () => {
  const database = await makeObservedDatabase()
  await slowDownCommits(database, '0.15 * random()')
  const lanes = Array.from({ length: sized({ sample: 2, whole: 4 }) }, (_, n) => `lane-${n}`)
  await database.sql('insert into holdfast.lanes (name) select unnest($1::text[])', [lanes])
  await Promise.all(
    lanes.map(async (lane) => {
      const { holdfast, worker } = await makeWorker(database, [work(undefined, { type: lane, lane })], { concurrency: 100 })
      const isIdle = async () =>
        (await database.sql('select from holdfast.idle_workers where worker_id = $1', [worker.id])).length > 0
      for (let round = 0; round < sized({ sample: 3, whole: 8 }); round++) {
        // Notified more than fifty times a second it unsubscribes, and becomes idle again a second after its last work. Jobs with a key
        // are stored one by one; others would share a transaction, and a few notifications.
        do await Promise.all(Array.from({ length: 100 }, () => holdfast.enqueue(lane, {}, { idempotencyKey: randomUUID() })))
        while (await isIdle())
        await pause(850 + Math.random() * 300)
        const { id } = await holdfast.enqueue(lane, {}, { priority: 7 })
        await eventually(async () => (await holdfast.job(id))?.status === 'completed', soon)
      }
    }),
  )
}, 120_000)

test('a job that was committed out of turn, behind the place the worker has read to, is found when it calls', async () => {
  const database = await makeObservedDatabase()
  await makeWorker(database, [work()])
  const [first, second] = [await database.connect(), await database.connect()]
  await becomesIdle(database)
  const begun = performance.now()
  for (let n = 1; n <= often; n++) {
    for (const client of [first, second]) await client.query("begin; select holdfast.enqueue('work', '{}')")
    // The second in line first, and the other one right after: the worker has just read past it and found nothing more.
    await second.query('commit')
    await pause(Math.random() * 20)
    await first.query('commit')
    await completed(database, 2 * n)
  }
  expect(performance.now() - begun).toBeLessThan(oftenWithin)
}, 60_000)

test('jobs handed back by a worker that stops start elsewhere by a call', async () => {
  const database = await makeObservedDatabase()
  const types = [work(({ ms }, { signal }) => ms && pause(ms, undefined, { signal }))]
  const { holdfast, worker } = await makeWorker(database, types, { drain: '0s' })
  await holdfast.enqueueMany(Array(5).fill({ type: 'work', payload: { ms: 3_600_000 } }))
  await eventually(async () => (await database.counts()).processing === 5)
  await makeWorker(database, [work()])
  await eventually(async () => (await idleWorkers(database)) > 0)
  await worker.stop()
  await completed(database, 5)
}, 60_000)

test('a killed listener is made again; until then and after that jobs start', async () => {
  const database = await makeObservedDatabase()
  const { holdfast } = await makeWorker(database, [work()])
  for (let round = 0; round < sized({ sample: 4, whole: 10 }); round++) {
    await becomesIdle(database)
    const ended = await eventually(async () => {
      const text =
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'holdfast listener'"
      const rows = await database.sql(text, [database.name])
      return rows.length > 0 && rows.length
    })
    expect(ended).toBe(1)
    await holdfast.enqueue('work', {})
    await completed(database, round + 1)
  }
}, 90_000)

test('a listener that hears nothing any more without knowing is found out and made again', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  await makeWorker(database, [work()], {}, proxy.through(database.url))
  const producer = new Holdfast({ connectionString: database.url })
  onTestFinished(() => producer.close())
  const listener = async () => {
    const text = `select pid from pg_stat_activity where datname = $1 and application_name = 'holdfast listener'
                  order by backend_start desc`
    return (await database.sql(text, [database.name]))[0]?.pid
  }
  await becomesIdle(database)
  const silenced = await listener()
  proxy.silence((opening) => opening.includes('holdfast listener'))
  await producer.enqueue('work', {})
  await completed(database, 1)
  // Ten seconds to the next question, five for the answer, and the time to connect.
  await eventually(async () => (await listener()) !== silenced, { within: 60_000 })
  const begun = performance.now()
  for (let n = 2; n <= often; n++) {
    await producer.enqueue('work', {})
    await completed(database, n)
  }
  expect(performance.now() - begun).toBeLessThan(oftenWithin)
}, 120_000)

test('a idle worker that died is struck out, and one that was only taken for dead says again that it is idle', async () => {
  const database = await makeObservedDatabase()
  const { worker } = await makeWorker(database, [work()], { poll: '1s' })
  await becomesIdle(database)
  const dead =
    "insert into holdfast.workers (name, host, pid, version, seen_at) values ('dead', '', 1, '', now() - interval '1 hour')"
  await database.sql(`with dead as (${dead} returning id) insert into holdfast.idle_workers select 1, id from dead`)
  await database.sql('delete from holdfast.idle_workers where worker_id = $1', [worker.id])
  // Every worker looks for dead idle workers when it starts.
  await makeWorker(database, [work()])
  const standing = 'select w.id, w.name from holdfast.idle_workers as s join holdfast.workers as w on w.id = s.worker_id'
  await eventually(
    async () => {
      const rows = await database.sql(standing)
      return rows.some(({ id }) => id === worker.id) && !rows.some(({ name }) => name === 'dead')
    },
    // It says so every twenty seconds.
    { within: 60_000 },
  )
}, 90_000)

/** Jobs of priority 7: stretches the moment between the producer's look for idle workers and its commit, else too short to hit. */
async function slowDownCommits(database: ObservedDatabase, seconds: string): Promise<void> {
  await database.sql(`
    create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(${seconds}); return null; end';
    create constraint trigger slow_commit after insert on holdfast.queue deferrable initially deferred
      for each row when (new.priority = 7) execute function slow()`)
}
