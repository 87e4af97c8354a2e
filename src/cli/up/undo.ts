import type { FastifyInstance } from 'fastify'
import { sleep } from '../../clock.js'
import type { Worker } from '../../worker/worker.js'
import { dim, print, yellow } from '../print.js'
import { fired, type Wishes } from './signals.js'

/** Undoes one step of the start. `hurry` fires when waiting must end. A text that it returns is printed. */
export type Undo = (wishes: Wishes) => Promise<unknown>

/** Long enough for short jobs to end, short enough for a person who pressed Ctrl-C. Longer ones are handed back. */
export const drain = '3s'
const closeWithinMs = 3_000
export const hurryWithinMs = 2_000

/** Undoes the last step first. A failure is printed, and the other steps are undone all the same. Returns false if one failed. */
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
  const left = `: ${jobs}; those that have not ended in ${drain} are handed back to run later (Ctrl-C again: at once)`
  // Otherwise the start failed, and the person should read the reason.
  if (stop.aborted) print(dim(`\n  Stopping${running > 0 ? left : ''} …`))
  await Promise.race([worker.stop(), fired(hurry)])
  // Handing back takes a moment; without a database it would take until the leases run out, and nobody waits for that.
  if (hurry.aborted) await Promise.race([worker.stop({ now: true }), sleep(hurryWithinMs, { unref: true })])
}

/** The server disconnects clients that do not hang up; without a database it takes longer, and nobody waits for that. */
export async function closeServer(server: FastifyInstance): Promise<void> {
  await Promise.race([server.close(), sleep(closeWithinMs, { unref: true })])
}
