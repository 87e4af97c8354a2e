// How long one scrape of /metrics takes beside very many rows: half of them wait, half have completed.
import { defineType, Holdfast } from '../../dist/index.js'
import { createServer } from '../../dist/server/index.js'
import { percentile } from '../figures.mjs'
import { fillHistory, fillQueue } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'

const adminKey = 'hf_bench_0000000000000000000000000000000000000000'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

async function open(bench, { jobs }) {
  const stage = await openStage(bench, 'holdfast')
  const holdfast = new Holdfast({ connectionString: stage.url })
  const server = createServer(holdfast, { adminKey, logger: quiet })
  const close = async () => {
    await server.close()
    await holdfast.close()
    await stage.close()
  }
  try {
    await holdfast.registerTypes([defineType({ type: 'many' })])
    await fillQueue(stage.client, 'many', jobs / 2)
    await fillHistory(stage.client, jobs / 2)
    await server.ready()
  } catch (error) {
    await close()
    throw error
  }
  return { server, close }
}

const scraping = (bench, { times: count }, { server }) =>
  within(
    bench.limitMs,
    (async () => {
      const times = []
      for (let i = 0; i < count; i++) {
        const begun = performance.now()
        const { statusCode, body } = await server.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } })
        times.push(performance.now() - begun)
        if (statusCode !== 200 || !body.includes('type="many"'))
          throw new Error(`it was answered ${statusCode}: ${body.slice(0, 200)}`)
      }
      return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
    })(),
  )

export default {
  name: 'metrics',
  sizes: {
    quick: { jobs: 20_000, times: 20, rounds: 1 },
    short: { jobs: 1_000_000, times: 100, rounds: 2 },
    full: { jobs: 10_000_000, times: 200, rounds: 3 },
  },
  open,
  contestants: { holdfast: scraping },
  rows: [
    {
      name: 'metrics',
      title: ({ jobs }) => `one scrape of /metrics beside ${jobs.toLocaleString('en')} jobs: p99`,
      unit: 'ms',
      figure: 'p99',
      better: 'lower',
      bars: [{ value: true, below: 50 }],
    },
  ],
}
