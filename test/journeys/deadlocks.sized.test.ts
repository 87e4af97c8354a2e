import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { sized } from '../support/sized.js'
import { quiet, work } from '../support/small-worker.js'

const loadMs = sized({ sample: 5_000, whole: 15_000 })
const restless = { concurrency: 40, lease: '600ms', unsafe: true, drain: '0s' } as const

const anyOf = <Value>(values: readonly Value[]): Value => values[Math.floor(Math.random() * values.length)] as Value
const upTo = (most: number): number => Math.floor(Math.random() * most)

test('everything at once, for a while: no deadlock, no transaction left open, no lock and no connection left behind', async () => {
  const database = await makeObservedDatabase()
  const fleets = await Promise.all(
    [1, 2].map(() => startFleet({ holdfast: { connectionString: database.url }, worker: restless })),
  )
  const producer = new Holdfast({ connectionString: database.url, connections: 8 })
  onTestFinished(() => producer.close())
  const until = performance.now() + loadMs
  const ongoing = () => performance.now() < until

  const produce = async () => {
    while (ongoing()) {
      const jobs = Array.from({ length: 1 + upTo(60) }, () => ({
        type: 'work',
        payload: anyOf([{}, {}, { ms: 20 }, { ms: 300 }, { fail: true }]),
        priority: upTo(10),
        ...anyOf([{}, { delay: 500 + upTo(1_000) }]),
        // Few keys in any order, and new ones ten times a second, so that producers meet at them.
        ...anyOf([{}, { idempotencyKey: `${Math.floor(performance.now() / 100)} ${upTo(50)}` }]),
      }))
      await producer.enqueueMany(jobs)
    }
  }
  /** Frozen for longer than its lease: its jobs are rescued, and its results come back at that very moment. */
  const freeze = async () => {
    while (ongoing()) {
      const { pid } = anyOf(fleets)
      process.kill(pid, 'SIGSTOP')
      await pause(500 + upTo(500))
      process.kill(pid, 'SIGCONT')
      await pause(upTo(300))
    }
  }
  /** Comes and goes, and hands back what it had begun. */
  const comeAndGo = async () => {
    while (ongoing()) {
      const holdfast = new Holdfast({ connectionString: database.url })
      const worker = await startWorker(holdfast, [work(({ ms = 5 }) => pause(ms))], { logger: quiet, ...restless })
      await pause(200 + upTo(600))
      await worker.stop()
      await holdfast.close()
    }
  }
  const lingering: unknown[] = []
  const watch = async () => {
    while (ongoing()) {
      const text = `select application_name, query from pg_stat_activity where datname = current_database()
                    and state like 'idle in transaction%' and state_change < now() - interval '5 seconds'`
      lingering.push(...(await database.sql(text)))
      await pause(500)
    }
  }
  await Promise.all([produce(), produce(), produce(), produce(), produce(), freeze(), comeAndGo(), comeAndGo(), watch()])
  await Promise.all(fleets.map((fleet) => fleet.stop()))
  await producer.close()

  expect(lingering).toEqual([])
  const ours =
    "select application_name from pg_stat_activity where datname = current_database() and application_name like 'holdfast%'"
  await eventually(async () => (await database.sql(ours)).length === 0)
  const locks = `select l.locktype, l.mode from pg_locks as l join pg_database as d on d.oid = l.database
                 where d.datname = current_database() and l.pid <> pg_backend_pid()`
  expect(await database.sql(locks)).toEqual([])
  expect(await deadlocks(database)).toBe(0)
  // The load was what it was meant to be.
  const outcomes = new Map(
    (await database.sql('select outcome, count(*)::integer from holdfast.history group by outcome')).map((row) => [
      row.outcome,
      row.count,
    ]),
  )
  for (const outcome of ['completed', 'failed', 'lease_expired', 'handed_back'])
    expect(outcomes.get(outcome) ?? 0, outcome).toBeGreaterThan(0)
}, 120_000)

test('a heartbeat does not wait for a lease that is being settled', async () => {
  const database = await makeObservedDatabase()
  // The result takes longer to be written than a heartbeat may; its lease and its job are held meanwhile.
  await slowDownResults(database, 7)
  const fleet = await startFleet({ holdfast: { connectionString: database.url }, worker: { lease: '4s', unsafe: true } })
  const producer = new Holdfast({ connectionString: database.url })
  onTestFinished(() => producer.close())
  await producer.enqueue('work', { gate: 'written' })
  await eventually(() => fleet.started().length === 1)
  await producer.enqueue('work', {})
  await eventually(async () => (await database.counts()).completed === 1)
  await database.sql('drop trigger slow on holdfast.history')
  fleet.open('written')
  await eventually(async () => (await database.counts()).completed === 2)
  expect([...(await database.endings()).values()]).toEqual([['completed'], ['completed']])
  const signs = ['duty.failed', 'database.away', 'settle.late', 'lease.lost', 'lease.rescued']
  expect(fleet.said.filter((line) => signs.includes(line.said))).toEqual([])
  expect(await fleet.stop()).toBe(0)
}, 60_000)

test('a rescue does not undo what is just being settled, even when its lease has run out', async () => {
  const database = await makeObservedDatabase()
  const holdfast = new Holdfast({ connectionString: database.url })
  onTestFinished(() => holdfast.close())
  await holdfast.enqueue(work(), {})
  const [settler, rescuer] = [await database.connect(), await database.connect()]
  const claim =
    'select lease as lease_id, unnest(ids) as job_id from holdfast.claim_jobs(1, 1::smallint, null, 10, 1, array_fill(0, array[10]))'
  const [held] = (await settler.query(claim)).rows
  await eventually(async () => (await database.sql('select from holdfast.leases where expires_at < holdfast.now()')).length === 1)

  await slowDownResults(database, 3)
  const settle = `select * from holdfast.settle_jobs(array[$1::uuid], array[$2::bigint], array['complete'],
    array['completed'::holdfast.outcome], array[null::text], array[5], array[1], array[null::float8], 1, array[$2::bigint])`
  const settling = settler.query(settle, [held.job_id, held.lease_id])
  await eventually(async () => (await database.sql("select from pg_stat_activity where wait_event = 'PgSleep'")).length === 1)
  expect((await rescuer.query('select * from holdfast.rescue_leases(20, 1000)')).rows).toEqual([])
  expect((await settling).rows).toEqual([])
  expect((await database.endings()).get(held.job_id)).toEqual(['completed'])
  await Promise.all([settler.end(), rescuer.end()])
  expect(await deadlocks(database)).toBe(0)
}, 60_000)

async function slowDownResults(database: ObservedDatabase, seconds: number): Promise<void> {
  await database.sql(`
    create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(${seconds}); return new; end';
    create trigger slow before insert on holdfast.history for each row when (new.outcome = 'completed') execute function slow()`)
}

/** What each session counted is added up when it ends. */
async function deadlocks(database: ObservedDatabase): Promise<number> {
  const [row] = await database.sql('select deadlocks::integer from pg_stat_database where datname = current_database()')
  return row?.deadlocks
}
