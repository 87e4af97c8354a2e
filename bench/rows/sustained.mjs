// Jobs come while others are worked off: a producer process and a worker process, both as fast as they can.
import { setTimeout as pause } from 'node:timers/promises'
import { onStage } from '../stage.mjs'

/** So far may the producer be ahead: enough that the worker never waits, too little to be a drain of what lies there. */
const ahead = 20_000

const sustaining = (system) => [
  system,
  (bench, { seconds }) =>
    onStage(bench, system, async (stage) => {
      const [producer, worker] = [await stage.start(), await stage.start()]
      await producer.call('openProducer', { connections: 2 })
      await worker.call('work')
      const produced = producer.call('produce', { ahead })
      const settledAt = async (ms) => {
        const until = performance.now() + ms
        for (;;) {
          const { settled } = await worker.call('progress')
          await producer.call('allow', { settled })
          if (performance.now() >= until) return { settled, at: performance.now() }
          await pause(10)
        }
      }
      // What both processes do for the first time is not what they do for hours, and by then the tables have statistics.
      await settledAt(1_500)
      await stage.client.query('vacuum analyze')
      const first = await settledAt(500)
      const last = await settledAt(seconds * 1000)
      await producer.call('stopProducing')
      await produced
      return { rate: ((last.settled - first.settled) / (last.at - first.at)) * 1000 }
    }),
]

export default {
  name: 'sustained',
  sizes: {
    quick: { seconds: 2, rounds: 1 },
    short: { seconds: 5, rounds: 2 },
    full: { seconds: 60, rounds: 3 },
  },
  contestants: Object.fromEntries(['holdfast', 'graphile-worker', 'pg-boss'].map(sustaining)),
  rows: [
    {
      name: 'sustained',
      title: ({ seconds }) => `produce and consume at once, sustained ${seconds} s`,
      unit: 'jobs/s',
      figure: 'rate',
      peers: ['graphile-worker', 'pg-boss'],
      bars: [{ against: 'graphile-worker', atLeast: 1.5 }],
    },
  ],
}
