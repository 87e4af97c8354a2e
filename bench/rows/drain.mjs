// How fast a queue of jobs that do nothing is emptied, and what each job costs the database.
import { drain, drainWarm, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

const emptying = (system, { share = 1 } = {}) => [
  system,
  (bench, size) =>
    onStage(bench, system, async (stage) => {
      const jobs = Math.ceil(size.jobs * share)
      await stage.client?.query('checkpoint')
      await fill(stage, jobs)
      const { seen, ...figures } = await drain(stage, { jobs })
      return figures
    }),
]

/** By that many workers, all of which are warm. */
const warm =
  (workers) =>
  (bench, { jobs }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const { seen, ...figures } = await drainWarm(stage, { jobs, workers, fill: (count) => fill(stage, count) })
      return figures
    })

export default {
  name: 'drain',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 80_000, rounds: 3 },
    full: { jobs: 200_000, rounds: 4 },
  },
  contestants: Object.fromEntries([
    emptying('holdfast'),
    ['holdfast, warm', warm(1)],
    ['holdfast ×4', warm(4)],
    emptying('holdfast-sql'),
    emptying('graphile-worker'),
    emptying('pg-boss'),
    emptying('bullmq-redis', { share: 0.5 }),
    // Forty times slower than the others: a twentieth of the jobs tells as much.
    emptying('bullmq-postgres', { share: 0.05 }),
    emptying('floor'),
  ]),
  rows: [
    {
      name: 'drain',
      title: ({ jobs }) => `drain of ${jobs.toLocaleString('en')} no-op jobs, one worker process`,
      unit: 'jobs/s',
      figure: 'rate',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis', 'bullmq-postgres'],
      floors: { 'append-only log': 'floor' },
      others: ['holdfast-sql'],
      bars: [
        { against: 'graphile-worker', atLeast: 1.5 },
        { against: 'pg-boss', atLeast: 3 },
        { against: 'bullmq-redis', atLeast: 4 },
        { against: 'floor', atLeast: 0.5, stretch: true },
      ],
    },
    {
      name: 'drain-4',
      title: () => 'the same with 4 worker processes that have run jobs before',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'holdfast ×4',
      others: ['holdfast, warm'],
      bars: [{ against: 'holdfast, warm', atLeast: 1, text: 'not less than with one' }],
    },
    {
      name: 'wal',
      title: () => 'WAL bytes per job, enqueue excluded',
      unit: 'bytes',
      figure: 'wal',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-postgres'],
      floors: { 'append-only log': 'floor' },
      bars: [
        { value: true, atMost: 470 },
        { value: true, atMost: 300, stretch: true },
      ],
    },
    {
      name: 'commits',
      title: () => 'commits per job (many at a time)',
      unit: 'commits',
      figure: 'commits',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-postgres'],
      floors: { 'append-only log': 'floor' },
      bars: [{ value: true, below: 0.02 }],
    },
    {
      name: 'cpu',
      title: () => 'CPU time per job, worker and Postgres together',
      unit: 'µs',
      figure: 'cpu',
      better: 'lower',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-postgres'],
      floors: { 'append-only log': 'floor' },
      bars: [],
    },
  ],
}
