// What durable work costs: jobs of ten steps, and executions of three tasks, each beside DBOS.
import { drain } from '../draining.mjs'
import { onStage } from '../stage.mjs'

/** So many starts are under way at once where they cannot be sent in one statement. */
const each = 50

const draining =
  (system, kind, { count = 0, jobs: pick }) =>
  (bench, size) =>
    onStage(bench, system, async (stage) => {
      const jobs = size[pick]
      const producer = await stage.start()
      await producer.call('openProducer', { connections: 10, kind })
      const storedMs = await producer.call('fill', { jobs, each })
      await producer.close()
      await stage.client.query('vacuum analyze')
      await stage.client.query('checkpoint')
      const { seen, ...figures } = await drain(stage, { jobs, options: { kind, count } })
      return { ...figures, steps: figures.rate * count, stored: (jobs / storedMs) * 1000 }
    })

const ten = { count: 10, jobs: 'jobs' }
const three = { count: 3, jobs: 'executions' }
const ahead = { against: 'dbos', atLeast: 1, text: 'not slower than DBOS' }

export default {
  name: 'steps',
  sizes: {
    quick: { jobs: 300, executions: 100, rounds: 1 },
    short: { jobs: 500, executions: 1_000, rounds: 2 },
    full: { jobs: 20_000, executions: 1_000, rounds: 5 },
  },
  contestants: {
    holdfast: draining('holdfast-steps', 'steps', ten),
    'plain jobs': draining('holdfast-steps', 'plain', ten),
    checkpoints: draining('holdfast-steps', 'checkpoints', ten),
    dbos: draining('dbos', 'steps', ten),
    workflow: draining('holdfast-steps', 'workflow', three),
    'one job of 3 steps': draining('holdfast-steps', 'steps', three),
    'dbos, 3 steps': draining('dbos', 'steps', three),
  },
  rows: [
    {
      name: 'steps',
      title: ({ jobs }) => `${jobs.toLocaleString('en')} jobs of 10 steps`,
      unit: 'jobs/s',
      figure: 'rate',
      peers: ['dbos'],
      others: ['plain jobs', 'checkpoints'],
      bars: [ahead],
    },
    {
      name: 'steps-cpu',
      title: () => 'CPU time of a job of 10 steps, worker and Postgres together',
      unit: 'µs',
      figure: 'cpu',
      better: 'lower',
      peers: ['dbos'],
      others: ['plain jobs', 'checkpoints'],
      bars: [{ against: 'dbos', atMost: 1, text: 'not more than DBOS' }],
    },
    {
      name: 'steps-wal',
      title: () => 'WAL of a job of 10 steps, enqueue excluded',
      unit: 'bytes',
      figure: 'wal',
      better: 'lower',
      peers: ['dbos'],
      others: ['plain jobs', 'checkpoints'],
      bars: [],
    },
    {
      name: 'workflow',
      title: ({ executions }) => `${executions.toLocaleString('en')} executions of a workflow of 3 tasks, one after the other`,
      unit: 'executions/s',
      figure: 'rate',
      holdfast: 'workflow',
      peers: ['dbos, 3 steps'],
      others: ['one job of 3 steps'],
      bars: [{ against: 'dbos, 3 steps', atLeast: 1, text: 'not slower than DBOS' }],
    },
    {
      name: 'workflow-start',
      title: () => `the same: starts, ${each} under way at once`,
      unit: 'executions/s',
      figure: 'stored',
      holdfast: 'workflow',
      peers: ['dbos, 3 steps'],
      bars: [],
    },
  ],
}
