// How fast many jobs are stored, a thousand a call, by one caller.
import { onStage } from '../stage.mjs'

const storing = (system, { how = 'many', share = 1 } = {}) => [
  system,
  (bench, size) =>
    onStage(bench, system, async (stage) => {
      const jobs = Math.ceil(size.jobs * share)
      const producer = await stage.start()
      await producer.call('openProducer')
      await producer.call('fill', { jobs: 3_000, how })
      await stage.client?.query('checkpoint')
      const ms = await producer.call('fill', { jobs, how })
      await producer.close()
      return { rate: (jobs / ms) * 1000 }
    }),
]

export default {
  name: 'bulk',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 40_000, rounds: 3 },
    full: { jobs: 200_000, rounds: 5 },
  },
  contestants: Object.fromEntries([
    storing('holdfast'),
    storing('graphile-worker'),
    storing('pg-boss'),
    storing('bullmq-redis', { share: 0.5 }),
    storing('bullmq-postgres', { share: 0.3 }),
    storing('floor'),
    ['copy', storing('floor', { how: 'copy' })[1]],
  ]),
  rows: [
    {
      name: 'bulk',
      title: () => 'bulk enqueue, 1,000 a call',
      unit: 'jobs/s',
      figure: 'rate',
      peers: ['graphile-worker', 'pg-boss', 'bullmq-redis', 'bullmq-postgres'],
      floors: { 'multi-row insert': 'floor', COPY: 'copy' },
      bars: [
        { against: 'graphile-worker', atLeast: 1.5, text: "≥ 1.5× graphile-worker's addJobs" },
        { against: 'floor', atLeast: 0.65, text: '≥ 65 % of the raw multi-row insert' },
      ],
    },
  ],
}
