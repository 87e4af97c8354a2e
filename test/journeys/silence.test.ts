import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, HoldfastError } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { quiet, serverPort, work } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

/** One try: five seconds to connect and one statement. A producer waits for two at most. */
const oneTryMs = 5_000 + 1_000

test('a worker cut off without a word finishes what it runs, and claims, settles, beats and hears again after the heal', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const fleet = await startFleet({
    holdfast: { connectionString: proxy.through(database.url), statementTimeout: '2s' },
    worker: { concurrency: 10, poll: '60s', lease: '20s', unsafe: true },
  })
  const producer = new Holdfast({ connectionString: database.url })
  await producer.enqueueMany(Array(10).fill({ type: 'work', payload: { gate: 'silence' } }))
  await eventually(() => fleet.started().length === 10)

  const backend = async (name: string): Promise<number> => {
    const text = 'select pid from pg_stat_activity where datname = $1 and application_name like $2 order by backend_start desc'
    return (await database.sql(text, [database.name, name]))[0]?.pid
  }
  const listener = await backend('holdfast listener')
  proxy.silence()
  fleet.open('silence')
  await eventually(async () => (await fleet.health()).unwritten === 10)
  await eventually(() => fleet.said.some((line) => line.said === 'database.away'))
  await proxy.heal()

  await eventually(async () => (await database.counts()).completed === 10)
  expect([...(await database.endings()).values()]).toEqual(Array(10).fill(['completed']))
  // The server still has the lost connection; the worker has made a new one, and beats over it.
  await eventually(async () => (await backend('holdfast listener')) !== listener)
  const [beats] = await database.sql('select max(seen_at)::text as at from holdfast.workers')
  await eventually(async () => {
    const [row] = await database.sql('select max(seen_at) > $1::timestamptz as later from holdfast.workers', [beats?.at])
    return row?.later
  })
  // The chores go on as well.
  await database.sql(
    "insert into holdfast.leases values (nextval('holdfast.lease_seq'), 0, now(), now() - interval '1 hour', '{}')",
  )
  await eventually(async () => (await database.sql('select from holdfast.leases')).length === 0)
  // With a poll of a minute only a call can be what starts these.
  for (let round = 1; round <= 3; round++) {
    await producer.enqueue('work', {})
    await eventually(async () => (await database.counts()).completed === 10 + round, { within: 15_000 })
  }
  expect(fleet.alive).toBe(true)
  expect(await fleet.stop()).toBe(0)
  await producer.close()
}, 120_000)

test('an enqueue into silence fails within twice one try, and the next one after the heal takes a new connection', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const patience = { statementTimeout: '1s', retryEnqueueFor: 0 }
  const producer = new Holdfast({ connectionString: proxy.through(database.url), ...patience })
  onTestFinished(() => producer.close())
  await producer.enqueue(work(), {})
  const connections = proxy.attempts

  proxy.silence()
  const begun = performance.now()
  const failure = await producer.enqueue(work(), {}).catch((error) => error)
  expect(performance.now() - begun).toBeLessThan(2 * oneTryMs + 3_000)
  expect(failure).toBeInstanceOf(HoldfastError)
  expect(failure).toMatchObject({ code: 'database_unavailable', retryable: true })

  await proxy.heal()
  const healed = proxy.attempts
  expect(healed).toBeGreaterThan(connections)
  expect((await producer.enqueue(work(), {})).status).toBe('created')
  // One for the enqueue; the count of what waits may take another beside it.
  expect(proxy.attempts - healed).toBeGreaterThanOrEqual(1)
  expect(proxy.attempts - healed).toBeLessThanOrEqual(2)
}, 60_000)

test('of many silent connections one timeout is enough: the others are not tried one after the other', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const producer = new Holdfast({ connectionString: proxy.through(database.url), connections: 8, statementTimeout: '2s' })
  onTestFinished(() => producer.close())
  await Promise.all(Array.from({ length: 40 }, () => producer.enqueue(work(), {})))
  expect(proxy.open).toBe(8)

  proxy.silence(() => true)
  await proxy.heal()
  const begun = performance.now()
  expect((await producer.enqueue(work(), {})).status).toBe('created')
  // Eight timeouts would be sixteen seconds; the machine may be busy with other things.
  expect(performance.now() - begun).toBeLessThan(4 * 2_000)
  expect((await database.counts()).pending).toBe(41)
}, 60_000)

test('statements that outlive their timeout leave no second job behind, and their connections are not used again', async () => {
  const database = await makeObservedDatabase()
  const producer = new Holdfast({ connectionString: database.url, statementTimeout: '500ms' })
  onTestFinished(() => producer.close())
  await producer.enqueue(work(), {})
  const ours = async () => {
    const text = "select pid from pg_stat_activity where datname = $1 and application_name = 'holdfast'"
    return (await database.sql(text, [database.name])).map((row) => row.pid)
  }
  const waiting = "select pid from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'"
  const blocker = await database.connect()
  // Whether the try that still counts meets an earlier one at its commit is chance; so, several times.
  for (let round = 1; round <= 5; round++) {
    await blocker.query('begin; lock table holdfast.queue in exclusive mode')
    const enqueuing = producer.enqueue(work(), {})
    // The try that was given up goes on at the server, beside the one that counts.
    await eventually(async () => (await database.sql(waiting, [database.name])).length >= 2)
    const stuck = (await database.sql(waiting, [database.name])).map((row) => row.pid)
    await blocker.query('commit')
    const { id, status } = await enqueuing
    expect(status).toBe('created')
    await eventually(async () => (await database.sql(waiting, [database.name])).length === 0)
    expect(await database.sql('select id::text from holdfast.jobs where id = $1', [id])).toEqual([{ id }])
    expect((await database.counts()).pending).toBe(1 + round)
    // The one that counts is used again, those that were given up are not.
    const after = await ours()
    expect(stuck.filter((pid) => after.includes(pid)).length).toBeLessThanOrEqual(1)
  }
}, 90_000)

test('stopping and closing come to an end in silence, and so does the process', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const holdfast = { connectionString: proxy.through(database.url), statementTimeout: '1s' } as const
  const fleet = await startFleet({ holdfast, worker: { drain: '1s' } })
  const producer = new Holdfast({ connectionString: database.url })
  await producer.enqueueMany(Array(4).fill({ type: 'work', payload: {} }))
  await eventually(async () => (await database.counts()).completed === 4)
  await producer.close()
  proxy.silence()
  expect(await fleet.stop()).toBe(0)
}, 60_000)

test('a worker in silence is not well, whatever part of it is asked', async () => {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const holdfast = new Holdfast({ connectionString: proxy.through(database.url), statementTimeout: '1s' })
  const worker = await startWorker(holdfast, [work()], { logger: quiet, lease: '4s', unsafe: true, unhealthyAfter: '3s' })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  expect(worker.health().status).toBe('ok')
  proxy.silence()
  await eventually(() => worker.health().status === 'unhealthy')
  for (let look = 0; look < 30; look++) {
    expect(worker.health().status).toBe('unhealthy')
    await pause(100)
  }
  await proxy.heal()
  await eventually(() => worker.health().status === 'ok')
}, 60_000)
