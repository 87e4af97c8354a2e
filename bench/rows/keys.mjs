// What a key costs an enqueue: an idempotency key, and a unique key, each of which no other job has.
import { percentile } from '../figures.mjs'
import { onStage } from '../stage.mjs'

const storing = (keys) => [
  keys,
  (bench, { jobs, singles }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const producer = await stage.start()
      await producer.call('openProducer', { keys })
      await producer.call('fill', { jobs: 3_000 })
      await stage.client.query('vacuum analyze')
      await stage.client.query('checkpoint')
      const ms = await producer.call('fill', { jobs })
      await producer.call('singles', { count: 50, atOnce: 1 })
      const { times } = await producer.call('singles', { count: singles, atOnce: 1 })
      await producer.close()
      return { rate: (jobs / ms) * 1000, p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
    }),
]

const kinds = ['idempotency key', 'unique']
const bars = (bar) => kinds.map((of) => ({ of, against: 'plain', ...bar, text: `${of}: ${bar.text}` }))

export default {
  name: 'keys',
  sizes: {
    quick: { jobs: 5_000, singles: 100, rounds: 1 },
    short: { jobs: 40_000, singles: 300, rounds: 2 },
    full: { jobs: 200_000, singles: 2_000, rounds: 5 },
  },
  contestants: Object.fromEntries(['plain', ...kinds].map(storing)),
  rows: [
    {
      name: 'keys-bulk',
      title: () => 'bulk enqueue, 1,000 a call, each with an idempotency key or a unique key',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'idempotency key',
      others: ['unique', 'plain'],
      bars: bars({ atLeast: 0.6, text: '≥ 60 % of plain' }),
    },
    {
      name: 'keys-single',
      title: () => 'single awaited enqueue with an idempotency key or a unique key: p50',
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      holdfast: 'idempotency key',
      others: ['unique', 'plain'],
      bars: bars({ atMost: 1.5, text: '≤ 1.5× plain' }),
    },
  ],
}
