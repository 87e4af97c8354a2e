import type { FastifyInstance } from 'fastify'
import { sleep } from '../../clock.js'
import type { Worker } from '../../worker/worker.js'
import { dim, print, yellow } from '../print.js'
import { fired, type Wishes } from './signals.js'

/** Undoes one step of the start. `hurry` fires when waiting must end. What it answers is said to the person, if it is a text. */
export type Undo = (wishes: Wishes) => Promise<unknown>

/** Long enough for short jobs to end, short enough for a person who pressed Ctrl-C. Longer ones are handed back. */
export const drain = '3s'
const closeWithinMs = 3_000
const hurryWithinMs = 2_000

/** The last step first. One that fails is said and keeps none of the others from being undone. False: one did. */
export async function undoAll(undo: readonly Undo[], wishes: Wishes): Promise<boolean> {
  let inOrder = true
  for (const step of [...undo].reverse()) {
    try {
      const said = await step(wishes)
      if (typeof said === 'string') print(dim(`  ${said}`))
    } catch (error) {
      inOrder = false
      print(yellow(`  ${(error as Error).message}`))
    }
  }
  return inOrder
}

export async function stopWorker(worker: Worker, { stop, hurry }: Wishes): Promise<void> {
  const { running } = worker.health()
  const jobs = running === 1 ? '1 job still runs' : `${running} jobs still run`
  const left = `: ${jobs}; what has not ended in ${drain} is handed back to run later (Ctrl-C again: at once)`
  // Otherwise the start failed, and the reason is what a person wants to read.
  if (stop.aborted) print(dim(`\n  Stopping${running > 0 ? left : ''} …`))
  await Promise.race([worker.stop(), fired(hurry)])
  // Handing back takes a moment; with the database away it takes until the leases run out, and nobody waits for that.
  if (hurry.aborted) await Promise.race([worker.stop({ now: true }), sleep(hurryWithinMs, { unref: true })])
}

/** It cuts off by itself who does not hang up; with the database away it takes longer, and nobody waits for that. */
export async function closeServer(server: FastifyInstance): Promise<void> {
  await Promise.race([server.close(), sleep(closeWithinMs, { unref: true })])
}
