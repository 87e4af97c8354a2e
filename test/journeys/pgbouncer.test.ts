import { Holdfast } from 'holdfast'
import { expect, onTestFinished } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'

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
          for (const batch of await Promise.all([1, 2, 3].map(() => producer.enqueueMany(Array(500).fill(job))))) {
            enqueued.push(...batch.map(({ id }) => id))
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
  'a worker that listens through a pooler, where no call can arrive, still finds every job',
  async (program) => {
    const database = await makeObservedDatabase()
    const url = await startPgBouncer(program, database.url, 4)
    const holdfast = { connectionString: url, preparedStatements: false } as const
    await startFleet({ holdfast, worker: { poll: '1s' } })
    const producer = new Holdfast({ connectionString: database.url })
    onTestFinished(() => producer.close())
    for (let n = 1; n <= 5; n++) {
      await producer.enqueue('work', {})
      await eventually(async () => (await database.counts()).completed === n)
    }
  },
  60_000,
)
