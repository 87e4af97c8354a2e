import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { quiet, work } from '../support/small-worker.js'

const head = Array(10).fill(0)

test('a claim that has waited for a lock longer than its worker waits for it claims nothing, and leaves no backend behind', async () => {
  const queue = await makeQueue()
  const ran: string[] = []
  const type = work((_, { job }) => void ran.push(job.id), { maxAttempts: 1 })
  const holdfast = new Holdfast({ connectionString: queue.url, statementTimeout: '1s' })
  onTestFinished(() => holdfast.close())
  const worker = await startWorker(holdfast, [type], { logger: quiet, lease: '4s', unsafe: true })
  onTestFinished(() => worker.stop())
  // Whoever sets a limit has this lock while it waits for the claims that are under way.
  const operator = await queue.connect()
  await operator.query('select pg_advisory_lock(holdfast.claims_lock())')
  const jobs = await holdfast.enqueueMany(Array(20).fill({ type: 'work', payload: {} }))
  const claiming = () =>
    queue.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory' and query like '%claim_jobs%'`,
    )
  const most: number[] = []
  await eventually(async () => (await claiming()).length > 0)
  for (const until = performance.now() + 6_000; performance.now() < until; await queue.sql('select pg_sleep(0.2)')) {
    most.push((await claiming()).length)
  }
  expect(Math.max(...most)).toBeLessThanOrEqual(1)
  await operator.query('select pg_advisory_unlock_all()')
  await eventually(
    async () => (await queue.sql(`select from holdfast.history where outcome = 'completed'`)).length === jobs.length,
  )
  expect([...ran].sort()).toEqual(jobs.map(({ id }) => id).sort())
  expect(await queue.sql('select from holdfast.dead_letters')).toEqual([])
}, 60_000)

test('a lease begins when its claim has its jobs, not when the claim began to wait', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work()])
  await queue.holdfast.enqueue(work(), {})
  const [lane] = await queue.sql(`select id from holdfast.lanes where name = 'default'`)
  const [operator, claimer] = [await queue.connect(), await queue.connect()]
  await operator.query('select pg_advisory_lock(holdfast.claims_lock())')
  const claim = claimer.query(
    `select lease, expires_at - clock_timestamp() > interval '700 milliseconds' as whole
     from holdfast.claim_jobs(1, $1::smallint, null, 10, 1000, $2::bigint[]) as c left join holdfast.leases as l on l.id = c.lease`,
    [lane?.id, head],
  )
  await queue.sql('select pg_sleep(1.5)')
  await operator.query('select pg_advisory_unlock_all()')
  await claim
  const leases = await queue.sql(
    `select extract(epoch from expires_at - claimed_at) * 1000 as ms, expires_at > clock_timestamp() as open from holdfast.leases`,
  )
  expect(leases).toEqual([{ ms: '1000.000000', open: true }])
}, 60_000)

test('a claim that took longer than its caller waits is undone by the database itself', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work()])
  await queue.holdfast.enqueue(work(), {})
  const [lane] = await queue.sql(`select id from holdfast.lanes where name = 'default'`)
  // As slow as a disk that hangs: no lock is waited for.
  await queue.sql(`
    create function public.slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(0.6); return new; end $$;
    create trigger slowly before insert on holdfast.leases for each row execute function public.slowly()`)
  const claimer = await queue.connect()
  const claim = claimer.query(`select * from holdfast.claim_jobs(1, $1::smallint, null, 10, 60000, $2::bigint[], null, 500)`, [
    lane?.id,
    head,
  ])
  await expect(claim).rejects.toMatchObject({ code: '55P03', message: expect.stringContaining('longer than its worker waits') })
  expect(await queue.sql('select from holdfast.leases')).toEqual([])
  expect(await queue.sql('select from holdfast.queue where lease_id is null')).toHaveLength(1)
}, 60_000)
