// What workers cost that have nothing to do: their own processor time, the server's, and transaction ids.
import { setTimeout as pause } from 'node:timers/promises'
import { defineSchedule, Holdfast } from '../../dist/index.js'
import { onStage } from '../stage.mjs'

const workers = 10
const scheduled = 'holdfast with schedules'

/** Schedules that do not tick while they are measured. */
async function schedule(url, count) {
  const holdfast = new Holdfast({ connectionString: url })
  const all = Array.from({ length: count }, (_, n) =>
    defineSchedule({ name: `schedule-${n}`, type: 'bench', payload: {}, cron: `${n % 60} 0 1 1 *` }),
  )
  try {
    await holdfast.schedules.define(all)
  } finally {
    await holdfast.close()
  }
}

const resting = (system, name = system) => [
  name,
  (bench, { settle, seconds, schedules }) =>
    onStage(bench, system, async (stage) => {
      if (name === scheduled) await schedule(stage.url, schedules)
      const programs = []
      for (let i = 0; i < workers; i++) programs.push(await stage.start())
      await Promise.all(programs.map((program) => program.call('work', { watch: false, goal: 'latency' })))
      // After this they have fallen asleep; in a full run, what comes every fifteen seconds has come twice: the first time costs the most.
      await pause(settle * 1000)
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
    quick: { settle: 10, seconds: 5, schedules: 1_000, rounds: 1 },
    short: { settle: 20, seconds: 15, schedules: 10_000, rounds: 1 },
    full: { settle: 35, seconds: 60, schedules: 10_000, rounds: 2 },
  },
  contestants: Object.fromEntries([resting('holdfast'), resting('graphile-worker'), resting('holdfast', scheduled)]),
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
    {
      name: 'schedules-cpu',
      title: ({ schedules }) => `the same with ${schedules.toLocaleString('en')} schedules that are not due: CPU`,
      unit: '% of one core',
      figure: 'cpu',
      better: 'lower',
      holdfast: scheduled,
      others: ['holdfast'],
      // Next to nothing, and more than what two measurements of the same differ by.
      bars: [{ against: 'holdfast', atMost: 1.2, text: '≤ 1.2× without schedules' }],
    },
    {
      name: 'schedules-transactions',
      title: () => 'the same: transactions',
      unit: 'per second',
      figure: 'commits',
      better: 'lower',
      holdfast: scheduled,
      others: ['holdfast'],
      bars: [{ against: 'holdfast', atMost: 1.1, text: '≤ 1.1× without schedules' }],
    },
  ],
}
