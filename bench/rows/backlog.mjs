// Whether a claim gets slower when more jobs wait, half of them in the future.

import { Holdfast } from '../../dist/index.js'
import { insideOf } from '../../dist/inside.js'
import { percentile } from '../figures.mjs'
import { fillBacklog } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'
import { settleCompleted } from '../systems/holdfast-sql.mjs'

const eachClaim = 20

/** One database for each depth, all there at once, and claims in each by turns. */
async function open(bench, { depths }) {
  const places = []
  const close = async () => {
    for (const { stage, holdfast } of places) {
      await holdfast?.close()
      await stage.close()
    }
  }
  try {
    for (const depth of depths) {
      const stage = await openStage(bench, 'holdfast')
      const place = { stage }
      places.push(place)
      await fillBacklog(stage.client, depth)
      place.holdfast = new Holdfast({ connectionString: stage.url, connections: 2 })
      place.lane = (await insideOf(place.holdfast).store.types(['bench']))[0].lane
      const { id: worker } = await insideOf(place.holdfast).store.registerWorker({
        name: 'bench',
        host: 'bench',
        pid: process.pid,
        version: '0',
        types: [],
      })
      place.worker = worker
      place.after = Array(10).fill(0n)
      await claims(place, 50)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { places, close }
}

/** Claims as a worker does, from where the last one ended; what was claimed is settled and as much enqueued, untimed. */
async function claims(place, count) {
  const { store } = insideOf(place.holdfast)
  const requests = Array.from({ length: eachClaim }, () => ({ type: 'bench', payload: {} }))
  const times = []
  for (let i = 0; i < count; i++) {
    const ask = {
      worker: place.worker,
      lane: place.lane,
      types: null,
      limit: eachClaim,
      inARow: 1,
      leaseMs: 60_000,
      after: place.after,
    }
    const begun = performance.now()
    const rows = await store.claim(ask)
    times.push(performance.now() - begun)
    if (rows.length !== eachClaim) throw new Error(`${rows.length} jobs were claimed instead of ${eachClaim}`)
    for (const { priority, seq } of rows) if (BigInt(seq) > place.after[priority]) place.after[priority] = BigInt(seq)
    await settleCompleted(store, place.worker, rows)
    await place.holdfast.enqueueMany(requests)
  }
  return times
}

const claiming =
  (which) =>
  (bench, { claims: count }, { places }) =>
    within(
      bench.limitMs,
      claims(places[which], count).then((times) => ({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) })),
    )

export default {
  name: 'backlog',
  sizes: {
    quick: { depths: [10_000, 20_000, 50_000], claims: 50, rounds: 2 },
    short: { depths: [10_000, 200_000, 1_000_000], claims: 300, rounds: 3 },
    full: { depths: [10_000, 1_000_000, 5_000_000], claims: 1_000, rounds: 5 },
  },
  open,
  contestants: { small: claiming(0), middle: claiming(1), large: claiming(2) },
  rows: [
    {
      name: 'backlog',
      title: ({ depths }) =>
        `claim of ${eachClaim} with ${depths.map((depth) => depth.toLocaleString('en')).join(' → ')} waiting, half in the future: p99`,
      unit: 'ms',
      figure: 'p99',
      better: 'lower',
      holdfast: 'large',
      others: ['small', 'middle'],
      bars: [
        { against: 'small', atMost: 2, text: '≤ 2× that of the smallest' },
        { of: 'middle', against: 'small', atMost: 2, text: 'the middle one too' },
      ],
    },
  ],
}
