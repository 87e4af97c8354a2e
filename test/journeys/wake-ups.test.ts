import { setTimeout as pause } from 'node:timers/promises'
import { type AnyJobType, defineType, Holdfast, type HoldfastOptions } from 'holdfast'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { startWorker, type Worker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { needs, whenInstalled } from '../support/programs.js'
import { startRedis } from '../support/redis.js'
import { adminKey } from '../support/serving.js'
import { quiet, work } from '../support/small-worker.js'

const soon = { within: 20_000 }
/** A worker that has been idle for so long polls again after as long, or a quarter less; a job that starts sooner was called for. */
const idleMs = 8_000
const beforeItsPoll = { within: 5_500 }

async function workerWith(settings: HoldfastOptions, types: AnyJobType[] = [work()]) {
  const holdfast = new Holdfast({ preparedStatements: false, ...settings })
  const warned: string[] = []
  const logger = { ...quiet, warn: (_: object, message: string) => void warned.push(message) }
  const worker = await startWorker(holdfast, types, { logger, poll: '60s', drain: 0 })
  for (const lane of await holdfast.flow.lanes()) await holdfast.flow.setLane(lane.name, { poll: '60s' }, { by: 'the test' })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return { holdfast, worker, warned }
}

/** What the worker says of how it hears; the server of a test warns of its settings too. */
const saysOfHearing = (worker: Worker) => (worker.health().warnings ?? []).filter((warning) => /Url|pooler/.test(warning))

const becomesIdle = (database: ObservedDatabase) =>
  eventually(async () => (await database.sql('select from holdfast.idle_workers')).length > 0)

async function startsWithoutAPoll(database: ObservedDatabase, enqueue: () => Promise<unknown>) {
  const { completed: before = 0 } = await database.counts()
  await pause(idleMs)
  await enqueue()
  await eventually(async () => (await database.counts()).completed === before + 1, beforeItsPoll)
}

whenInstalled(
  'pgbouncer',
  'behind PgBouncer with listenUrl, notifications arrive past it, and no statement goes there',
  async (program) => {
    const database = await makeObservedDatabase()
    const connectionString = await startPgBouncer(program, database.url, 4)
    const { holdfast, worker } = await workerWith({ connectionString, listenUrl: database.url })
    await becomesIdle(database)
    await startsWithoutAPoll(database, () => database.sql("select holdfast.enqueue('work', '{}')"))
    await holdfast.wait(await holdfast.enqueue('work', {}), { timeout: '20s' })
    expect(saysOfHearing(worker)).toEqual([])
    const listening = `select query from pg_stat_activity where datname = $1 and application_name = 'holdfast listener'`
    const said = (await database.sql(listening, [database.name])).map(({ query }) => query)
    // Of the worker and of the wait, and what they sent by way of the pooler to find out whether they hear it.
    expect(said.length).toBeGreaterThanOrEqual(2)
    for (const query of said) expect(query).not.toMatch(/\b(select|from|update|into) holdfast\./)
    const { findings } = await holdfast.doctor()
    expect(findings.map(({ code }) => code).filter((code) => code.startsWith('swallowed'))).toEqual([])
  },
  60_000,
)

test('a listenUrl of another database, or of nothing, is said in log, health and doctor, and no job waits for it', async () => {
  const [database, other] = [await makeObservedDatabase(), await makeObservedDatabase()]
  const nobody = new URL(database.url)
  nobody.port = '1'
  for (const [listenUrl, says] of [
    [other.url, /listenUrl does not hear what is sent in this database, so this worker polls/],
    [nobody.href, /listenUrl cannot be reached \(.*ECONNREFUSED.*\), so this worker polls/],
  ] as const) {
    const { holdfast, worker, warned } = await workerWith({ connectionString: database.url, listenUrl })
    await eventually(() => warned.some((message) => says.test(message)))
    expect(worker.health().status).toBe('ok')
    expect(saysOfHearing(worker)).toEqual([expect.stringMatching(says)])
    await eventually(async () => {
      const { findings } = await holdfast.doctor()
      const codes = findings.map(({ code }) => code)
      return codes.includes('swallowed_wake_ups') && codes.includes('swallowed_wake_ups_here')
    })
    await holdfast.enqueue('work', {})
    await eventually(async () => (await database.counts()).pending === undefined, soon)
    await worker.stop()
  }
}, 90_000)

whenInstalled(
  'redis-server',
  'with a Redis for wake-ups, jobs of the library and of HTTP start at once; its loss is said, and costs latency alone',
  async (program) => {
    const database = await makeObservedDatabase()
    const redis = await startRedis(program)
    const pgbouncer = needs('pgbouncer', 'a Redis that wakes workers behind PgBouncer')
    const connectionString = pgbouncer ? await startPgBouncer(pgbouncer, database.url, 4) : database.url
    const { holdfast, worker, warned } = await workerWith({ connectionString, wakeUrl: redis.url })
    await becomesIdle(database)
    await startsWithoutAPoll(database, () => holdfast.enqueue('work', {}))
    // A producer that knows no Redis must not count on it among the few of a large fleet that it calls.
    expect(await database.sql('select from holdfast.workers where own_channel')).toEqual([])

    const far = defineType({ type: 'far', run: () => {} })
    await holdfast.registerTypes([far])
    const server = createServer(holdfast, { adminKey, logger: quiet })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    const remote = await startRemoteWorker({ url, key: adminKey }, [far], { logger: quiet })
    onTestFinished(async () => {
      await remote.stop({ now: true })
      await server.close()
    })
    await eventually(async () => (await database.sql('select distinct worker_id from holdfast.idle_workers')).length === 2)
    await startsWithoutAPoll(database, () => holdfast.enqueue('far', {}))

    await redis.kill()
    await eventually(() =>
      warned.some((message) => /Redis of wakeUrl cannot be reached .* polls five times a second/.test(message)),
    )
    expect(worker.health().status).toBe('ok')
    expect(saysOfHearing(worker)).toHaveLength(1)
    await holdfast.enqueue('work', {})
    await eventually(async () => (await database.counts()).pending === undefined, soon)
    await redis.start()
    await eventually(() => saysOfHearing(worker).length === 0)
    await becomesIdle(database)
    await startsWithoutAPoll(database, () => holdfast.enqueue('work', {}))
    // No connection listens: behind the pooler none could.
    expect(
      await database.sql(`select from pg_stat_activity where datname = $1 and application_name = 'holdfast listener'`, [
        database.name,
      ]),
    ).toEqual([])
  },
  120_000,
)

test('addresses that are none, and two ways at once, are refused at start, without repeating a password', () => {
  const wrong = { connectionString: 'postgres://localhost/app', listenUrl: 'https://u:secret@host', wakeUrl: 'host:6379' }
  expect(() => new Holdfast(wrong)).toThrow(
    /listenUrl must be an address such as postgres:.*wakeUrl must be an address such as redis:/s,
  )
  expect(() => new Holdfast(wrong)).not.toThrow(/secret/)
  // What their drivers would refuse only where they connect: producers would never wake anybody, and say nothing.
  for (const more of [
    { wakeUrl: 'redis://:secret@host/jobs' },
    { wakeUrl: 'redis://:50%secret@host' },
    { readUrl: 'postgres://u:50%secret@host/app' },
  ]) {
    expect(() => new Holdfast({ connectionString: 'postgres://localhost/app', ...more })).toThrow(
      /Url must be an address such as [^%]*$/,
    )
  }
  const both = { connectionString: 'postgres://localhost/app', listenUrl: 'postgres://direct/app', wakeUrl: 'redis://host' }
  expect(() => new Holdfast(both)).toThrow(/wakeUrl is of no use beside listenUrl/)
})
