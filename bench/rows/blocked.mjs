// Whether a claim gets slower when jobs of another type stand in front that may not run now.

import { LaneReader } from '../../dist/claim/lane-reader.js'
import { defineType, Holdfast } from '../../dist/index.js'
import { insideOf } from '../../dist/inside.js'
import { percentile } from '../figures.mjs'
import { fillGated, fillQueue } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'
import { settleCompleted } from '../systems/holdfast-sql.mjs'

const eachClaim = 20
const who = { by: 'bench', why: 'to see what it costs the others' }
const aDayMs = 86_400_000

/** How the jobs in front come to stand there. */
const ways = {
  async 'none in front'() {},
  async paused({ holdfast, stage }, jobs) {
    await holdfast.flow.pauseType('blocked', who)
    await fillGated(stage.client, 'blocked', jobs)
  },
  /** One of them runs and never ends. */
  async limited({ holdfast, stage, worker, reader }, jobs) {
    await holdfast.flow.limit('blocked', { maxRunning: 1 }, { by: 'ada' })
    await holdfast.enqueue('blocked', {})
    await insideOf(holdfast).store.tick(1_000, '1970-01-01T00:00:00Z')
    const holder = await reader.claim(worker, { limit: 1, inARow: 1 }, aDayMs)
    if (holder.length !== 1) throw new Error('the job that is to hold the limit was not admitted')
    await fillGated(stage.client, 'blocked', jobs)
  },
  async 'breaker open'({ holdfast, stage }, jobs) {
    await holdfast.flow.limit('blocked', { breaker: { probe: aDayMs } }, { by: 'ada' })
    await holdfast.flow.breaker('blocked', 'open', who)
    await fillGated(stage.client, 'blocked', jobs)
  },
  /** They stood in the queue when their type was paused, and claims have to move them aside first. */
  async 'moved aside'(place, jobs) {
    const { holdfast, stage, worker, reader } = place
    await fillQueue(stage.client, 'blocked', jobs)
    await holdfast.flow.pauseType('blocked', who)
    const begun = performance.now()
    const inTheWay = async () => (await stage.client.query('select from holdfast.queue where pass = 0 limit 1')).rowCount > 0
    while (await inTheWay()) {
      if (performance.now() - begun > place.limitMs) throw new Error('claims do not move aside what stands in their way')
      await reader.claim(worker, { limit: eachClaim, inARow: 1 }, 60_000)
    }
    place.movingUs = ((performance.now() - begun) * 1000) / jobs
  },
}

/** One database for each way, all there at once, and claims in each by turns. */
async function open(bench, { jobs }) {
  const places = {}
  const close = async () => {
    for (const { stage, holdfast } of Object.values(places)) {
      await holdfast?.close()
      await stage.close()
    }
  }
  try {
    for (const [name, block] of Object.entries(ways)) {
      const stage = await openStage(bench, 'holdfast')
      const place = { stage, limitMs: bench.limitMs }
      places[name] = place
      place.holdfast = new Holdfast({ connectionString: stage.url, connections: 2 })
      const { store } = insideOf(place.holdfast)
      await place.holdfast.registerTypes([defineType({ type: 'blocked' })])
      const [{ lane }] = await store.types(['bench'])
      place.worker = (await store.registerWorker({ name: 'bench', host: 'bench', pid: process.pid, version: '0', types: [] })).id
      place.reader = new LaneReader(store, lane, null)
      await block(place, jobs)
      await place.holdfast.enqueueMany(Array.from({ length: 1_000 }, () => ({ type: 'bench', payload: {} })))
      await claims(place, 50)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { places, close }
}

/**
 * Claims as a worker does, also from the head of the line as often as it would. What was claimed is settled and as much
 * enqueued, untimed. The look at what is due, which looks at the gates too, is timed by itself.
 */
async function claims({ holdfast, worker, reader, movingUs }, count) {
  const requests = Array.from({ length: eachClaim }, () => ({ type: 'bench', payload: {} }))
  const times = []
  const looks = []
  for (let i = 0; i < count; i++) {
    looks.push(await timed(() => insideOf(holdfast).store.tick(1_000, '1970-01-01T00:00:00Z')))
    let rows
    times.push(
      await timed(async () => {
        rows = await reader.claim(worker, { limit: eachClaim, inARow: 1 }, 60_000)
      }),
    )
    if (rows.length !== eachClaim) throw new Error(`${rows.length} jobs were claimed instead of ${eachClaim}`)
    await settleCompleted(insideOf(holdfast).store, worker, rows)
    await holdfast.enqueueMany(requests)
  }
  return {
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    lookP50: percentile(looks, 0.5),
    lookP99: percentile(looks, 0.99),
    ...(movingUs ? { movingUs } : {}),
  }
}

async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

const claiming =
  (name) =>
  (bench, { claims: count }, { places }) =>
    within(bench.limitMs, claims(places[name], count))

const atMostTwice = (of) => ({ of, against: 'none in front', atMost: 2, text: `${of}: ≤ 2×` })

const ofAll = (figure) => ({
  unit: 'ms',
  figure,
  better: 'lower',
  holdfast: 'paused',
  others: ['limited', 'breaker open', 'moved aside', 'none in front'],
  bars: [],
})

export default {
  name: 'blocked',
  sizes: {
    quick: { jobs: 10_000, claims: 50, rounds: 2 },
    short: { jobs: 50_000, claims: 300, rounds: 3 },
    full: { jobs: 100_000, claims: 1_000, rounds: 5 },
  },
  open,
  contestants: Object.fromEntries(Object.keys(ways).map((name) => [name, claiming(name)])),
  rows: [
    {
      name: 'blocked',
      title: ({ jobs }) =>
        `claim of ${eachClaim} with ${jobs.toLocaleString('en')} jobs of another type in front that are paused, limited or behind an open breaker: p99`,
      ...ofAll('p99'),
      bars: ['paused', 'limited', 'breaker open', 'moved aside'].map(atMostTwice),
    },
    {
      // On a machine that others use, the p99 of a millisecond is when somebody else had the processor.
      ...ofAll('p50'),
      name: 'blocked-p50',
      title: () => 'the same: p50',
    },
    {
      ...ofAll('lookP50'),
      name: 'blocked-look',
      title: () => 'with the same in front, the look at gates and due times that a worker takes every 100 ms: p50',
    },
  ],
}
