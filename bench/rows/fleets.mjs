// What a fleet of worker processes costs: connections and processor time at rest, and connections and throughput under load.
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { drainBy, fill, setLane, untilSettled } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const startAtOnce = 10
const pauseMs = 5
const warmUp = 60
const httpProgram = fileURLToPath(new URL('../http-program.mjs', import.meta.url))

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

/** The average over that time, and the most. */
async function watch(stage, ms, over = () => false) {
  const seen = []
  for (const until = performance.now() + ms; performance.now() < until && !over(); ) {
    seen.push(await connectionsOf(stage))
    await pause(200)
  }
  return { average: seen.reduce((sum, count) => sum + count, 0) / seen.length, most: Math.max(...seen) }
}

/** Starting and ending a hundred processes takes longer on two cores than most rows take. */
const patient = (bench) => ({ ...bench, limitMs: bench.limitMs * 4 })

const resting =
  (which) =>
  (bench, { [which]: workers, settle, seconds, starts }) =>
    onStage(patient(bench), 'holdfast', async (stage) => {
      const programs = await startAll(stage, workers, { watch: false, goal: 'latency' })
      // After that the connections that only the start needed are closed; in a full run, what comes every fifteen seconds has come twice.
      await pause(settle * 1000)
      const usage = async () => {
        const usages = await Promise.all(programs.map((program) => program.call('usage')))
        return usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0) + stage.serverCpuMs()
      }
      const [before, begun] = [await usage(), performance.now()]
      const connections = (await watch(stage, seconds * 1000)).average / workers
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

/**
 * `together`: how many handlers run at once in all workers. `served`: an HTTP server stands beside them and is asked all the time.
 * The lane is drained until every worker has started: a hundred processes take half a minute for that on two cores, and the first of
 * them would have done all the work meanwhile. And each has run some jobs before: what a process and its connections compile at first
 * takes as long as hundreds of jobs.
 */
const working =
  (which, { served = false } = {}) =>
  (bench, { [which]: workers, together, jobs }) =>
    onStage(patient(bench), 'holdfast', async (stage) => {
      await setLane(stage, false)
      await fill(stage, warmUp * workers)
      const options = { concurrency: Math.ceil(together / workers), handlerMs: pauseMs, lookMs: Math.max(5, workers) }
      let over = false
      const sinceTheStart = watch(stage, bench.limitMs, () => over)
      const programs = await startAll(stage, workers, options)
      const calling = served ? await serve(stage) : undefined
      await setLane(stage, true)
      await untilSettled(programs, warmUp * workers)
      await setLane(stage, false)
      await fill(stage, jobs)
      await Promise.all(programs.map((program) => program.call('forget')))
      const whileBusy = watch(stage, bench.limitMs, () => over)
      const { seen, ...figures } = await drainBy(stage, programs, { jobs, begin: () => setLane(stage, true) })
      over = true
      await calling?.end()
      return { ...figures, connections: (await whileBusy).average / workers, most: (await sinceTheStart).most }
    })

async function serve(stage) {
  const [server, caller] = [await stage.start({ program: httpProgram }), await stage.start({ program: httpProgram })]
  const at = await server.call('serve')
  let over = false
  const loads = (async () => {
    while (!over) await caller.call('load', { ...at, rate: 50, seconds: 5 })
  })()
  // Its end says what went wrong; until then nobody listens.
  loads.catch(() => {})
  return {
    async end() {
      over = true
      await loads
    },
  }
}

export default {
  name: 'fleets',
  sizes: {
    quick: { large: 12, small: 3, some: 6, together: 24, settle: 12, seconds: 5, starts: 20, jobs: 2_000, rounds: 1 },
    short: { large: 100, small: 10, some: 30, together: 200, settle: 20, seconds: 15, starts: 100, jobs: 20_000, rounds: 1 },
    full: { large: 100, small: 10, some: 30, together: 200, settle: 35, seconds: 60, starts: 200, jobs: 100_000, rounds: 2 },
  },
  contestants: {
    'large at rest': resting('large'),
    'small at rest': resting('small'),
    'large busy': working('large'),
    'small busy': working('small'),
    'some and a server': working('some', { served: true }),
  },
  rows: [
    {
      name: 'fleet-connections',
      title: ({ large }) => `idle fleet of ${large} workers: connections of each`,
      unit: 'connections',
      figure: 'connections',
      better: 'lower',
      holdfast: 'large at rest',
      others: ['small at rest'],
      bars: [{ value: true, atMost: 1.1 }],
    },
    {
      name: 'fleet-cpu',
      title: ({ large }) => `idle fleet of ${large} workers: CPU, Postgres included`,
      unit: '% of one core',
      figure: 'cpu',
      better: 'lower',
      holdfast: 'large at rest',
      others: ['small at rest'],
      bars: [{ value: true, below: 6, text: '< 6 % of one core in all' }],
    },
    {
      name: 'fleet-start',
      title: ({ large }) => `enqueue to start, idle fleet of ${large} workers: p50`,
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      holdfast: 'large at rest',
      others: ['small at rest'],
      bars: [{ against: 'small at rest', atMost: 1.5, text: "≤ 1.5× a fleet of ten's" }],
    },
    {
      name: 'fleet-busy',
      title: ({ jobs, large, together }) =>
        `drain of ${jobs.toLocaleString('en')} jobs of ${pauseMs} ms by ${large} workers, ${together} at once in all`,
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'large busy',
      others: ['small busy'],
      bars: [{ against: 'small busy', atLeast: 0.9, text: '≥ 90 % of a tenth of the workers with as many at once' }],
    },
    {
      name: 'fleet-busy-connections',
      title: () => 'the same: connections of each worker',
      unit: 'connections',
      figure: 'connections',
      better: 'lower',
      holdfast: 'large busy',
      others: ['small busy'],
      bars: [
        { value: true, atMost: 2 },
        // Three of 250 are kept for superusers.
        { figure: 'most', value: true, atMost: 247, text: '≤ 247 in all: they start where a server has 250' },
      ],
    },
    {
      name: 'fleet-default',
      title: ({ some }) => `${some} busy workers and an HTTP server: connections in all, the most at once`,
      unit: 'connections',
      figure: 'most',
      better: 'lower',
      holdfast: 'some and a server',
      bars: [{ value: true, atMost: 70 }],
    },
  ],
}
