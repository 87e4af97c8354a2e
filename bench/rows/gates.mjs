// What limits cost a type that has them: the same jobs are drained without a gate and through each kind of gate. No limit is ever
// reached but those of one job a key, so that what is measured is the gate and not the waiting.
import { defineType, Holdfast } from '../../dist/index.js'
import { drain, drainWarm, fill as fillPlain } from '../draining.mjs'
import { onStage } from '../stage.mjs'
import { makePayload } from '../systems/payload.mjs'

const evenly = (keys) => (n) => `key ${n % keys}`
/** Nine jobs of ten are of one key, the others of a thousand. */
const hot = (n) => (n % 10 === 0 ? `key ${(n / 10) % 1_000}` : 'hot')
const maxRunning = 100_000
const rate = { count: 1_000_000, per: '1s' }

async function limitType({ url }, limits, uses = []) {
  const holdfast = new Holdfast({ connectionString: url })
  try {
    await holdfast.registerTypes([defineType({ type: 'bench', uses })], { update: true })
    for (const name of uses) await holdfast.flow.limitDependency(name, { maxRunning, rate }, { by: 'ada' })
    if (limits) await holdfast.flow.limit('bench', limits, { by: 'ada' })
  } finally {
    await holdfast.close()
  }
}

async function fill({ url }, jobs, keyOf) {
  const holdfast = new Holdfast({ connectionString: url })
  try {
    const payload = makePayload()
    for (let first = 0; first < jobs; first += 1_000) {
      const count = Math.min(1_000, jobs - first)
      const some = Array.from({ length: count }, (_, i) => ({ type: 'bench', payload, concurrencyKey: keyOf(first + i) }))
      await holdfast.enqueueMany(some)
    }
  } finally {
    await holdfast.close()
  }
}

const emptying =
  (limits, { keyOf = evenly(1_000), uses } = {}) =>
  (bench, { jobs }) =>
    onStage(bench, 'holdfast', async (stage) => {
      await limitType(stage, limits, uses)
      // Before the fill, as in every drain: after it, each page would go into the WAL whole once more, a quarter of what is measured.
      await stage.client.query('checkpoint')
      await fill(stage, jobs, keyOf)
      await stage.client.query('vacuum analyze')
      const { seen, ...figures } = await drain(stage, { jobs, options: { uses } })
      return figures
    })

/** By that many workers, all of which are warm. */
const warm =
  (limits, workers) =>
  (bench, { jobs }) =>
    onStage(bench, 'holdfast', async (stage) => {
      await limitType(stage, limits)
      const { seen, ...figures } = await drainWarm(stage, { jobs, workers, fill: (count) => fill(stage, count, evenly(1_000)) })
      return figures
    })

/**
 * Its nearest to one job a key. A hundredth of the rate, so a fraction of the jobs, and of the keys too: with fewer jobs a key hardly two
 * of a key would ever meet.
 */
const named = (jobs) => ({ jobs: jobs / 10, keys: 100 })
const namedQueues = (bench, size) =>
  onStage(bench, 'graphile-worker', async (stage) => {
    const { jobs, keys } = named(size.jobs)
    await stage.client.query('checkpoint')
    await fillPlain(stage, jobs, { keys })
    const { seen, ...figures } = await drain(stage, { jobs })
    return figures
  })
const perKeyAsNamed = (bench, { jobs }) => emptying(perKey, { keyOf: evenly(named(jobs).keys) })(bench, named(jobs))

const perKey = { maxRunningPerKey: 1 }
const together = { maxRunning, rate, maxRunningPerKey: 2, fair: true }
const share = (of, least, text) => ({ of, against: 'no gate', atLeast: least, text })

export default {
  name: 'gates',
  sizes: {
    quick: { jobs: 10_000, rounds: 1 },
    short: { jobs: 40_000, rounds: 2 },
    full: { jobs: 200_000, rounds: 4 },
  },
  contestants: {
    'no gate': emptying(undefined),
    maxRunning: emptying({ maxRunning }),
    rate: emptying({ rate }),
    uses: emptying(undefined, { uses: ['stripe'] }),
    'uses two': emptying(undefined, { uses: ['ledger', 'stripe'] }),
    'per key': emptying(perKey),
    'per key, 10 keys': emptying(perKey, { keyOf: evenly(10) }),
    'per key, 100,000 keys': emptying(perKey, { keyOf: evenly(100_000) }),
    'per key, a hot key': emptying(perKey, { keyOf: hot }),
    fair: emptying({ fair: true }),
    together: emptying(together),
    'maxRunning, warm': warm({ maxRunning }, 1),
    'maxRunning ×4': warm({ maxRunning }, 4),
    'per key, warm': warm(perKey, 1),
    'per key ×4': warm(perKey, 4),
    'per key, as many as graphile-worker': perKeyAsNamed,
    'graphile-worker': namedQueues,
  },
  rows: [
    {
      name: 'gates',
      title: ({ jobs }) => `drain of ${jobs.toLocaleString('en')} no-op jobs of a type with a limit that is not reached`,
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'maxRunning',
      others: ['no gate', 'rate'],
      bars: [share('maxRunning', 0.6, '≥ 60 % of the rate without a gate'), share('rate', 0.6, 'with a rate too')],
    },
    {
      name: 'gates-uses',
      title: () => 'the same of a type that uses a dependency with a limit and a rate that are not reached',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'uses',
      others: ['no gate', 'uses two'],
      bars: [share('uses', 0.6, '≥ 60 % of the rate without a gate'), share('uses two', 0.6, 'with two dependencies too')],
    },
    {
      name: 'gates-keys',
      title: () => 'the same with one job a key at a time, 1,000 keys',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'per key',
      peers: ['graphile-worker'],
      others: ['no gate', 'fair', 'together', 'per key, as many as graphile-worker'],
      bars: [
        {
          of: 'per key, as many as graphile-worker',
          against: 'graphile-worker',
          atLeast: 10,
          text: "≥ 10× graphile-worker's named queues",
        },
        share('per key', 0.3, '≥ 30 % of the rate without a gate'),
        share('fair', 0.3, 'with keys that take turns too'),
        share('together', 0.3, 'with every kind of limit at once too'),
      ],
    },
    {
      name: 'gates-spread',
      title: () => 'the same with 10 keys, with 100,000, and with one that has 90 % of the jobs',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'per key, 10 keys',
      others: ['per key', 'per key, 100,000 keys', 'per key, a hot key'],
      bars: [
        { of: 'per key, 10 keys', against: 'per key', atLeast: 0.5, text: '10 keys: ≥ half of the rate with 1,000' },
        { of: 'per key, 100,000 keys', against: 'per key', atLeast: 0.5, text: '100,000 keys: ≥ half of it' },
        { of: 'per key, a hot key', against: 'per key', atLeast: 0.25, text: 'a hot key: ≥ a quarter of it' },
      ],
    },
    {
      name: 'gates-4',
      title: () => 'drain through a gate with 4 worker processes that have run jobs before',
      unit: 'jobs/s',
      figure: 'rate',
      holdfast: 'maxRunning ×4',
      others: ['maxRunning, warm', 'per key ×4', 'per key, warm'],
      bars: [
        { against: 'maxRunning, warm', atLeast: 1, text: 'not less than with one' },
        { of: 'per key ×4', against: 'per key, warm', atLeast: 1, text: 'nor with one job a key' },
      ],
    },
    {
      name: 'gates-wal',
      title: () => 'WAL bytes per job through a limit of the type, enqueue excluded',
      unit: 'bytes',
      figure: 'wal',
      better: 'lower',
      holdfast: 'maxRunning',
      others: ['no gate', 'rate', 'uses', 'uses two'],
      bars: [{ value: true, atMost: 480 }],
    },
    {
      name: 'gates-keys-wal',
      title: () => 'WAL bytes per job through every kind of limit at once, enqueue excluded',
      unit: 'bytes',
      figure: 'wal',
      better: 'lower',
      holdfast: 'together',
      others: ['per key', 'fair', 'per key, 10 keys', 'per key, a hot key'],
      bars: [{ value: true, atMost: 560 }],
    },
  ],
}
