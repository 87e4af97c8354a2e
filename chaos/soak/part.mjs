// An hour of steady load, of which nothing may grow but the history: memory, connections, handles, tables, dead rows.
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Field } from '../campaign/field.mjs'
import { timeFor } from '../options.mjs'
import { startLoad } from '../scenarios/load.mjs'
import { durable, startServer } from '../server.mjs'
import { judge } from './flat.mjs'
import { name as producerName, soakProducer } from './producer.mjs'

const perSecond = 300
const lengths = { short: { minutes: 2, everyMs: 2_000 }, long: { minutes: 60, everyMs: 15_000 } }
const megabyte = 1 << 20

/** How much each may grow, and below which size growth does not matter. */
const series = {
  memory: { most: 0.15, floor: 60 * megabyte },
  handles: { most: 0.1, floor: 30 },
  connections: { most: 0, floor: 8 },
  tables: { most: 0.2, floor: 4 * megabyte },
  indexes: { most: 0.2, floor: 4 * megabyte },
  deadRows: { most: 0.5, floor: 5_000 },
  transactionIdsPerJob: { most: 0.2, floor: 0.02 },
}

const look = `
  select sum(pg_table_size(c.oid))::float8 as tables, sum(pg_indexes_size(c.oid))::float8 as indexes,
         sum(pg_stat_get_dead_tuples(c.oid))::float8 as "deadRows",
         (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and application_name <> 'chaos admin') as connections,
         pg_snapshot_xmax(pg_current_snapshot())::text::float8 as ids
  from pg_class as c where c.oid in ('holdfast.queue'::regclass, 'holdfast.waiting'::regclass, 'holdfast.leases'::regclass,
                                     'holdfast.idle_workers'::regclass, 'holdfast.workers'::regclass)`

export const soak = {
  name: 'soak',
  list: async ({ only }) => ['soak/steady', producerName].filter((name) => name.startsWith(only)),
  async run(options, report) {
    const { long, only } = options
    if (producerName.startsWith(only)) await soakProducer(options, report)
    if (!'soak/steady'.startsWith(only)) return
    if (!long && !only) return report.skip('soak/steady', 'an hour long; in the long run, or two minutes of it with --only soak')
    const most = timeFor('soak', options) / 60_000
    const { minutes, everyMs } =
      long && most < 60 ? { minutes: Math.round(most), everyMs: 3_000 } : lengths[long ? 'long' : 'short']
    const samples = await sampled(minutes * 60_000, everyMs)
    report.soak = { minutes, perSecond, jobs: samples.at(-1).done, series: judge(samples, series) }
    for (const [name, { first, last, growth, flat }] of Object.entries(report.soak.series)) {
      console.log(
        `soak ${name}: ${Math.round(first * 100) / 100} at first, ${Math.round(last * 100) / 100} at last, ${Math.round(growth * 100)} %`,
      )
      if (!flat) report.fail('soak/steady', [`${name} grew by ${Math.round(growth * 100)} %`])
    }
  },
}

async function sampled(forMs, everyMs) {
  const server = await startServer({ settings: durable })
  const field = await Field.open(server)
  let load
  try {
    const worker = await field.fleet.start('steady-worker', { url: server.url, options: { concurrency: 20 } })
    load = startLoad(server.url, perSecond)
    const samples = []
    let before
    for (const end = performance.now() + forMs; performance.now() < end; await pause(everyMs)) {
      const { memory, done } = await field.fleet.health(worker)
      const { ids, ...sizes } = (await field.admin(look))[0]
      const transactionIdsPerJob = before ? (ids - before.ids) / Math.max(1, done - before.done) : 0
      before = { ids, done }
      samples.push({ ...sizes, memory, done, transactionIdsPerJob, handles: handlesOf(worker.pid) })
    }
    return samples
  } finally {
    await load?.stop()
    await field.close()
    await server.stop()
  }
}

/** Only Linux tells. */
function handlesOf(pid) {
  return process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : 0
}
