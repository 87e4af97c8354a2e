import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, startTogether } from '../support/flow.js'
import { makeQueue, type Queue, work } from '../support/queue.js'

/**
 * A job of priority p that is ready at t stands in line as if it had come at t − p × step. So a 0 is overtaken by those 9s
 * that become ready within nine steps after it, and by nobody else: it starts nine steps after it was ready, plus as late as
 * the 9s themselves are by then, plus what one claim takes.
 */
const stepMs = 300
const overtakenForMs = 9 * stepMs
const handlerMs = 200
const slots = 4
const capacityPerSecond = (slots * 1_000) / handlerMs

/**
 * Enqueues 9s at 120 % of what the slots could get done, with two seconds of work to begin with: on a busy machine it may not get its turn
 * for a while, and a queue that runs out of 9s meanwhile would give the 0 its slot early.
 */
function startFlood(queue: Queue): { stop(): Promise<void> } {
  const nines = (count: number) => Array.from({ length: count }, () => work.job({ ms: handlerMs }, { priority: 9 }))
  const began = performance.now()
  let enqueued = -capacityPerSecond * 2
  let stopped = false
  const flooding = (async () => {
    while (!stopped) {
      const due = Math.floor(((performance.now() - began) / 1_000) * capacityPerSecond * 1.2) - enqueued
      if (due > 0) await queue.holdfast.enqueueMany(nines(due))
      enqueued += due
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  return {
    async stop() {
      stopped = true
      await flooding
    },
  }
}

test('a flood of 9s at 120 % of capacity delays a 0 by nine ageing steps beyond what the flood delays itself, no more', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.setLane('default', { ageing: stepMs }, by)
  await startTogether(queue, 2, { worker: { concurrency: slots / 2 } })
  const flood = startFlood(queue)
  await eventually(() => queue.ledger.starts().length >= slots)
  const { id } = await queue.holdfast.enqueue(work, {}, { priority: 0 })
  await eventually(() => queue.ledger.finishes(id).length === 1)
  await flood.stop()
  const stories = await eventually(async () => {
    const rows = await queue.sql(`select b.id, b.priority, extract(epoch from b.created_at) * 1000 as ready,
        extract(epoch from h.started_at) * 1000 as started
      from holdfast.bodies as b join holdfast.history as h on h.job_id = b.id`)
    return (
      rows.some((row) => row.id === id) && rows.map((row) => ({ ...row, ready: Number(row.ready), started: Number(row.started) }))
    )
  })
  const zero = stories.find((row) => 'id' in row && row.id === id) as { ready: number; started: number }
  const waited = zero.started - zero.ready
  const nines = stories.filter((row) => 'id' in row && row.id !== id && row.started < zero.started)
  const laterThanNineSteps = nines.filter(({ ready }) => ready > zero.ready + overtakenForMs)
  const latest = nines.sort((a, b) => a.started - b.started).at(-1) as { ready: number; started: number }
  const lateness = latest.started - latest.ready
  expect(waited).toBeGreaterThan(overtakenForMs * 0.9)
  expect(waited).toBeLessThan(overtakenForMs + lateness + 1_000)
  // Other slots may have claimed in the same moment.
  expect(laterThanNineSteps.length).toBeLessThanOrEqual(slots)
})
