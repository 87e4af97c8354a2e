// Enqueue over HTTP: at a rate that a few services together have, and a hundred jobs in one request. Nobody to compare with; the
// bars are times.
import { fileURLToPath } from 'node:url'
import { onStage } from '../stage.mjs'

const program = fileURLToPath(new URL('../http-program.mjs', import.meta.url))

const asking = (bench, { seconds, rate, jobs }) =>
  onStage(
    bench,
    'holdfast',
    async (stage) => {
      const [server, caller] = [await stage.start(), await stage.start()]
      const at = await server.call('serve')
      await caller.call('load', { ...at, rate, seconds: 1 })
      const single = await caller.call('load', { ...at, rate, seconds })
      // Otherwise the figures would be those of another rate.
      if (single.rate < rate * 0.9) throw new Error(`only ${Math.round(single.rate)} of ${rate} requests a second were answered`)
      const many = await caller.call('load', { ...at, seconds: Math.ceil(seconds / 3), jobs })
      await caller.call('worst', { ...at, times: 1 })
      await server.call('stoodStill')
      await caller.call('worst', { ...at, times: 3 })
      const still = await server.call('stoodStill')
      return { p50: single.p50, p99: single.p99, jobs: many.p50, jobsP99: many.p99, rate: single.rate, still }
    },
    { program },
  )

export default {
  name: 'http',
  sizes: {
    quick: { rate: 100, jobs: 100, seconds: 3, rounds: 1 },
    short: { rate: 500, jobs: 100, seconds: 8, rounds: 2 },
    full: { rate: 500, jobs: 100, seconds: 30, rounds: 3 },
  },
  contestants: { holdfast: asking },
  rows: [
    {
      name: 'http-p50',
      title: ({ rate }) => `enqueue over HTTP at ${rate} a second: p50`,
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      bars: [{ value: true, below: 5 }],
    },
    {
      name: 'http-p99',
      title: ({ rate }) => `enqueue over HTTP at ${rate} a second: p99`,
      unit: 'ms',
      figure: 'p99',
      better: 'lower',
      bars: [{ value: true, below: 50 }],
    },
    {
      name: 'http-bulk',
      title: ({ jobs }) => `${jobs} jobs in one request over HTTP: p50`,
      unit: 'ms',
      figure: 'jobs',
      better: 'lower',
      bars: [{ value: true, below: 50 }],
    },
    {
      name: 'http-still',
      title: () => 'the longest that one request of 8 MB held the server up',
      unit: 'ms',
      figure: 'still',
      better: 'lower',
      bars: [{ value: true, below: 50 }],
    },
  ],
}
