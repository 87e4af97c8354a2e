// Whether a type without limits is drained any slower while another one has limits and a backlog.
import { defineType, Holdfast } from '../../dist/index.js'
import { drain, fill } from '../draining.mjs'
import { fillGated } from '../filling.mjs'
import { onStage } from '../stage.mjs'

/** The other type's handler waits this long, as for somebody else's answer: its own work is next to nothing. */
const beside = { type: 'beside', ms: 50 }

const emptying =
  ({ limits, keys }) =>
  (bench, { jobs, backlog }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const holdfast = new Holdfast({ connectionString: stage.url })
      try {
        await holdfast.registerTypes([defineType({ type: beside.type })])
        if (limits) await holdfast.flow.limit(beside.type, limits, { by: 'ada' })
      } finally {
        await holdfast.close()
      }
      if (limits) await fillGated(stage.client, beside.type, backlog, { keys })
      await stage.client.query('checkpoint')
      await fill(stage, jobs)
      const { seen, ...figures } = await drain(stage, { jobs, options: { beside } })
      return figures
    })

export default {
  name: 'limits',
  sizes: {
    quick: { jobs: 10_000, backlog: 5_000, rounds: 1 },
    short: { jobs: 80_000, backlog: 50_000, rounds: 3 },
    full: { jobs: 200_000, backlog: 200_000, rounds: 5 },
  },
  contestants: {
    holdfast: emptying({ limits: { maxRunning: 2, rate: { count: 20, per: '1s' } } }),
    'holdfast beside keys': emptying({ limits: { maxRunning: 4, maxRunningPerKey: 1, fair: true }, keys: 1_000 }),
    'holdfast alone': emptying({}),
  },
  rows: [
    {
      name: 'limits',
      title: ({ jobs, backlog }) =>
        `drain of ${jobs.toLocaleString('en')} jobs without limits while ${backlog.toLocaleString('en')} of another type wait for theirs`,
      unit: 'jobs/s',
      figure: 'rate',
      others: ['holdfast beside keys', 'holdfast alone'],
      bars: [
        { against: 'holdfast alone', atLeast: 0.95, text: '≥ 95 % of the rate alone' },
        { of: 'holdfast beside keys', against: 'holdfast alone', atLeast: 0.95, text: 'beside limits per key too' },
      ],
    },
  ],
}
