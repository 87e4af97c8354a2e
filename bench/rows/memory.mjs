// What a worker process holds in memory over a long drain.
import { leanHeapFlags } from '../../dist/worker/lean-heap.js'
import { drain, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const megabyte = 1024 * 1024
/** At run time: given on the command line, V8 passes over it. */
const asTheCommandDoes = `import v8 from 'node:v8'; v8.setFlagsFromString('${leanHeapFlags}')`

const emptying =
  (system, execArgv = []) =>
  (bench, { jobs }) =>
    onStage(bench, system, async (stage) => {
      await fill(stage, jobs)
      const { seen } = await drain(stage, { jobs, execArgv })
      const notes = seen[0].timeline
      const peak = (from, to) =>
        Math.max(...notes.slice(Math.floor(notes.length * from), Math.ceil(notes.length * to)).map(({ rss }) => rss)) / megabyte
      return { peak: peak(0, 1), early: peak(0.25, 0.5), late: peak(0.75, 1) }
    })

export default {
  name: 'memory',
  sizes: {
    quick: { jobs: 20_000, rounds: 1 },
    short: { jobs: 200_000, rounds: 1 },
    full: { jobs: 1_000_000, rounds: 1 },
  },
  contestants: {
    // As `holdfast work` does; a worker inside of another program leaves that program's heap alone.
    holdfast: emptying('holdfast', ['--import', `data:text/javascript,${encodeURIComponent(asTheCommandDoes)}`]),
    'holdfast in another program': emptying('holdfast'),
    'graphile-worker': emptying('graphile-worker'),
  },
  rows: [
    {
      name: 'memory',
      title: ({ jobs }) => `memory of a worker over ${jobs.toLocaleString('en')} jobs: highest`,
      unit: 'MB',
      figure: 'peak',
      better: 'lower',
      peers: ['graphile-worker'],
      others: ['holdfast in another program'],
      bars: [
        { value: true, below: 150 },
        {
          figure: 'late',
          against: 'holdfast',
          againstFigure: 'early',
          atMost: 1.1,
          text: 'flat: last quarter ≤ 1.1× the second',
        },
      ],
    },
  ],
}
