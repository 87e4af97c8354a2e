// Handlers that wait for a millisecond, as for an answer from nearby: how much of what the event loop can do is left to them.
import { drain, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const options = { concurrency: 100, handlerMs: 1 }

const running =
  (system, { isQueue }) =>
  (bench, { jobs }) =>
    onStage(bench, system, async (stage) => {
      if (isQueue) await fill(stage, jobs)
      const { seen, ...figures } = await drain(stage, { jobs, options: { ...options, jobs } })
      return figures
    })

export default {
  name: 'timers',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 60_000, rounds: 3 },
    full: { jobs: 300_000, rounds: 5 },
  },
  contestants: { holdfast: running('holdfast', { isQueue: true }), 'event-loop': running('event-loop', { isQueue: false }) },
  rows: [
    {
      name: 'timers',
      title: ({ jobs }) => `drain of ${jobs.toLocaleString('en')} jobs that wait 1 ms, 100 at once`,
      unit: 'jobs/s',
      figure: 'rate',
      floors: { 'the event loop alone': 'event-loop' },
      bars: [{ against: 'event-loop', atLeast: 0.8, text: '≥ 80 % of the event loop alone' }],
    },
  ],
}
