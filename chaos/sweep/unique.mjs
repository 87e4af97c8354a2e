// Enqueues of jobs of which only one is wanted at a time, by what happens to the second.
import { everything } from '../wire/trap.mjs'

const started = (stage) => stage.until(() => stage.ledger.entries().some(({ kind }) => kind === 'start'))

/** As callers do: asks until it is told, or refused. `named`: the policy lets nobody in while the key's job waits or runs. */
async function ask(stage, producer, { named, ...unique }, more = {}) {
  const { options, ...rest } = more
  const spec = {
    ...rest,
    ...(named ? { unique: 'u' } : {}),
    options: { maxAttempts: 20, ...options, unique: { key: 'u', ...unique } },
  }
  for (let tries = 0; tries < 4; tries++) {
    if (await stage.enqueue((requests) => producer.enqueueMany(requests), [spec])) return
    if (stage.ledger.entries().at(-1).kind === 'refused') return
  }
}

/** The key is taken through the proxy, and asked for once more when that is over. */
const takeAndAsk = (onConflict) => ({
  name: `unique-${onConflict}`,
  watch: everything,
  perform: (stage, url) => ask(stage, stage.producer(url), { named: true, onConflict }, { options: { delay: 300 } }),
  settle: (stage) => ask(stage, stage.producer(), { named: true, onConflict }),
})

/** A job that waits is met through the proxy. */
const meetWaiting = (unique, options = {}) => ({
  name: `unique-${unique.onConflict}`,
  watch: everything,
  prepare: (stage) => ask(stage, stage.producer(), unique, { options }),
  perform: (stage, url) => ask(stage, stage.producer(url), unique, { options }),
})

export const unique = [
  takeAndAsk('reject'),
  takeAndAsk('existing'),
  meetWaiting({ onConflict: 'replace' }, { delay: 3_000 }),
  meetWaiting({ onConflict: 'debounce', delay: '3s', maxWait: '6s' }),
  {
    name: 'unique-one-more',
    watch: everything,
    async prepare(stage) {
      stage.open = stage.gate('first')
      await ask(stage, stage.producer(), { named: true, onConflict: 'one_more' }, { gates: ['first', 'first', 'first'] })
      await stage.worker()
      await started(stage)
    },
    perform: (stage, url) => ask(stage, stage.producer(url), { named: true, onConflict: 'one_more' }),
    async settle(stage) {
      await ask(stage, stage.producer(), { named: true, onConflict: 'one_more' })
      stage.open()
    },
  },
]
