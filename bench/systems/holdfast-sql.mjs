// Holdfast's own statements from two bare loops: what the database alone could do, and so what the worker around it costs.

import { Holdfast } from '../../dist/index.js'
import { insideOf } from '../../dist/inside.js'

export { openProducer, prepare } from './holdfast.mjs'

const eachClaim = 500

export async function startWorker(url, _options, handle) {
  const holdfast = new Holdfast({ connectionString: url, connections: 2 })
  const [{ lane }] = await insideOf(holdfast).store.types(['bench'])
  let settled = 0
  const loop = async () => {
    const { id: worker } = await insideOf(holdfast).store.registerWorker({
      name: 'loop',
      host: 'bench',
      pid: process.pid,
      version: '0',
      types: [],
    })
    const after = Array(10).fill(0n)
    for (;;) {
      const rows = await insideOf(holdfast).store.claim({
        worker,
        lane,
        types: null,
        limit: eachClaim,
        inARow: 1,
        leaseMs: 60_000,
        after,
      })
      if (rows.length === 0) return
      for (const { priority, seq, payload } of rows) {
        if (BigInt(seq) > after[priority]) after[priority] = BigInt(seq)
        handle(JSON.parse(payload))
      }
      await settleCompleted(insideOf(holdfast).store, worker, rows)
      settled += rows.length
    }
  }
  const loops = [loop(), loop()]
  return {
    settled: () => settled,
    async stop() {
      await Promise.all(loops)
      await holdfast.close()
    },
  }
}

/** As a worker does when every handler has returned, one millisecond after it began. */
export function settleCompleted(store, worker, rows) {
  const settlement = { move: 'complete', outcome: 'completed', failure: null, delayMs: null }
  const ended = rows.map(({ id, lease }) => ({ job: { id, lease }, settlement, startedAtMs: 0, endedAtMs: 1 }))
  return store.settle(worker, ended, 1, [rows[0].lease])
}
