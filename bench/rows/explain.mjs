// How long it takes to say why a job is not running, behind many that wait.
import { defineType, Holdfast } from '../../dist/index.js'
import { percentile } from '../figures.mjs'
import { fillGated, fillQueue } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'

/** Where the last job stands, and which gate the answer must begin with. */
const ways = {
  'in line': {
    block: ({ stage }, jobs) => fillQueue(stage.client, 'many', jobs),
    gate: 'no_worker',
  },
  paused: {
    async block({ holdfast, stage }, jobs) {
      await holdfast.flow.pauseType('many', { by: 'bench' })
      await fillGated(stage.client, 'many', jobs)
    },
    gate: 'type_paused',
  },
  /** Behind one large key, as the only job of another. */
  'key of its own': {
    async block({ holdfast, stage }, jobs) {
      await holdfast.flow.limit('many', { fair: true, maxRunningPerKey: 1 }, { by: 'ada' })
      await fillGated(stage.client, 'many', jobs, { keys: 1 })
    },
    gate: 'no_worker',
  },
}

async function open(bench, { jobs }) {
  const places = {}
  const close = async () => {
    for (const { stage, holdfast } of Object.values(places)) {
      await holdfast?.close()
      await stage.close()
    }
  }
  try {
    for (const [name, { block }] of Object.entries(ways)) {
      const place = { stage: await openStage(bench, 'holdfast') }
      places[name] = place
      place.holdfast = new Holdfast({ connectionString: place.stage.url, connections: 1 })
      await place.holdfast.registerTypes([defineType({ type: 'many' })])
      await block(place, jobs)
      place.id = (await place.holdfast.enqueue('many', {}, { concurrencyKey: 'last' })).id
    }
  } catch (error) {
    await close()
    throw error
  }
  return { places, close }
}

const explaining =
  (name) =>
  (bench, { times: count }, { places }) =>
    within(bench.limitMs, explanations(places[name], ways[name].gate, count))

async function explanations({ holdfast, id }, gate, count) {
  const times = []
  for (let i = 0; i < count; i++) {
    const begun = performance.now()
    const { gates } = await holdfast.explain(id)
    times.push(performance.now() - begun)
    if (gates[0].gate !== gate) throw new Error(`it was explained by ${gates[0].gate} instead of ${gate}`)
  }
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

export default {
  name: 'explain',
  sizes: {
    quick: { jobs: 10_000, times: 20, rounds: 2 },
    short: { jobs: 100_000, times: 50, rounds: 3 },
    full: { jobs: 1_000_000, times: 200, rounds: 3 },
  },
  open,
  contestants: Object.fromEntries(Object.keys(ways).map((name) => [name, explaining(name)])),
  rows: [
    {
      name: 'explain',
      title: ({ jobs }) => `saying why a job behind ${jobs.toLocaleString('en')} others is not running: p50`,
      unit: 'ms',
      figure: 'p50',
      better: 'lower',
      holdfast: 'in line',
      others: ['paused', 'key of its own'],
      bars: [],
    },
  ],
}
