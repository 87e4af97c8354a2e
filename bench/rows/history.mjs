// Whether a drain gets slower when many finished jobs are kept.
import { drain, fill } from '../draining.mjs'
import { fillHistory } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'

/** Two databases, one with a past, and drains in each by turns. */
async function open(bench, { finished }) {
  const stages = []
  const close = async () => {
    for (const stage of stages) await stage.close()
  }
  try {
    for (const past of [finished, 0]) {
      const stage = await openStage(bench, 'holdfast')
      stages.push(stage)
      await fillHistory(stage.client, past)
      await stage.client.query('checkpoint')
    }
  } catch (error) {
    await close()
    throw error
  }
  return { stages, close }
}

const emptying =
  (which) =>
  (bench, { jobs }, { stages }) =>
    within(
      bench.limitMs,
      (async () => {
        await fill(stages[which], jobs)
        const { seen, ...figures } = await drain(stages[which], { jobs })
        return figures
      })(),
    )

export default {
  name: 'history',
  sizes: {
    quick: { finished: 50_000, jobs: 10_000, rounds: 1 },
    short: { finished: 1_000_000, jobs: 80_000, rounds: 3 },
    full: { finished: 10_000_000, jobs: 200_000, rounds: 5 },
  },
  open,
  contestants: { holdfast: emptying(0), 'holdfast without a past': emptying(1) },
  rows: [
    {
      name: 'history',
      title: ({ finished }) => `drain with ${finished.toLocaleString('en')} finished jobs kept`,
      unit: 'jobs/s',
      figure: 'rate',
      others: ['holdfast without a past'],
      bars: [{ against: 'holdfast without a past', atLeast: 0.95, text: '≥ 95 % of the rate without any' }],
    },
  ],
}
