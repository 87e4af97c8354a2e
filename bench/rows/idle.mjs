// What workers cost that have nothing to do: their own processor time, the server's, and transaction ids.
import { setTimeout as pause } from 'node:timers/promises'
import { onStage } from '../stage.mjs'

const workers = 10
/** After this they have fallen asleep, and what comes every fifteen seconds has come twice: the first time costs the most. */
const settledAfterMs = 35_000

const resting = (system) => [
  system,
  (bench, { seconds }) =>
    onStage(bench, system, async (stage) => {
      const programs = []
      for (let i = 0; i < workers; i++) programs.push(await stage.start())
      await Promise.all(programs.map((program) => program.call('work', { watch: false, goal: 'latency' })))
      await pause(settledAfterMs)
      // What autovacuum still has to do after the rows before this one is not theirs, and takes a transaction id a table.
      await stage.client.query('vacuum analyze')
      const look = async () => {
        const usages = await Promise.all(programs.map((program) => program.call('usage')))
        const cpuMs = usages.reduce((sum, usage) => sum + usage.cpuMs, 0)
        return { cpuMs, serverCpuMs: stage.serverCpuMs(), at: performance.now(), ...(await stage.counters()) }
      }
      const before = await look()
      await pause(seconds * 1000)
      const after = await look()
      const each = (figure, perMs) => ((after[figure] - before[figure]) / (after.at - before.at)) * perMs
      await Promise.all(programs.map((program) => program.close()))
      const [workerCpu, serverCpu] = [each('cpuMs', 100), each('serverCpuMs', 100)]
      return { workerCpu, serverCpu, cpu: workerCpu + serverCpu, xids: each('xids', 1000), commits: each('commits', 1000) }
    }),
]

export default {
  name: 'idle',
  sizes: {
    quick: { seconds: 5, rounds: 1 },
    short: { seconds: 20, rounds: 1 },
    full: { seconds: 60, rounds: 2 },
  },
  contestants: Object.fromEntries(['holdfast', 'graphile-worker'].map(resting)),
  rows: [
    {
      name: 'idle-cpu',
      title: () => `idle fleet of ${workers} workers: CPU, Postgres included`,
      unit: '% of one core',
      figure: 'cpu',
      better: 'lower',
      peers: ['graphile-worker'],
      bars: [{ value: true, below: 2, text: '< 2 % of one core in all' }],
    },
    {
      name: 'idle-xids',
      title: () => `idle fleet of ${workers} workers: transaction ids`,
      unit: 'per second',
      figure: 'xids',
      better: 'lower',
      peers: ['graphile-worker'],
      bars: [{ value: true, below: 1, text: '< 1 transaction id per second' }],
    },
  ],
}
