// Very many jobs that become due at the same moment, by their schedule or because all of them have failed: how fast they are done
// from that moment on, and how soon jobs of another lane start meanwhile.
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from '../../dist/index.js'
import { drain, fill } from '../draining.mjs'
import { percentile } from '../figures.mjs'
import { fillDue, makeDue } from '../filling.mjs'
import { onStage } from '../stage.mjs'

const other = { type: 'other', lane: 'interactive', ms: 0, isWatched: true }
const warming = 20

/** Seconds in which they are certainly all stored. */
const soon = (jobs) => 5 + jobs / 12_000

/** How they come to wait: what is done before the worker starts, and what makes them due, which answers in how many milliseconds. */
const ways = {
  scheduled: {
    share: 1,
    async begin() {},
    makeDue: ({ client }, jobs) => fillDue(client, jobs, soon(jobs)),
  },
  failed: {
    share: 0.2,
    async begin(stage, jobs) {
      await fill(stage, jobs)
      const failing = await stage.start()
      await failing.call('work', { isFailing: true })
      while ((await waitingIn(stage)) < jobs) await pause(100)
      await failing.close()
    },
    makeDue: ({ client }, jobs) => makeDue(client, soon(jobs)),
  },
}

async function waitingIn({ client }) {
  const { rows } = await client.query("select count(*)::integer as n from holdfast.waiting where status = 'failed'")
  return rows[0].n
}

async function prepare({ url }) {
  const holdfast = new Holdfast({ connectionString: url })
  try {
    await holdfast.registerTypes([defineType({ type: other.type, lane: other.lane })])
    // That so many fail is what is measured, and no reason to stop the type.
    await holdfast.flow.limit('bench', { breaker: false }, { by: 'ada' })
  } finally {
    await holdfast.close()
  }
}

const now = () => Number(process.hrtime.bigint()) / 1e6

const bursting =
  ({ share, begin, makeDue: makeThemDue }) =>
  (bench, size) =>
    onStage(bench, 'holdfast', async (stage) => {
      const jobs = size.jobs * share
      await prepare(stage)
      await begin(stage, jobs)
      const [worker, producer] = [await stage.start(), await stage.start()]
      await worker.call('work', { beside: other })
      await producer.call('openProducer', { type: other.type })
      await producer.call('trickle', { count: warming })
      const dueAt = (await makeThemDue(stage, jobs)) + now()
      await pause(dueAt - now())
      while ((await worker.call('progress')).settled < jobs) await producer.call('trickle', { count: 5 })
      const { lastAt, latencies } = await worker.call('seen')
      const counted = latencies.slice(warming)
      return {
        rate: (jobs / (lastAt - dueAt)) * 1000,
        p50: percentile(counted, 0.5),
        p99: percentile(counted, 0.99),
        highest: Math.max(...counted),
      }
    })

/** As many jobs that are free from the start: what fills the queue and what drains it grow with their number. */
const plain =
  ({ share }) =>
  (bench, size) =>
    onStage(bench, 'holdfast', async (stage) => {
      const jobs = size.jobs * share
      await fill(stage, jobs)
      const { rate } = await drain(stage, { jobs })
      return { rate }
    })

const plainOf = { scheduled: 'plain jobs', failed: 'as many plain jobs' }

const rowsOf = (name, contestant, what) => [
  {
    name,
    title: ({ jobs }) => `${(jobs * ways[contestant].share).toLocaleString('en')} jobs ${what}: drained from that second on`,
    unit: 'jobs/s',
    figure: 'rate',
    holdfast: contestant,
    others: [plainOf[contestant]],
    bars: [{ against: plainOf[contestant], atLeast: 0.7, text: '≥ 70 % of as many plain jobs' }],
  },
  {
    name: `${name}-others`,
    title: () => 'meanwhile, enqueue to start of jobs of another lane: p99',
    unit: 'ms',
    figure: 'p99',
    better: 'lower',
    holdfast: contestant,
    bars: [{ value: true, atMost: 50 }],
  },
]

export default {
  name: 'bursts',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 200_000, rounds: 1 },
    full: { jobs: 1_000_000, rounds: 2 },
  },
  contestants: {
    scheduled: bursting(ways.scheduled),
    failed: bursting(ways.failed),
    [plainOf.scheduled]: plain(ways.scheduled),
    [plainOf.failed]: plain(ways.failed),
  },
  rows: [
    ...rowsOf('burst', 'scheduled', 'scheduled for the same second'),
    ...rowsOf('retry-storm', 'failed', 'that failed once and are due again in the same second'),
  ],
}
