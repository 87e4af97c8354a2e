import { spawnSync } from 'node:child_process'
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'
import { quiet, work } from '../support/small-worker.js'

whenInstalled(
  'pgbouncer',
  'a whole fleet and its producers behind PgBouncer in transaction mode run every job once',
  async (program) => {
    const database = await makeObservedDatabase()
    const url = await startPgBouncer(program, database.url, 4)
    const holdfast = { connectionString: url, preparedStatements: false } as const
    const worker = { concurrency: 50, listen: false, lease: '4s', unsafe: true } as const
    const fleets = await Promise.all([startFleet({ holdfast, worker }), startFleet({ holdfast, worker })])
    const producers = [new Holdfast(holdfast), new Holdfast(holdfast)]
    onTestFinished(async () => void (await Promise.all(producers.map((producer) => producer.close()))))
    const job = { type: 'work', payload: {} }
    const ids = (
      await Promise.all(
        producers.map(async (producer) => {
          const enqueued: string[] = []
          for (let n = 0; n < 20; n++) enqueued.push((await producer.enqueue('work', { ms: 20, spawn: 1 })).id)
          for (const jobs of await Promise.all([1, 2, 3].map(() => producer.enqueueMany(Array(500).fill(job))))) {
            enqueued.push(...jobs.map(({ id }) => id))
          }
          // More than one statement, so a transaction that must stay on one session.
          enqueued.push(...(await producer.enqueueMany(Array(5_500).fill(job))).map(({ id }) => id))
          return enqueued
        }),
      )
    ).flat()
    // Longer than a lease: without heartbeats through the pooler this one would run twice.
    const [long] = await (producers[0] as Holdfast).enqueueMany([{ type: 'work', payload: { ms: 10_000 }, priority: 9 }])

    const total = ids.length + 40 + 1
    await eventually(async () => (await database.counts()).completed === total, { within: 90_000 })
    // What the processes say of it may come a moment later than what the database knows.
    await eventually(() => fleets.flatMap((fleet) => fleet.started()).length >= total)
    const started = fleets.flatMap((fleet) => fleet.started())
    expect(started).toHaveLength(total)
    expect(new Set(started).size).toBe(total)
    expect([...(await database.endings()).values()].filter((outcomes) => outcomes.join() !== 'completed')).toEqual([])
    expect(started).toContain(long?.id)
    expect(Math.min(...fleets.map((fleet) => fleet.started().length))).toBeGreaterThan(0)
    expect(await Promise.all(fleets.map((fleet) => fleet.stop()))).toEqual([0, 0])
  },
  180_000,
)

whenInstalled(
  'pgbouncer',
  'a worker that listens through a pooler, where no notification can arrive, finds every job, says so, and leaves no LISTEN behind',
  async (program) => {
    const database = await makeObservedDatabase()
    const url = await startPgBouncer(program, database.url, 4)
    const holdfast = new Holdfast({ connectionString: url, preparedStatements: false })
    const warned: string[] = []
    const logger = { ...quiet, warn: (_: object, message: string) => void warned.push(message) }
    const worker = await startWorker(holdfast, [work()], { logger, poll: '1s' })
    onTestFinished(async () => {
      await worker.stop()
      await holdfast.close()
    })
    await eventually(() => warned.some((message) => message.includes('listen: false')))
    expect(worker.health().warnings).toContainEqual(expect.stringContaining('pooler'))
    await eventually(async () => {
      const { findings } = await holdfast.doctor()
      const swallowed = findings.filter(({ code }) => code.startsWith('swallowed_wake_ups')).map(({ code }) => code)
      return swallowed.join() === 'swallowed_wake_ups,swallowed_wake_ups_here'
    })
    const producer = new Holdfast({ connectionString: database.url })
    onTestFinished(() => producer.close())
    for (let n = 1; n <= 5; n++) {
      await producer.enqueue('work', {})
      await eventually(async () => (await database.counts()).completed === n)
    }
    // Whoever borrows one of the pooler's backends hears no notifications of ours in it.
    const borrowers = await Promise.all(Array.from({ length: 4 }, () => connectTo(url)))
    for (const borrower of borrowers) await borrower.query('begin')
    const left = await Promise.all(borrowers.map((borrower) => borrower.query('select pg_listening_channels()')))
    expect(left.flatMap(({ rows }) => rows)).toEqual([])
  },
  60_000,
)

whenInstalled(
  'pgbouncer',
  'prepared statements behind a pooler that cannot keep them fail with the name of the option to set',
  async (program) => {
    const database = await makeObservedDatabase()
    const url = await startPgBouncer(program, database.url, 2)
    const direct = new Holdfast({ connectionString: database.url })
    await direct.registerTypes([work()])
    await direct.close()
    const holdfasts = Array.from({ length: 4 }, () => new Holdfast({ connectionString: url }))
    onTestFinished(async () => void (await Promise.all(holdfasts.map((one) => one.close()))))
    const refused: unknown[] = []
    // A pooler of a version that keeps them has nothing to refuse.
    const version = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout
    const [, minor = 0] = /(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? []
    for (let round = 0; round < 10; round++) {
      await Promise.all(holdfasts.map((one) => one.enqueue('work', {}).catch((error) => refused.push(error))))
    }
    if (minor >= 21) return
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) {
      expect(error).toMatchObject({
        code: 'invalid_configuration',
        message: expect.stringContaining('preparedStatements: false'),
      })
    }
  },
  60_000,
)

async function connectTo(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}
