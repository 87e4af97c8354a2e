import type { AnyJobType } from 'holdfast'
import { startWorker, type Worker, type WorkerOptions } from 'holdfast/worker'
import { onTestFinished } from 'vitest'
import type { Queue } from './queue.js'

/** A worker in the process of the test, where nothing is to be killed. Quiet, and stopped when the test ends. */
export async function startHere(
  queue: Pick<Queue, 'holdfast'>,
  types: readonly AnyJobType[] | URL,
  options: WorkerOptions = {},
): Promise<Worker> {
  const quiet = { info() {}, warn() {}, error() {} }
  const worker = await startWorker(queue.holdfast, types, { drain: 0, logger: quiet, unsafe: true, ...options })
  onTestFinished(() => worker.stop())
  return worker
}
