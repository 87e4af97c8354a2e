// Holdfast as its users get it: every default, except how many handlers run at once, and how many jobs may wait before new ones
// are refused: the bench stores millions.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from '../../dist/index.js'
import { startWorker as start } from '../../dist/worker/index.js'

const silent = { info() {}, warn() {}, error: console.error }

export async function prepare(url) {
  const holdfast = new Holdfast({ connectionString: url })
  await holdfast.migrate()
  await holdfast.registerTypes([defineType({ type: 'bench' })])
  await holdfast.flow.limitDepth('queue', { soft: 100_000_000, hard: 200_000_000 }, { by: 'ada' })
  await holdfast.close()
}

/** A key of its own for each job. */
const keyed = {
  plain: () => ({}),
  'idempotency key': () => ({ idempotencyKey: `key ${randomUUID()}` }),
  unique: () => ({ unique: { key: `key ${randomUUID()}` } }),
}

/** `keys`: what each job is stored with. */
export function openProducer(url, { connections, keys = 'plain', type = 'bench' }) {
  const holdfast = new Holdfast({ connectionString: url, connections })
  const options = keyed[keys]
  return {
    one: (payload) => holdfast.enqueue(type, payload, options()),
    many: (payloads) => holdfast.enqueueMany(payloads.map((payload) => ({ type, payload, ...options() }))),
    close: () => holdfast.close(),
  }
}

/**
 * `beside`: another type that this worker handles too, whose handler waits so many milliseconds; `isWatched`: its starts are noted.
 * `handlerMs`: how long the own handler waits. `uses`: the dependencies of the own type. `isFailing`: it throws, and what failed is not due again for hours.
 */
export async function startWorker(
  url,
  { concurrency = 24, listen = true, beside, handlerMs, uses = [], isFailing = false },
  handle,
) {
  const holdfast = new Holdfast({ connectionString: url })
  let handled = 0
  const bench = defineType({
    type: 'bench',
    uses,
    ...(isFailing ? { backoff: { base: '5h', cap: '5h', jitter: 0 } } : {}),
    async run(payload) {
      handle(payload)
      if (handlerMs) await pause(handlerMs)
      handled++
      if (isFailing) throw new Error('as it is meant to')
    },
  })
  const other =
    beside &&
    defineType({
      type: beside.type,
      ...(beside.lane ? { lane: beside.lane } : {}),
      async run(payload) {
        if (beside.isWatched) handle(payload)
        await pause(beside.ms)
      },
    })
  const types = other ? [bench, other] : [bench]
  const worker = await start(holdfast, types, { concurrency, listen, logger: silent })
  return {
    settled: () => handled - worker.health().unwritten,
    async stop() {
      await worker.stop()
      await holdfast.close()
    },
  }
}
