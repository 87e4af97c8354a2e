import { defineType } from 'holdfast'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { addDeadWorker, addOrphans, loseAll } from '../support/expired-leases.js'
import { eventually } from '../support/facts.js'
import { startOwnServer } from '../support/own-server.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

async function connections(queue: Queue, count: number): Promise<pg.Client[]> {
  return Promise.all(Array.from({ length: count }, () => queue.connect()))
}

/** One rescuer, until no lease is left that it can take. */
async function rescueAll(client: pg.Client, leasesAtOnce = 20): Promise<{ job_id: string; attempt: number }[]> {
  const freed = []
  for (;;) {
    const { rows } = await client.query('select job_id, attempt from holdfast.rescue_leases($1, 1000)', [leasesAtOnce])
    if (rows.length === 0) return freed
    freed.push(...rows)
  }
}

test.each([2, 8])(
  '%i rescuers over the same 1,000 expired leases free each job once',
  async (rescuers) => {
    const queue = await makeQueue()
    const jobs = await addOrphans(queue, { leases: 1_000 })
    const clients = await connections(queue, rescuers)
    for (let round = 1; round <= 5; round++) {
      const freed = (await Promise.all(clients.map((client) => rescueAll(client)))).flat()
      expect(new Set(freed.map(({ job_id }) => job_id))).toEqual(new Set(jobs))
      expect(freed).toHaveLength(1_000)
      const [row] = await queue.sql('select count(*)::int as free from holdfast.queue where lease_id is null and attempt = $1', [
        round + 1,
      ])
      expect(row?.free).toBe(1_000)
      await loseAll(queue)
    }
    const [history] = await queue.sql(
      'select count(*)::int as rows, count(distinct (job_id, attempt))::int as attempts from holdfast.history',
    )
    expect(history).toEqual({ rows: 5_000, attempts: 5_000 })
  },
  120_000,
)

test('a rescue that races with the settling of the very same jobs never frees one that completed, and never deadlocks', async () => {
  const queue = await makeQueue()
  const worker = await addDeadWorker(queue)
  const [settlerA, settlerB, keeper, ...rescuers] = await connections(queue, 6)
  // Four leases at a time, as a worker does that was away for a while.
  const settle = async (client: pg.Client, leases: pg.QueryResultRow[]) => {
    for (let at = 0; at < leases.length; at += 4) {
      const held = leases.slice(at, at + 4).flatMap(({ id, jobs }) => jobs.map((job: string) => ({ id, job })))
      const all = (value: unknown) => held.map(() => value)
      await client.query('select holdfast.settle_jobs($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)', [
        held.map(({ job }) => job), held.map(({ id }) => id), all('complete'), all('completed'), all(null), all(0), all(null),
        worker, leases.slice(at, at + 4).map(({ id }) => id),
      ]) // biome-ignore format: one call
    }
  }
  let completed = 0
  for (let round = 1; round <= 60; round++) {
    await queue.holdfast.enqueueMany(Array.from({ length: 60 }, () => work.job({}, { maxAttempts: 20 })))
    await loseAll(queue, 3)
    await queue.sql('update holdfast.leases set worker_id = $1', [worker])
    const leases = await queue.sql('select id, jobs from holdfast.leases order by random()')
    const half = Math.ceil(leases.length / 2)
    await Promise.all([
      settle(settlerA as pg.Client, leases.slice(0, half)),
      settle(settlerB as pg.Client, leases.slice(half)),
      ...rescuers.map((client) => rescueAll(client, 5)),
      // A heartbeat that comes too late, in an order of its own.
      (keeper as pg.Client).query("update holdfast.leases set expires_at = expires_at - interval '1 millisecond'"),
    ])
    const [both] = await queue.sql(`select
      (select count(*)::int from holdfast.history as h join holdfast.queue using (job_id) where h.outcome = 'completed') as completed_and_free,
      (select count(*)::int from holdfast.queue as q where lease_id is not null
         and not exists (select from holdfast.leases as l where l.id = q.lease_id)) as held_by_nobody,
      (select count(*)::int - count(distinct (job_id, attempt))::int from holdfast.history) as ended_twice,
      (select count(*)::int from holdfast.history where outcome = 'completed') as completed`)
    expect(both).toMatchObject({ completed_and_free: 0, held_by_nobody: 0, ended_twice: 0 })
    completed = both?.completed
    await queue.sql('delete from holdfast.queue')
    await queue.sql('delete from holdfast.leases')
  }
  // The race was one: neither side won every time.
  const [lost] = await queue.sql("select count(*)::int as rows from holdfast.history where outcome = 'lease_expired'")
  expect(completed).toBeGreaterThan(0)
  expect(lost?.rows).toBeGreaterThan(0)
  const [{ deadlocks } = {}] = await queue.sql('select deadlocks::int from pg_stat_database where datname = current_database()')
  expect(deadlocks).toBe(0)
}, 120_000)

test('a rescuer that is frozen between its look and its write does not undo what was settled meanwhile', async () => {
  const server = await startOwnServer()
  const queue = await makeQueue(server.url)
  const [job] = await addOrphans(queue, { leases: 1 })
  const [lease] = await queue.sql('select id, worker_id from holdfast.leases')
  const [blocker, rescuer] = (await connections(queue, 2)) as [pg.Client, pg.Client]
  const pid = (await rescuer.query('select pg_backend_pid() as pid')).rows[0].pid
  // The rescuer has found the lease expired and locked it; now it waits for the job's row, and is stopped right there.
  await blocker.query('begin')
  await blocker.query('select from holdfast.queue where job_id = $1 for update', [job])
  const rescued = rescuer.query('select * from holdfast.rescue_leases(20, 1000)')
  await eventually(async () => {
    const [row] = await queue.sql('select wait_event_type from pg_stat_activity where pid = $1', [pid])
    return row?.wait_event_type === 'Lock'
  })
  process.kill(pid, 'SIGSTOP')
  await blocker.query('commit')
  const lost = await queue.sql(
    `select holdfast.settle_jobs(array[$1::uuid], array[$2::bigint], '{complete}', '{completed}', '{null}', '{0}', '{0}', '{null}', $3,
                                 array[$2::bigint])`,
    [job, lease?.id, lease?.worker_id],
  )
  expect(lost).toEqual([])
  process.kill(pid, 'SIGCONT')
  expect((await rescued).rows).toEqual([])
  expect((await queue.holdfast.job(job as string))?.attempts.map(({ outcome }) => outcome)).toEqual(['completed'])
  expect(await queue.sql('select id, status, attempt from holdfast.jobs')).toEqual([{ id: job, status: 'completed', attempt: 1 }])
  expect(await queue.sql('select from holdfast.leases')).toEqual([])
}, 60_000)

test('a lease that is being renewed at this moment is not rescued', async () => {
  const queue = await makeQueue()
  const [job] = await addOrphans(queue, { leases: 1 })
  const heartbeat = await queue.connect()
  await heartbeat.query('begin')
  await heartbeat.query("update holdfast.leases set expires_at = now() + interval '1 minute'")
  expect(await queue.sql('select * from holdfast.rescue_leases(20, 1000)')).toEqual([])
  await heartbeat.query('commit')
  expect(await queue.sql('select * from holdfast.rescue_leases(20, 1000)')).toEqual([])
  expect(await queue.holdfast.job(job as string)).toMatchObject({ status: 'processing', attempt: 1, attempts: [] })
})

test('a lease that has run out frees only what it still holds, not a job that was handed back and is held by another', async () => {
  const queue = await makeQueue()
  const jobs = await addOrphans(queue, { leases: 1, jobsEach: 2 })
  const [kept, handedBack] = jobs as [string, string]
  const settle = `select holdfast.settle_jobs(array[$1::uuid], (select array_agg(id) from holdfast.leases), '{hand_back}', '{handed_back}',
                                              '{null}', '{null}', '{0}', '{null}', 1, '{}')`
  await queue.sql(settle, [handedBack])
  await queue.sql('select holdfast.claim_jobs(1, 1::smallint, null, 1, 60000, array_fill(0, array[10])::bigint[])')
  expect(await queue.sql('select job_id, attempt from holdfast.rescue_leases(20, 1000)')).toEqual([{ job_id: kept, attempt: 1 }])
  expect(await queue.holdfast.job(handedBack)).toMatchObject({ status: 'processing', attempt: 1, attempts: [] })
  expect(await queue.holdfast.job(kept)).toMatchObject({ status: 'pending', attempt: 2 })
})

test('a job that cannot be rescued does not keep any other from being rescued', async () => {
  const queue = await makeQueue()
  const jobs = await addOrphans(queue, { leases: 3, jobsEach: 20 })
  const poison = jobs[30] as string
  await queue.sql(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`)
  await queue.sql(`create trigger refuse before insert on holdfast.history for each row when (new.job_id = '${poison}') execute function refuse()`) // biome-ignore format: one statement
  const worker = await startHere(queue, [defineType({ type: 'work', run() {} })], { lease: '2s' })
  const done = (count: number) => async () => {
    const [row] = await queue.sql("select count(*)::int as done from holdfast.jobs where status = 'completed'")
    return row?.done === count
  }
  await eventually(done(59))
  expect(worker.health().status).toBe('ok')
  expect(await queue.holdfast.job(poison)).toMatchObject({ status: 'processing', attempt: 1 })
  expect(
    await queue.sql("select from holdfast.leases where expires_at > now() + '10s' and jobs = array[$1::uuid]", [poison]),
  ).toHaveLength(1)
  // What stood in its way is removed; that it comes again in a minute is hurried along.
  await queue.sql('drop trigger refuse on holdfast.history')
  await queue.sql('update holdfast.leases set expires_at = now() where jobs = array[$1::uuid]', [poison])
  await eventually(done(60))
}, 60_000)
