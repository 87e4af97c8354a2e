import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type Fleet, startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { sized } from '../support/sized.js'
import { serverPort } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

const everyBackend =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name like 'holdfast%'"

const connections = sized({ sample: 100, whole: 300 })

test(`${connections} connections ended at any moment end no process, lose no job and run none twice without saying why`, async () => {
  const database = await makeObservedDatabase()
  // A connection lives for too short a time to wait for: another try soon is worth more than one that comes after a rest.
  const connection = { connectionString: database.url, retryEnqueueFor: 0 }
  const settings = {
    holdfast: connection,
    worker: { concurrency: 10, lease: '5s', unsafe: true },
  } as const
  const fleets: Fleet[] = await Promise.all([startFleet(settings), startFleet(settings)])
  const producer = new Holdfast(connection)
  onTestFinished(() => producer.close())

  const acknowledged: string[] = []
  let ended = 0
  // On a slow machine a connection lives long enough to be ended only a few times a second: the jobs are counted as well.
  const enough = () => ended >= connections && acknowledged.length > 100
  const produce = async () => {
    while (!enough()) {
      try {
        const jobs = await producer.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'work', payload: { ms: 5, spawn: 1 } })))
        acknowledged.push(...jobs.map((job) => job.id))
      } catch (error) {
        // Four tries in a row met their end. It is said clearly, and nothing is claimed to be stored.
        expect(error).toMatchObject({ code: 'database_unavailable' })
      }
      await pause(Math.random() * 20)
    }
  }
  const terminate = async () => {
    while (!enough()) {
      await pause(Math.random() * 100)
      ended += (await database.sql(everyBackend, [database.name])).length
    }
  }
  await Promise.all([produce(), produce(), terminate()])

  const statuses = await eventually(
    async () => {
      const counts = await database.counts()
      return Object.keys(counts).join() === 'completed' && counts
    },
    { within: 90_000 },
  )
  expect(fleets.map((fleet) => [fleet.alive, fleet.complaints()])).toEqual(fleets.map(() => [true, '']))
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(statuses.completed).toBeGreaterThanOrEqual(acknowledged.length)

  const endings = await database.endings()
  const missing = acknowledged.filter((id) => !endings.has(id))
  expect(missing).toEqual([])
  const executions = new Map<string, number>()
  for (const job of fleets.flatMap((fleet) => fleet.started())) executions.set(job, (executions.get(job) ?? 0) + 1)
  for (const [id, outcomes] of endings) {
    // An enqueue inside a handler may be refused as well; then the attempt failed, and says so.
    expect(outcomes.filter((outcome) => outcome === 'completed')).toHaveLength(1)
    expect(executions.get(id)).toBeLessThanOrEqual(outcomes.length)
  }
  const lapsed = [...endings.values()].flat().filter((outcome) => outcome === 'lease_expired').length
  // The answer to a claim is lost more often than this; the worker finds out and hands such jobs back.
  expect(lapsed).toBeLessThan(endings.size / 20)
  expect(await Promise.all(fleets.map((fleet) => fleet.stop()))).toEqual([0, 0])
}, 180_000)

/** A worker whose answers can be lost on the way, and a producer that goes straight to the database. */
async function fleetBehindAProxy() {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const holdfast = { connectionString: proxy.through(database.url), statementTimeout: '1s' } as const
  const fleet = await startFleet({ holdfast, worker: { concurrency: 10 } })
  const producer = new Holdfast({ connectionString: database.url })
  onTestFinished(() => producer.close())
  return { database, proxy, fleet, producer }
}

test('the jobs of a claim whose answer never came are free again at once, with no attempt spent', async () => {
  const { database, proxy, fleet, producer } = await fleetBehindAProxy()
  proxy.loseAnswersTo('claimJobs')
  const jobs = await producer.enqueueMany(Array(5).fill({ type: 'work', payload: {}, maxAttempts: 1 }))
  // One where the worker had asked before in vain: then it takes a single job until it is answered again.
  await eventually(async () => ((await database.counts()).processing ?? 0) > 0)
  expect(fleet.started()).toEqual([])
  proxy.loseAnswersTo(undefined)

  await eventually(async () => (await database.counts()).completed === 5)
  const endings = await database.endings()
  expect(jobs.map(({ id }) => endings.get(id))).toEqual(Array(5).fill(['completed']))
  expect(fleet.started()).toHaveLength(5)
  expect(await database.sql('select from holdfast.leases')).toEqual([])
}, 60_000)

test('a result whose acknowledgement never came is written once', async () => {
  const { database, proxy, fleet, producer } = await fleetBehindAProxy()
  proxy.loseAnswersTo('settleJobs')
  await producer.enqueueMany(Array(5).fill({ type: 'work', payload: {} }))
  await eventually(async () => (await database.counts()).completed === 5)
  expect((await fleet.health()).unwritten).toBeGreaterThan(0)
  proxy.loseAnswersTo(undefined)
  await eventually(async () => (await fleet.health()).unwritten === 0)
  expect([...(await database.endings()).values()]).toEqual(Array(5).fill(['completed']))
  expect(await database.sql('select from holdfast.leases')).toEqual([])
}, 60_000)
