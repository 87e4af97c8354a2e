// Holdfast as its users get it: every default, except how many handlers run at once, and how many jobs may wait before new ones
// are refused: the bench stores millions.
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

export function openProducer(url, { connections }) {
  const holdfast = new Holdfast({ connectionString: url, connections })
  return {
    one: (payload) => holdfast.enqueue('bench', payload),
    many: (payloads) => holdfast.enqueueMany(payloads.map((payload) => ({ type: 'bench', payload }))),
    close: () => holdfast.close(),
  }
}

/** `beside`: another type that this worker handles too, whose handler waits so many milliseconds. `handlerMs`: how long its own waits. */
export async function startWorker(url, { concurrency = 24, listen = true, beside, handlerMs }, handle) {
  const holdfast = new Holdfast({ connectionString: url })
  let handled = 0
  const bench = defineType({
    type: 'bench',
    async run(payload) {
      handle(payload)
      if (handlerMs) await pause(handlerMs)
      handled++
    },
  })
  const types = beside ? [bench, defineType({ type: beside.type, run: () => pause(beside.ms) })] : [bench]
  const worker = await start(holdfast, types, { concurrency, listen, logger: silent })
  return {
    settled: () => handled - worker.health().unwritten,
    async stop() {
      await worker.stop()
      await holdfast.close()
    },
  }
}
