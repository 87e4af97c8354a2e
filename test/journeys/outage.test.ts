import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { useOwnPostgres } from '../support/own-postgres.js'
import { startProxy } from '../support/tcp-proxy.js'

const postgres = useOwnPostgres()

/** A lease of 20 s beats every 5 s, so that 10 s is the shortest time after which health may say no. */
const patient = { concurrency: 20, lease: '20s', unsafe: true, unhealthyAfter: '10s' } as const

async function enqueueAt(url: string, gates: string[]): Promise<string[]> {
  const holdfast = new Holdfast({ connectionString: url })
  const jobs = await holdfast.enqueueMany(gates.map((gate) => ({ type: 'work', payload: { gate } })))
  await holdfast.close()
  return jobs.map((job) => job.id)
}

test('a worker whose Postgres is stopped and started again goes on with what it runs, keeps the results, and works again by itself', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const proxy = await startProxy(postgres.port)
  const fleet = await startFleet({ holdfast: { connectionString: proxy.through(database.url) }, worker: patient })
  const jobs = await enqueueAt(database.url, [...Array(10).fill('during'), ...Array(10).fill('after')])
  await eventually(() => fleet.started().length === 20)

  await postgres.stop('immediate')
  const stoppedAt = performance.now()
  const attemptsBefore = proxy.attempts
  fleet.open('during')
  await eventually(async () => (await fleet.health()).unwritten === 10)
  expect((await fleet.health()).running).toBe(10)

  const sick = await eventually(async () => {
    const health = await fleet.health()
    return health.status === 'unhealthy' && health
  })
  expect(sick.reason).toMatch(/^the database has taken no (claims|heartbeats|results) for \d+ s: ./)
  expect(performance.now() - stoppedAt).toBeGreaterThan(5_000)
  // Nothing is claimed now, so health must not waver.
  for (let look = 0; look < 20; look++) {
    expect((await fleet.health()).status).toBe('unhealthy')
    await pause(100)
  }
  const perSecond = ((proxy.attempts - attemptsBefore) / (performance.now() - stoppedAt)) * 1000
  expect(perSecond).toBeLessThan(6)

  await postgres.start()
  await eventually(async () => (await fleet.health()).status === 'ok')
  await eventually(async () => (await fleet.health()).unwritten === 0)
  fleet.open('after')
  await eventually(async () => (await database.counts()).completed === 20)
  const [late] = await enqueueAt(database.url, [''])
  await eventually(async () => (await database.counts()).completed === 21)

  expect(fleet.alive).toBe(true)
  expect(fleet.said.some((line) => line.said === 'database.back')).toBe(true)
  expect([...(await database.endings()).values()]).toEqual(Array(21).fill(['completed']))
  expect(fleet.started().sort()).toEqual([...jobs, late].sort())
}, 120_000)

test('an outage longer than the lease does not run again what was finished meanwhile, though some come back later than others', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const proxies = [await startProxy(postgres.port), await startProxy(postgres.port)]
  const fleets = await Promise.all(
    proxies.map((proxy) =>
      startFleet({
        holdfast: { connectionString: proxy.through(database.url), statementTimeout: '2s' },
        worker: { concurrency: 20, lease: '10s', unsafe: true },
      }),
    ),
  )
  const jobs = await enqueueAt(database.url, Array(40).fill('during'))
  const started = () => fleets.flatMap((fleet) => fleet.started())
  await eventually(() => started().length === 40)

  for (const proxy of proxies) {
    proxy.refuse()
    proxy.cut()
  }
  for (const fleet of fleets) fleet.open('during')
  await eventually(async () => {
    const healths = await Promise.all(fleets.map((fleet) => fleet.health()))
    return healths.reduce((sum, health) => sum + health.unwritten, 0) === 40
  })
  await eventually(async () => (await database.sql('select from holdfast.leases where expires_at > holdfast.now()')).length === 0)
  // Every lease has run out. The first to come back would find the other's within four seconds, if it did not wait.
  await proxies[0]?.heal()
  await eventually(async () => (await fleets[0]?.health())?.unwritten === 0)
  await pause(4_000)
  await proxies[1]?.heal()

  await eventually(async () => (await database.counts()).completed === 40)
  expect([...(await database.endings()).values()]).toEqual(Array(40).fill(['completed']))
  expect(started().sort()).toEqual(jobs.sort())
}, 120_000)

test('a host name that cannot be resolved for a while stops nobody for good, even while jobs fail', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const proxy = await startProxy(postgres.port)
  const url = new URL(proxy.through(database.url))
  url.hostname = 'database.test'
  const resolver = new URL('../support/switchable-resolver.mjs', import.meta.url).href
  const fleet = await startFleet({ holdfast: { connectionString: url.href }, worker: { concurrency: 8 } }, ['--import', resolver])
  const holdfast = new Holdfast({ connectionString: database.url })
  await holdfast.enqueueMany(Array(8).fill({ type: 'work', payload: { gate: 'away', fail: true }, maxAttempts: 2 }))
  await eventually(() => fleet.started().length === 8)

  process.kill(fleet.pid, 'SIGUSR2')
  await eventually(() => fleet.said.some((line) => line.said === 'unresolvable'))
  proxy.cut()
  fleet.open('away')
  await eventually(() => fleet.said.some((line) => line.said === 'database.away'))
  await eventually(async () => (await fleet.health()).unwritten === 8)
  expect(proxy.open).toBe(0)
  process.kill(fleet.pid, 'SIGUSR2')

  await eventually(async () => (await database.counts()).dead === 8)
  await holdfast.enqueue('work', {})
  await eventually(async () => (await database.counts()).completed === 1)
  expect(fleet.started()).toHaveLength(17)
  await holdfast.close()
  expect(await fleet.stop()).toBe(0)
}, 120_000)
