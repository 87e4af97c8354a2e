// A batch from its creation to its callback, and how long it takes to read how far it is meanwhile.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from '../../dist/index.js'
import { drain, fill } from '../draining.mjs'
import { percentile } from '../figures.mjs'
import { onStage } from '../stage.mjs'
import { makePayloads } from '../systems/payload.mjs'

const job = (payload) => ({ type: 'bench', payload })

/** By the database's clock: from the end of the last member to the start of the callback, which starts last of all. */
const callbackMs = `
  select 1000 * extract(epoch from max(started_at) - (select ended_at from holdfast.history order by ended_at desc offset 1 limit 1))::float8 as ms
  from holdfast.history`

const batching = (bench, { members }) =>
  onStage(bench, 'holdfast', async (stage) => {
    const holdfast = new Holdfast({ connectionString: stage.url })
    try {
      const begun = performance.now()
      const { id } = await holdfast.batch({ name: 'bench', jobs: makePayloads(members).map(job), onComplete: job({}) })
      const createSeconds = (performance.now() - begun) / 1000
      await stage.client.query('vacuum analyze')
      const reads = []
      let over = false
      const reading = (async () => {
        while (!over) {
          const asked = performance.now()
          await holdfast.batches.get(id)
          reads.push(performance.now() - asked)
          await pause(20)
        }
      })()
      // The callback is one more, and comes last.
      const { rate, wal, cpu } = await drain(stage, { jobs: members + 1 }).finally(() => {
        over = true
      })
      await reading
      const { status, completed } = await holdfast.batches.get(id)
      if (status !== 'succeeded' || completed !== members) throw new Error(`the batch is ${status} with ${completed} completed`)
      const { rows } = await stage.client.query(callbackMs)
      const read = { readP50: percentile(reads, 0.5), readP99: percentile(reads, 0.99) }
      return { create: members / createSeconds, rate, wal, cpu, callback: rows[0].ms, ...read }
    } finally {
      await holdfast.close()
    }
  })

const plain = (bench, { members }) =>
  onStage(bench, 'holdfast', async (stage) => {
    const ms = await fill(stage, members)
    const { rate, wal, cpu } = await drain(stage, { jobs: members })
    return { create: (members / ms) * 1000, rate, wal, cpu }
  })

export default {
  name: 'batch',
  sizes: {
    quick: { members: 10_000, rounds: 1 },
    short: { members: 100_000, rounds: 2 },
    full: { members: 100_000, rounds: 5 },
  },
  contestants: { holdfast: batching, 'plain jobs': plain },
  rows: [
    {
      name: 'batch',
      title: ({ members }) => `a batch of ${members.toLocaleString('en')} members that do nothing: run, the callback included`,
      unit: 'jobs/s',
      figure: 'rate',
      others: ['plain jobs'],
      bars: [],
    },
    {
      name: 'batch-create',
      title: () => 'the same: created, all members in one transaction',
      unit: 'jobs/s',
      figure: 'create',
      others: ['plain jobs'],
      bars: [],
    },
    {
      name: 'batch-callback',
      title: () => 'the same: from the end of the last member to the start of the callback',
      unit: 'ms',
      figure: 'callback',
      better: 'lower',
      bars: [],
    },
    {
      name: 'batch-progress',
      title: () => 'the same: reading its progress while it runs, p50',
      unit: 'ms',
      figure: 'readP50',
      better: 'lower',
      bars: [{ value: true, below: 10 }],
    },
  ],
}
