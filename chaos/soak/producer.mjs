// A million transactions of a producer that knows no other way, half of them rolled back, past a depth limit that is far below what it
// enqueues: it must be taken to the end, and what it remembers of its own jobs may not grow.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { Field } from '../campaign/field.mjs'
import { durable, startServer } from '../server.mjs'
import { growth } from './flat.mjs'

export const name = 'soak/producer'
const transactions = { short: 3_000, long: 1_000_000 }
const depth = { soft: 300, hard: 500 }
/** How much its heap may grow after a collection, and below which size growth does not matter. */
const heap = { most: 0.2, floor: 20 << 20 }
/** A refusal is over when the next count is; a producer that is refused for so long is refused for good. */
const stuckMs = 20_000

export async function soakProducer({ long }, report) {
  const wanted = transactions[long ? 'long' : 'short']
  const server = await startServer({ settings: { ...durable, synchronous_commit: 'off' } })
  const field = await Field.open(server)
  const found = []
  try {
    const holdfast = new Holdfast({ connectionString: server.url })
    await holdfast.flow.limitDepth('queue', depth, { by: 'ada' })
    await holdfast.close()
    await field.fleet.start('steady-worker', { url: server.url, options: { concurrency: 20 } })
    const producer = await field.fleet.start('tx-producer', { url: server.url, transactions: wanted })
    const { state, samples } = await watch(field, producer, wanted)
    const grown = growth(samples, heap.floor)
    console.log(
      `${name}: ${state.ended} transactions, ${state.committed} committed, ${state.refused} refused; its heap grew by ${Math.round(grown * 100)} %`,
    )
    if (state.ended < wanted) found.push(`it was refused for ${stuckMs / 1000} s after ${state.ended} transactions`)
    if (grown > heap.most) found.push(`the heap of the producer grew by ${Math.round(grown * 100)} %`)
  } catch (error) {
    found.push(`it broke: ${error.stack}`)
  } finally {
    await field.close()
    await server.stop()
  }
  report.fail(name, found)
}

/** Until it has done all of them, or has got no further for a while. */
async function watch(field, producer, wanted) {
  const samples = []
  let state = await field.fleet.health(producer)
  for (let since = performance.now(); state.ended < wanted && performance.now() - since < stuckMs; await pause(500)) {
    const before = state.committed
    state = await field.fleet.health(producer)
    samples.push(state.heap)
    if (state.committed > before) since = performance.now()
  }
  return { state, samples }
}
