import type { AnyJobType } from 'holdfast'
import { type RemoteWorker, type RemoteWorkerOptions, startRemoteWorker } from 'holdfast/remote-worker'
import { onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { adminKey, quiet, type Serving } from './serving.js'

/** A worker of these types over HTTP, that is gone when the test ends. */
export async function working(
  serving: Serving,
  types: AnyJobType[],
  options: RemoteWorkerOptions = {},
  key = adminKey,
): Promise<RemoteWorker> {
  const worker = await startRemoteWorker({ url: serving.address, key }, types, { logger: quiet, ...options })
  onTestFinished(() => worker.stop({ now: true }))
  return worker
}

/** The job, once it has ended. */
export const ended = (serving: Serving, id: string) =>
  eventually(async () => {
    const job = await serving.holdfast.job(id)
    return ['completed', 'dead', 'cancelled'].includes(job?.status as string) && job
  })

/** A promise that a test resolves. */
export function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** Resolves when the signal fires, with its reason. */
export const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))
