import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { useOwnPostgres } from '../support/own-postgres.js'
import { quiet, work } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

const postgres = useOwnPostgres({ max_connections: '30' })

const impatient = { lease: '4s', unsafe: true, unhealthyAfter: '2s' } as const

async function makeWorker(database: ObservedDatabase, options: object = {}, run?: Parameters<typeof work>[0]) {
  const holdfast = new Holdfast({ connectionString: database.url, statementTimeout: '2s' })
  const worker = await startWorker(holdfast, [work(run)], { logger: quiet, ...impatient, ...options })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return { holdfast, worker }
}

test('heartbeats that get through do not make a worker well that cannot claim', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const { holdfast, worker } = await makeWorker(database)
  await holdfast.enqueue(work(), {})
  await eventually(async () => (await database.counts()).completed === 1)

  await database.sql('alter function holdfast.claim_jobs rename to claim_jobs_gone')
  // On a busy machine a heartbeat or a result can be late for a moment, and then that is the reason given first.
  const isKeptFromClaiming = () => {
    const { status, reason } = worker.health()
    return status === 'unhealthy' && /no claims for \d+ s: .*claim_jobs/.test(reason ?? '')
  }
  await eventually(isKeptFromClaiming)
  const [beat] = await database.sql('select seen_at::text as at from holdfast.workers')
  await eventually(async () => (await database.sql('select from holdfast.workers where seen_at > $1', [beat?.at])).length === 1)
  await eventually(isKeptFromClaiming)

  await database.sql('alter function holdfast.claim_jobs_gone rename to claim_jobs')
  await holdfast.enqueue(work(), {})
  await eventually(async () => (await database.counts()).completed === 2)
  await eventually(() => worker.health().status === 'ok')
}, 60_000)

test('results that cannot be written are kept, and the worker says that it is not well', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const { holdfast, worker } = await makeWorker(database)
  await database.sql('alter function holdfast.settle_jobs rename to settle_jobs_gone')
  const jobs = await holdfast.enqueueMany(Array(5).fill(work().job({})))
  await eventually(() => worker.health().unwritten === 5)
  await eventually(() => worker.health().status === 'unhealthy')
  expect(worker.health().reason).toMatch(/no results for \d+ s: .*settle_jobs/)

  await database.sql('alter function holdfast.settle_jobs_gone rename to settle_jobs')
  await eventually(() => worker.health().status === 'ok' && worker.health().unwritten === 0)
  const endings = await database.endings()
  expect(jobs.map(({ id }) => endings.get(id))).toEqual(Array(5).fill(['completed']))
}, 60_000)

test('connections that became read-only are left for new ones', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const proxy = await startProxy(postgres.port)
  const direct = new Holdfast({ connectionString: database.url })
  const behind = { ...database, url: proxy.through(database.url) }
  const { worker } = await makeWorker(behind)
  onTestFinished(() => direct.close())
  // Sessions take this at their beginning: those opened from now on stay read-only, as on a primary that was demoted.
  await database.sql(`alter database ${database.name} set default_transaction_read_only = on`)
  proxy.cut()
  await eventually(() => worker.health().status === 'unhealthy' && /read-only/.test(worker.health().reason ?? ''))
  // The connections are given up one after the other, at a pace that backs off.
  await database.sql(
    `set default_transaction_read_only = off; alter database ${database.name} reset default_transaction_read_only`,
  )
  await eventually(() => worker.health().status === 'ok')
  await direct.enqueue(work(), {})
  await eventually(async () => (await database.counts()).completed === 1)
}, 60_000)

test('a server whose connections are all taken by others is waited for', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const { holdfast, worker } = await makeWorker(database)
  const watcher = await database.connect()
  await holdfast.enqueue(work(), {})
  await eventually(async () => (await database.counts()).completed === 1)

  const hogs: pg.Client[] = []
  onTestFinished(async () => void (await Promise.all(hogs.map((hog) => hog.end().catch(() => {})))))
  const takeAll = async () => {
    for (;;) {
      const hog = new pg.Client({ connectionString: postgres.url })
      hog.on('error', () => {})
      try {
        await hog.connect()
        hogs.push(hog)
      } catch (error) {
        expect(error).toMatchObject({ code: '53300' })
        return
      }
    }
  }
  // One that is just being opened is not seen, and one is enough for a worker: so they are ended until none is left.
  await eventually(async () => {
    await watcher.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'holdfast%'")
    await takeAll()
    return worker.health().status === 'unhealthy'
  })
  expect(worker.health().reason).toMatch(/too many clients|remaining connection slots/)
  const refusal = { code: 'database_unavailable', message: expect.stringMatching(/too many clients|remaining connection slots/) }
  const newcomer = new Holdfast({ connectionString: database.url, retryEnqueueFor: 0 })
  await expect(newcomer.enqueue(work(), {})).rejects.toMatchObject(refusal)
  await expect(startWorker(newcomer, [work()], { logger: quiet })).rejects.toMatchObject(refusal)
  await newcomer.close()

  await Promise.all(hogs.splice(0).map((hog) => hog.end()))
  await holdfast.enqueue(work(), {})
  await eventually(async () => (await database.counts()).completed === 2)
  await eventually(() => worker.health().status === 'ok')
}, 60_000)

test('results that pile up behind frozen backends are written in the end, once each, or fenced off', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const fleet = await startFleet({
    holdfast: { connectionString: database.url, statementTimeout: '1s' },
    worker: { concurrency: 1_000, lease: '3s', unsafe: true },
  })
  const holdfast = new Holdfast({ connectionString: database.url })
  onTestFinished(() => holdfast.close())
  await holdfast.enqueueMany(Array(1_000).fill({ type: 'work', payload: { gate: 'frozen' } }))
  await eventually(() => fleet.started().length === 1_000)

  const frozen = await database.sql("select pid from pg_stat_activity where application_name like 'holdfast%'")
  const signal = (name: NodeJS.Signals) => {
    for (const { pid } of frozen) process.kill(pid, name)
  }
  signal('SIGSTOP')
  onTestFinished(() => signal('SIGCONT'))
  fleet.open('frozen')
  // Three leases long, by the server's clock.
  await database.sql('select pg_sleep(9)')
  for (const { pid } of frozen.splice(0)) process.kill(pid, 'SIGCONT')

  await eventually(async () => (await database.counts()).completed === 1_000)
  const endings = [...(await database.endings()).values()]
  expect(endings).toHaveLength(1_000)
  for (const outcomes of endings) expect(outcomes.filter((outcome) => outcome === 'completed')).toHaveLength(1)
  // Whatever ran again ran again because its lease had run out, and that is on record.
  const recorded = endings.flat().filter((outcome) => outcome !== 'handed_back').length
  expect(fleet.started().length).toBeLessThanOrEqual(recorded)
  expect(fleet.alive).toBe(true)
}, 120_000)
