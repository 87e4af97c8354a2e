// Several databases as one system: what one worker process gets done for one, two and three of them. All are on one server and two cores here, so
// this shows what members cost, and nothing of what servers of their own would add.
import { fileURLToPath } from 'node:url'
import { openStage, within } from '../stage.mjs'

const program = fileURLToPath(new URL('../members-program.mjs', import.meta.url))
const warming = 3_000

const draining =
  (count) =>
  async (bench, { jobs }) => {
    const stages = []
    try {
      for (let member = 0; member < count; member++) stages.push(await openStage(bench, 'holdfast'))
      const members = Object.fromEntries(stages.map(({ url }, at) => [`member${at + 1}`, url]))
      const [first] = stages
      const producer = await first.start({ program })
      await producer.call('open', { members })
      await producer.call('fill', { jobs: jobs + warming })
      await Promise.all(stages.map(({ client }) => client.query('vacuum analyze')))
      const worker = await first.start({ program })
      await worker.call('open', { members })
      const cpuBefore = first.serverCpuMs()
      const { ms, cpuMs } = await within(bench.limitMs, worker.call('drain', { jobs: jobs + warming }))
      return {
        rate: ((jobs + warming) / ms) * 1000,
        workerCpu: (cpuMs / (jobs + warming)) * 1000,
        serverCpu: ((first.serverCpuMs() - cpuBefore) / (jobs + warming)) * 1000,
        connections: await connectionsOf(stages),
      }
    } finally {
      for (const stage of stages) await stage.close()
    }
  }

/** Of the worker and the producer, in each member. */
async function connectionsOf(stages) {
  const { rows } = await stages[0].client.query(
    "select count(*)::integer as n from pg_stat_activity where datname = any ($1) and application_name like 'holdfast%'",
    [stages.map(({ url }) => new URL(url).pathname.slice(1))],
  )
  return rows[0].n / stages.length
}

const contestants = { 'one member': draining(1), 'two members': draining(2), 'three members': draining(3) }
const others = ['two members', 'three members']
const row = (name, title, unit, figure) => ({ name, title: () => title, unit, figure, holdfast: 'one member', others, bars: [] })

export default {
  name: 'members',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 60_000, rounds: 2 },
    full: { jobs: 300_000, rounds: 4 },
  },
  contestants,
  rows: [
    row('members', 'one worker process for one, two and three databases on one server, as many jobs in each', 'jobs/s', 'rate'),
    row('members-worker-cpu', 'the same: processor time of the worker', 'µs/job', 'workerCpu'),
    row('members-server-cpu', 'the same: processor time of PostgreSQL', 'µs/job', 'serverCpu'),
    row('members-connections', 'the same: connections of each member, of a worker and a producer', 'connections', 'connections'),
  ],
}
