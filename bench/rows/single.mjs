// One job, awaited: beside the least that any durable write costs, which is one row committed.
import { percentile } from '../figures.mjs'
import { openStage, within } from '../stage.mjs'

const systems = ['holdfast', 'floor', 'graphile-worker', 'pg-boss', 'bullmq-redis']
/** Two more of ours, with a worker that runs what comes: one that hears notifications, one that does not ask for them. */
const withWorker = { notified: { listen: true }, 'not notified': { listen: false } }

/** All are there throughout and take turns: a few at a time each, many rounds. */
async function open(bench) {
  const stages = []
  const producers = {}
  const close = () => Promise.all(stages.map((stage) => stage.close()))
  const enter = async (name, system, worker) => {
    const stage = await openStage(bench, system)
    stages.push(stage)
    const producer = await stage.start()
    await producer.call('openProducer', { connections: 32 })
    if (worker) await (await stage.start()).call('work', worker)
    await producer.call('singles', { count: 400, atOnce: 32 })
    producers[name] = producer
  }
  try {
    for (const system of systems) await enter(system, system).catch((error) => console.error(`${system}: ${error.message}`))
    for (const [name, worker] of Object.entries(withWorker)) await enter(name, 'holdfast', worker)
  } catch (error) {
    await close()
    throw error
  }
  return { producers, close }
}

async function alone(producer, count) {
  const { times } = await producer.call('singles', { count, atOnce: 1 })
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

/** Long enough that what is measured is the steady state: a worker that is notified often asks not to be. */
const steady = (producer, count) => together(producer, count * 5)

async function together(producer, count) {
  const { times, ms } = await producer.call('singles', { count, atOnce: 32 })
  return { rate32: (times.length / ms) * 1000, p50of32: percentile(times, 0.5), p99of32: percentile(times, 0.99) }
}

const taking = (name, ...turns) => [
  name,
  (bench, size, { producers }) =>
    within(
      bench.limitMs,
      (async () => {
        const figures = {}
        for (const turn of turns) Object.assign(figures, await turn(producers[name], turn === alone ? size.alone : size.together))
        return figures
      })(),
    ),
]

export default {
  name: 'single',
  sizes: {
    quick: { alone: 50, together: 300, rounds: 2 },
    short: { alone: 150, together: 1_500, rounds: 5 },
    full: { alone: 500, together: 5_000, rounds: 15 },
  },
  open,
  contestants: Object.fromEntries([
    ...systems.map((system) => taking(system, alone, together)),
    ...Object.keys(withWorker).map((name) => taking(name, steady)),
  ]),
  rows: [
    {
      name: 'single',
      title: () => 'single awaited enqueue, one after the other: p50',
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis'],
      floors: { 'one-row commit': 'floor' },
      bars: [{ against: 'floor', atMost: 1.3, text: '≤ 1.3× a bare one-row commit' }],
    },
    {
      name: 'single-32',
      title: () => 'single awaited enqueue, 32 at once',
      unit: 'jobs/s',
      figure: 'rate32',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis'],
      floors: { 'one-row commit': 'floor' },
      bars: [{ against: 'floor', atLeast: 0.8, text: '≥ 80 % of the bare rate' }],
    },
    {
      name: 'single-notify',
      title: () => 'single awaited enqueue, 32 at once, with a worker that is notified by LISTEN/NOTIFY',
      unit: 'jobs/s',
      figure: 'rate32',
      holdfast: 'notified',
      others: ['not notified'],
      bars: [{ against: 'not notified', atLeast: 0.9, text: 'costs < 10 %' }],
    },
  ],
}
