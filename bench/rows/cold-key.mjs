// How soon the first job of a key starts while another key of the type has a backlog that keeps the worker busy.
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from '../../dist/index.js'
import { percentile } from '../figures.mjs'
import { onStage } from '../stage.mjs'
import { makePayload } from '../systems/payload.mjs'

/** The monotonic clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6

/** docs/flow-control.md: in the next claim of the type, after what a worker gets done in 50 ms. Two claims and two commits are the rest. */
const boundMs = 100

/** A fast machine gets through the hot key before the last cold job: then the key is filled up, so that this many of it always wait. */
const least = 20_000

/** `hot`: how many jobs of one key wait at the beginning. Each cold job has a key that no other has. */
const starting =
  (limits) =>
  (bench, { hot, cold }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const holdfast = new Holdfast({ connectionString: stage.url })
      try {
        await holdfast.registerTypes([defineType({ type: 'bench' })], { update: true })
        if (limits) await holdfast.flow.limit('bench', limits, { by: 'ada' })
        const some = Array.from({ length: 1_000 }, () => ({ type: 'bench', payload: makePayload(), concurrencyKey: 'hot' }))
        let stored = 0
        const fillUp = async (jobs) => {
          for (; stored < jobs; stored += some.length) await holdfast.enqueueMany(some)
        }
        await fillUp(hot)
        await stage.client.query('vacuum analyze')
        const worker = await stage.start()
        // A millisecond each: the hot key is busy from the first cold job to the last.
        await worker.call('work', { handlerMs: 1 })
        while ((await worker.call('progress')).settled === 0) await pause(10)
        for (let i = 0; i < cold; i++) {
          await fillUp((await worker.call('progress')).settled + least)
          await holdfast.enqueue('bench', makePayload(now()), { concurrencyKey: `cold ${i}` })
          await pause(15 + Math.random() * 20)
        }
        let latencies = []
        while (latencies.length < cold) {
          await fillUp((await worker.call('progress')).settled + least)
          await pause(20)
          latencies = (await worker.call('seen')).latencies
        }
        await worker.close()
        return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
      } finally {
        await holdfast.close()
      }
    })

export default {
  name: 'cold-key',
  sizes: {
    quick: { hot: 40_000, cold: 30, rounds: 1 },
    short: { hot: 150_000, cold: 150, rounds: 2 },
    full: { hot: 900_000, cold: 1_000, rounds: 3 },
  },
  contestants: { 'one a key': starting({ maxRunningPerKey: 1 }), fair: starting({ fair: true }) },
  rows: [
    {
      name: 'cold-key',
      title: ({ hot }) => `enqueue to start of the first job of a key beside a key with ${hot.toLocaleString('en')} jobs: p99`,
      unit: 'ms',
      figure: 'p99',
      better: 'lower',
      holdfast: 'one a key',
      others: ['fair'],
      bars: [
        { value: true, atMost: boundMs, text: `≤ ${boundMs} ms: the 50 ms that workers hold, and two claims` },
        { of: 'fair', value: true, atMost: boundMs, text: 'where keys take turns too' },
      ],
    },
  ],
}
