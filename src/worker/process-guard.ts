import type { Background } from '../background/background.js'
import { attemptInProgress } from '../run/attempt.js'

/**
 * The only file of the worker that touches the process. An error that escapes a handler (a rejection nobody waited for,
 * a throw in a timer) ends that handler's attempt and nothing else. One that belongs to no handler is not ours to
 * swallow: it goes on to end the process as it would have without us.
 */
export class ProcessGuard implements Background {
  readonly name = 'process guard'
  readonly #stopWorker: (() => Promise<void>) | undefined
  #releases: (() => void)[] = []

  /** With `stopWorker`, signals stop the worker and then end the process. */
  constructor(stopWorker?: () => Promise<void>) {
    this.#stopWorker = stopWorker
  }

  start(): void {
    this.#releases = [guardProcess(), ...(this.#stopWorker ? [stopOnSignals(this.#stopWorker)] : [])]
  }

  async stop(): Promise<void> {
    for (const release of this.#releases.splice(0)) release()
  }
}

let guarded = 0

function guardProcess(): () => void {
  if (guarded++ === 0) {
    process.on('unhandledRejection', onRejection)
    process.on('uncaughtException', onException)
  }
  let released = false
  return () => {
    if (released) return
    released = true
    if (--guarded > 0) return
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

function onRejection(error: unknown): void {
  const attempt = attemptInProgress()
  if (attempt) return attempt.fail(error)
  // With another listener the program has its own opinion; without, Node's default is to raise it as an exception.
  if (process.listenerCount('unhandledRejection') === 1) throw error
}

function onException(error: unknown): void {
  const attempt = attemptInProgress()
  if (attempt) return attempt.fail(error)
  if (process.listenerCount('uncaughtException') > 1) return
  // Thrown from here it would count as a failure of this listener; thrown in a moment, it ends the process as ever.
  process.off('uncaughtException', onException)
  process.nextTick(() => {
    throw error
  })
}

const stops = new Set<() => Promise<void>>()
let stopping = false

/**
 * On the first SIGTERM or SIGINT all workers of this process stop, and the process ends when the last of them has; a
 * second signal ends it at once. The returned function says that this worker has been stopped some other way.
 */
function stopOnSignals(stop: () => Promise<void>): () => void {
  if (stops.size === 0) {
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  }
  stops.add(stop)
  return () => {
    if (stopping || !stops.delete(stop) || stops.size > 0) return
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

function onSignal(): void {
  if (stopping) process.exit(1)
  stopping = true
  Promise.all([...stops].map((stop) => stop())).then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
