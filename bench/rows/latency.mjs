// How soon a job starts when nothing else is to be done.
import { setTimeout as pause } from 'node:timers/promises'
import { percentile } from '../figures.mjs'
import { onStage } from '../stage.mjs'

/** After this a worker has fallen asleep and has to be woken. */
const idleAfterMs = 3_000

const starting = (system) => [
  system,
  (bench, { count }) =>
    onStage(bench, system, async (stage) => {
      const [worker, producer] = [await stage.start(), await stage.start()]
      await worker.call('work', { goal: 'latency' })
      await producer.call('openProducer', { goal: 'latency' })
      await producer.call('trickle', { count: 20 })
      await pause(idleAfterMs)
      await producer.call('trickle', { count })
      const { latencies } = await worker.call('seen')
      const counted = latencies.slice(20)
      if (counted.length < count * 0.9) throw new Error(`only ${counted.length} of ${count} jobs started`)
      return { p50: percentile(counted, 0.5), p99: percentile(counted, 0.99) }
    }),
]

export default {
  name: 'latency',
  sizes: {
    quick: { count: 40, rounds: 1 },
    short: { count: 250, rounds: 1 },
    full: { count: 1_000, rounds: 3 },
  },
  contestants: Object.fromEntries(['holdfast', 'graphile-worker', 'pg-boss', 'bullmq-redis', 'two-commits'].map(starting)),
  rows: [
    {
      name: 'latency',
      title: () => 'enqueue (called) to start (handler begins), idle worker: p50',
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis'],
      floors: { 'two bare commits': 'two-commits' },
      bars: [{ against: 'graphile-worker', atMost: 1, text: "≤ graphile-worker's p50" }],
    },
    {
      name: 'latency-p99',
      title: () => 'enqueue to start, idle worker: p99',
      unit: 'ms',
      figure: 'p99',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis'],
      floors: { 'two bare commits': 'two-commits' },
      bars: [{ against: 'graphile-worker', againstFigure: 'p50', atMost: 2, text: "≤ 2× graphile-worker's p50" }],
    },
  ],
}
