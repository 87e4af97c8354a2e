// A transaction that somebody holds open, as a forgotten report or a backup does: nothing dead can be removed meanwhile.
import { drain, fill, quarterRates } from '../draining.mjs'
import { connect } from '../server.mjs'
import { onStage } from '../stage.mjs'

const emptying =
  (system, { held }) =>
  (bench, { jobs }) =>
    onStage(bench, system, async (stage) => {
      const holder = held ? await connect(stage.url) : undefined
      await holder?.query('begin isolation level repeatable read')
      await holder?.query('select count(*) from pg_class')
      try {
        await fill(stage, jobs)
        const { rate, seen } = await drain(stage, { jobs })
        const [first, second, third, last] = quarterRates(seen[0], jobs)
        return { rate, first, second, third, last }
      } finally {
        await holder?.end()
      }
    })

export default {
  name: 'held',
  sizes: {
    quick: { jobs: 20_000, rounds: 1 },
    short: { jobs: 80_000, rounds: 2 },
    full: { jobs: 300_000, rounds: 3 },
  },
  contestants: {
    holdfast: emptying('holdfast', { held: true }),
    'holdfast undisturbed': emptying('holdfast', { held: false }),
    'graphile-worker': emptying('graphile-worker', { held: true }),
    'graphile-worker undisturbed': emptying('graphile-worker', { held: false }),
  },
  rows: [
    {
      name: 'held',
      title: ({ jobs }) => `drain of ${jobs.toLocaleString('en')} jobs while a transaction is held open throughout`,
      unit: 'jobs/s',
      figure: 'rate',
      peers: ['graphile-worker'],
      others: ['holdfast undisturbed', 'graphile-worker undisturbed'],
      bars: [
        { against: 'holdfast undisturbed', atLeast: 0.9, text: '≥ 90 % of the undisturbed rate' },
        // As fast, within what two runs of the same differ by.
        { figure: 'last', against: 'holdfast', againstFigure: 'first', atLeast: 0.95, text: 'last quarter as fast as the first' },
      ],
    },
  ],
}
