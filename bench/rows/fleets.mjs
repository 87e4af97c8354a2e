// What a fleet of worker processes costs: connections and processor time at rest, and connections and throughput under load.
import { setTimeout as pause } from 'node:timers/promises'
import { drain, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const startAtOnce = 10
const pauseMs = 5

async function startAll(stage, workers, options) {
  const programs = []
  for (let i = 0; i < workers; i += startAtOnce) {
    const some = await Promise.all(Array.from({ length: Math.min(startAtOnce, workers - i) }, () => stage.start()))
    await Promise.all(some.map((program) => program.call('work', options)))
    programs.push(...some)
  }
  return programs
}

async function connectionsOf(stage) {
  const { rows } = await stage.client.query(
    "select count(*)::integer as n from pg_stat_activity where datname = current_database() and application_name like 'holdfast%'",
  )
  return rows[0].n
}

/** The average over that time. */
async function watch(stage, ms, over = () => false) {
  const seen = []
  for (const until = performance.now() + ms; performance.now() < until && !over(); ) {
    seen.push(await connectionsOf(stage))
    await pause(200)
  }
  return seen.reduce((sum, count) => sum + count, 0) / seen.length
}

const resting =
  (workers) =>
  (bench, { settle, seconds, starts }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const programs = await startAll(stage, workers, { watch: false, goal: 'latency' })
      // After that the connections that only the start needed are closed; in a whole run, what comes every fifteen seconds has come twice.
      await pause(settle * 1000)
      const usage = async () => {
        const usages = await Promise.all(programs.map((program) => program.call('usage')))
        return usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0) + stage.serverCpuMs()
      }
      const [before, begun] = [await usage(), performance.now()]
      const connections = (await watch(stage, seconds * 1000)) / workers
      const cpu = (((await usage()) - before) / (performance.now() - begun)) * 100
      const producer = await stage.start()
      await producer.call('openProducer')
      await producer.call('trickle', { count: starts })
      await pause(1_000)
      const seen = await Promise.all(programs.map((program) => program.call('seen')))
      const latencies = seen.flatMap(({ latencies }) => latencies).sort((a, b) => a - b)
      await Promise.all(programs.map((program) => program.close()))
      return { connections, cpu, p50: latencies[Math.floor(latencies.length / 2)] }
    })

/** `together`: how many handlers run at once in all workers. */
const working =
  (workers, together) =>
  (bench, { jobs }) =>
    onStage(bench, 'holdfast', async (stage) => {
      await fill(stage, jobs)
      let over = false
      const watching = watch(stage, bench.limitMs, () => over)
      const { seen, ...figures } = await drain(stage, {
        jobs,
        workers,
        options: { concurrency: together / workers, handlerMs: pauseMs },
      })
      over = true
      return { ...figures, connections: (await watching) / workers }
    })

export default {
  name: 'fleets',
  sizes: {
    quick: { settle: 12, seconds: 5, starts: 20, jobs: 5_000, rounds: 1 },
    short: { settle: 35, seconds: 20, starts: 100, jobs: 40_000, rounds: 1 },
    full: { settle: 35, seconds: 60, starts: 200, jobs: 100_000, rounds: 2 },
  },
  contestants: {
    '100 at rest': resting(100),
    '10 at rest': resting(10),
    '100 busy': working(100, 200),
    '10 busy': working(10, 200),
  },
  rows: [
    {
      name: 'fleet-connections',
      title: () => 'idle fleet of 100 workers: connections of each',
      unit: 'connections',
      figure: 'connections',
      better: 'lower',
      holdfast: '100 at rest',
      others: ['10 at rest'],
      bars: [{ value: true, atMost: 1.1 }],
    },
    {
      name: 'fleet-cpu',
      title: () => 'idle fleet of 100 workers: CPU, Postgres included',
      unit: '% of one core',
      figure: 'cpu',
      better: 'lower',
      holdfast: '100 at rest',
      others: ['10 at rest'],
      bars: [{ value: true, below: 6, text: '< 6 % of one core in all' }],
    },
    {
      name: 'fleet-start',
      title: () => 'enqueue to start, idle fleet of 100 workers: p50',
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      holdfast: '100 at rest',
      others: ['10 at rest'],
      bars: [{ against: '10 at rest', atMost: 1.5, text: "≤ 1.5× a fleet of ten's" }],
    },
    {
      name: 'fleet-busy',
      title: ({ jobs }) => `drain of ${jobs.toLocaleString('en')} jobs of ${pauseMs} ms by 100 workers, 200 at once in all`,
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: '100 busy',
      others: ['10 busy'],
      bars: [{ against: '10 busy', atLeast: 0.9, text: '≥ 90 % of 10 workers with as many at once' }],
    },
    {
      name: 'fleet-busy-connections',
      title: () => 'the same: connections of each worker',
      unit: 'connections',
      figure: 'connections',
      better: 'lower',
      holdfast: '100 busy',
      others: ['10 busy'],
      bars: [{ value: true, atMost: 2 }],
    },
  ],
}
