// A worker over HTTP: one server process, and one that claims and ends a hundred jobs a request.
import { fileURLToPath } from 'node:url'
import { drain, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const program = fileURLToPath(new URL('../http-program.mjs', import.meta.url))
const each = 100
const loops = 4

const remotely = (bench, { jobs }) =>
  onStage(bench, 'holdfast', async (stage) => {
    const warming = 2_000
    await fill(stage, jobs + warming)
    const [server, caller] = [await stage.start({ program }), await stage.start({ program })]
    const at = await server.call('serve')
    await caller.call('workRemotely', { ...at, jobs: warming, each, loops })
    const serverCpuBefore = stage.serverCpuMs()
    // What was claimed by the last loops while the first were warming counts for nobody.
    const left = await leftOf(stage)
    const ms = await caller.call('workRemotely', { ...at, jobs: left, each, loops })
    return { rate: (left / ms) * 1000, serverCpu: ((stage.serverCpuMs() - serverCpuBefore) / left) * 1000 }
  })

async function leftOf({ client }) {
  const { rows } = await client.query('select count(*)::integer as left from holdfast.queue')
  return rows[0].left
}

const sdk = (bench, { jobs }) =>
  onStage(bench, 'holdfast', async (stage) => {
    await fill(stage, jobs)
    const { rate, serverCpu } = await drain(stage, { jobs })
    return { rate, serverCpu }
  })

export default {
  name: 'remote',
  sizes: {
    quick: { jobs: 5_000, rounds: 1 },
    short: { jobs: 30_000, rounds: 2 },
    full: { jobs: 200_000, rounds: 4 },
  },
  contestants: { holdfast: remotely, 'SDK worker': sdk },
  rows: [
    {
      name: 'remote',
      title: () => `drain over HTTP, one server process and one remote worker, claims of ${each}`,
      unit: 'jobs/s',
      figure: 'rate',
      others: ['SDK worker'],
      bars: [{ atLeast: 10_000, value: true }],
    },
  ],
}
