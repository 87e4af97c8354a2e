// How fast one worker empties a queue of jobs that do nothing, and what that costs the database.
import pg from 'pg'
import { Holdfast } from '../dist/index.js'
import { enqueueMany, registerBench } from './enqueueing.mjs'
import { startWorkerProcess } from './processes.mjs'
import { readCounters, withDatabase } from './server.mjs'

async function fill(url, jobs) {
  const holdfast = new Holdfast({ connectionString: url })
  await enqueueMany(holdfast, jobs)
  await holdfast.close()
}

/** A snapshot that stays open, as a forgotten report or a backup holds one: nothing dead can be removed meanwhile. */
async function holdSnapshot(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from holdfast.lanes')
  return () => client.end()
}

export const drain = {
  figures: {
    drainPerSecond: 'drain, one worker, 24 at once: jobs/s',
    drainWorkerCpu: 'drain: CPU µs per job in the worker process',
    drainServerCpu: 'drain: CPU µs per job in Postgres',
    drainWalPerJob: 'drain: WAL bytes per job',
    drainCommitsPerJob: 'drain: commits per job',
  },
  measure: (server, { jobs }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      await client.query('checkpoint')
      await fill(url, jobs)
      const before = await readCounters(client)
      const serverCpuBefore = server.cpuMs()
      const worker = await startWorkerProcess({ url, jobs })
      const { ms, cpuMs } = await worker.hear('drained')
      const serverCpuMs = server.cpuMs() - serverCpuBefore
      // A server process tells what it counted at the latest when it ends.
      await worker.stop()
      const after = await readCounters(client)
      return {
        drainPerSecond: (jobs / ms) * 1000,
        drainWorkerCpu: (cpuMs / jobs) * 1000,
        ...(serverCpuMs ? { drainServerCpu: (serverCpuMs / jobs) * 1000 } : {}),
        drainWalPerJob: (after.wal - before.wal) / jobs,
        drainCommitsPerJob: (after.commits - before.commits) / jobs,
      }
    }),
}

export const heldDrain = {
  figures: { heldDrainPerSecond: 'drain behind as many dead jobs, under a held snapshot: jobs/s' },
  measure: (server, { jobs }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      const release = await holdSnapshot(url)
      await fill(url, jobs)
      const first = await startWorkerProcess({ url, jobs })
      await first.hear('drained')
      await first.stop()
      await fill(url, jobs)
      const worker = await startWorkerProcess({ url, jobs })
      const { ms } = await worker.hear('drained')
      await worker.stop()
      await release()
      return { heldDrainPerSecond: (jobs / ms) * 1000 }
    }),
}

const claim = {
  name: 'claim',
  text: 'select * from holdfast.claim_jobs($1::integer, $2::smallint, null, 500, 60000, $3::bigint[])',
}
const settle = {
  name: 'settle',
  text: `select holdfast.settle_jobs($1::uuid[], $2::bigint[], array_fill('complete'::text, array[$3::integer]),
           array_fill('completed'::holdfast.outcome, array[$3]), array_fill(null::text, array[$3]),
           array_fill(1::float8, array[$3]), array_fill(0::float8, array[$3]), array_fill(null::float8, array[$3]), $4::integer, $5::bigint[])`,
}

/** The same SQL functions from two connections and nothing around them: what the database alone could do on this machine. */
export const bareDrain = {
  figures: {
    bareDrainPerSecond: 'the same SQL functions from a bare loop, two connections: jobs/s',
    bareDrainServerCpu: 'the same from a bare loop: CPU µs per job in Postgres',
  },
  measure: (server, { jobs }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      await fill(url, jobs)
      const { rows } = await client.query(`select id from holdfast.lanes where name = 'default'`)
      const [cpuBefore, begun] = [server.cpuMs(), performance.now()]
      const done = await Promise.all([1, 2].map((worker) => claimAndSettle(url, worker, rows[0].id)))
      const ms = performance.now() - begun
      if (done[0] + done[1] !== jobs) throw new Error(`${done} jobs were drained instead of ${jobs}`)
      const cpuMs = server.cpuMs() - cpuBefore
      return { bareDrainPerSecond: (jobs / ms) * 1000, ...(cpuMs ? { bareDrainServerCpu: (cpuMs / jobs) * 1000 } : {}) }
    }),
}

async function claimAndSettle(url, worker, lane) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const after = Array(10).fill(0)
  let done = 0
  for (;;) {
    const { rows } = await client.query({ ...claim, values: [worker, lane, after] })
    if (rows.length === 0) break
    for (const { priority, seq } of rows) after[priority] = Math.max(after[priority], Number(seq))
    const lease = rows[0].lease_id
    await client.query({
      ...settle,
      values: [rows.map((row) => row.job_id), rows.map(() => lease), rows.length, worker, [lease]],
    })
    done += rows.length
  }
  await client.end()
  return done
}
