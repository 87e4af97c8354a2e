// The latencies that the documents ask for, which Holdfast comes from (docs/requirements.md), with the document's number as the bar.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { defineType, Holdfast } from '../../dist/index.js'
import { insideOf } from '../../dist/inside.js'
import { drain, fill } from '../draining.mjs'
import { percentile } from '../figures.mjs'
import { fillBacklog } from '../filling.mjs'
import { onStage } from '../stage.mjs'
import { settleCompleted } from '../systems/holdfast-sql.mjs'

const payload = { text: 'x'.repeat(189) }

/** One operation after the other, each awaited, while other jobs wait: what a caller waits for. */
const operations = (bench, { count, depth }) =>
  onStage(bench, 'holdfast', async (stage) => {
    await fillBacklog(stage.client, depth)
    await stage.client.query('create table account (id uuid primary key, email text not null)')
    const holdfast = new Holdfast({ connectionString: stage.url, connections: 2 })
    const client = new pg.Client({ connectionString: stage.url })
    try {
      await client.connect()
      await holdfast.registerTypes([defineType({ type: 'absent', lane: 'system' })])
      return await timed(await acts(holdfast, client), count)
    } finally {
      await client.end()
      await holdfast.close()
    }
  })

/** What is timed, by name; a claim leaves what the settle after it ends. */
async function acts(holdfast, client) {
  const { store } = insideOf(holdfast)
  const [{ lane }] = await store.types(['bench'])
  const [{ lane: idle }] = await store.types(['absent'])
  const { id: worker } = await store.registerWorker({ name: 'bench', host: 'bench', pid: process.pid, version: '0', types: [] })
  const ask = { worker, types: null, limit: 1, inARow: 1, leaseMs: 60_000 }
  const after = Array(10).fill(0n)
  const four = Array.from({ length: 4 }, () => ({ type: 'bench', payload }))
  const hundred = Array.from({ length: 100 }, () => ({ type: 'bench', payload }))
  let claimed = []
  return {
    enqueue: () => holdfast.enqueue('bench', payload),
    async signup() {
      await client.query('begin')
      await client.query("insert into account values ($1, 'ada@example.com')", [randomUUID()])
      await holdfast.enqueueMany(four, { tx: client })
      await client.query('commit')
    },
    hundred: () => holdfast.enqueueMany(hundred),
    async claim() {
      claimed = await store.claim({ ...ask, lane, after })
      for (const { priority, seq } of claimed) if (BigInt(seq) > after[priority]) after[priority] = BigInt(seq)
    },
    settle: () => settleCompleted(store, worker, claimed),
    async poll() {
      if ((await store.claim({ ...ask, lane: idle, after: Array(10).fill(0n) })).length > 0) throw new Error('it was not idle')
    },
  }
}

/** In turns, so that whatever else the machine does hits all alike; the first twenty turns are not counted. */
async function timed(acts, count) {
  const times = Object.fromEntries(Object.keys(acts).map((name) => [name, []]))
  for (let turn = -20; turn < count; turn++) {
    for (const [name, act] of Object.entries(acts)) {
      const begun = performance.now()
      await act()
      if (turn >= 0) times[name].push(performance.now() - begun)
    }
  }
  const figures = Object.entries(times).map(([name, all]) => [
    [`${name}P50`, percentile(all, 0.5)],
    [`${name}P99`, percentile(all, 0.99)],
  ])
  return Object.fromEntries(figures.flat())
}

/** From the enqueue to the start of the handler, on a worker that is told of jobs or that finds them by its polls. */
const starting =
  (listen) =>
  (bench, { starts }) =>
    onStage(bench, 'holdfast', async (stage) => {
      const [worker, producer] = [await stage.start(), await stage.start()]
      await worker.call('work', { listen })
      await producer.call('openProducer')
      await producer.call('trickle', { count: starts })
      let latencies = []
      while (latencies.length < starts) {
        await pause(100)
        latencies = (await worker.call('seen')).latencies
      }
      return { startP50: percentile(latencies, 0.5), startP99: percentile(latencies, 0.99) }
    })

/** A task is one job here. Eight workers acquire them side by side. */
const eightWorkers = (bench, { tasks }) =>
  onStage(bench, 'holdfast', async (stage) => {
    await fill(stage, tasks)
    return { rate: (await drain(stage, { jobs: tasks, workers: 8 })).rate }
  })

const kafka = '*Postgres Job Queue Over Kafka*'
const skipLocked = '*PostgreSQL SKIP LOCKED as Task Queue*'
const chapter = '*Background Job Queue*'
const dispatch = '*Database-Driven Job Dispatch*'

/** A time in milliseconds, with what documents want it to be below: `[figure, number, document]`. */
const row = (name, title, ...bars) => ({
  ...{ name: `documents-${name}`, title: () => title, unit: 'ms', better: 'lower', figure: bars[0][0] },
  bars: bars.map(([figure, below, document]) => ({
    ...{ value: true, figure, below },
    text: `${figure.slice(-3).toLowerCase()} < ${below.toLocaleString('en')} ms (${document})`,
  })),
})

export default {
  name: 'documents',
  sizes: {
    quick: { count: 50, depth: 2_000, starts: 30, tasks: 4_000, rounds: 1 },
    short: { count: 500, depth: 10_000, starts: 200, tasks: 40_000, rounds: 3 },
    full: { count: 2_000, depth: 100_000, starts: 1_000, tasks: 200_000, rounds: 3 },
  },
  contestants: { holdfast: operations, told: starting(true), polling: starting(false), 'eight workers': eightWorkers },
  rows: [
    row('enqueue', 'enqueue of one job: p99', ['enqueueP99', 10, kafka], ['enqueueP50', 5, chapter], ['enqueueP99', 50, chapter]),
    row('signup', 'a row of the application and four jobs in one transaction: p99', ['signupP99', 100, chapter]),
    row('hundred', 'enqueue of a hundred jobs: p99', ['hundredP99', 50, chapter]),
    row('claim', 'claim of one job: p99', ['claimP99', 50, kafka]),
    row('poll', 'poll that finds no job: p99', ['pollP99', 10, kafka], ['pollP99', 100, chapter]),
    row('settle', 'update of the status of a job that has run: p99', ['settleP99', 10, kafka]),
    {
      ...row('start', 'enqueue to start, worker that is told: p99', ['startP99', 500, chapter], ['startP50', 100, chapter]),
      holdfast: 'told',
    },
    {
      ...row('start-polled', 'enqueue to start, worker that only polls: p99', ['startP99', 2_000, dispatch]),
      holdfast: 'polling',
    },
    {
      name: 'documents-tasks',
      title: ({ tasks }) => `${tasks.toLocaleString('en')} tasks acquired and ended by eight workers`,
      unit: 'tasks/s',
      figure: 'rate',
      holdfast: 'eight workers',
      bars: [{ value: true, atLeast: 5_000, text: `≥ 5,000 a second (${skipLocked})` }],
    },
  ],
}
