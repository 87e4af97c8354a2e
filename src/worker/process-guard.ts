import { attemptInProgress } from '../run/attempt.js'

/**
 * The only file of the worker that touches the process. An error that escapes a handler (a rejection nobody waited for,
 * a throw in a timer) ends that handler's attempt and nothing else. One that belongs to no handler is not ours to
 * swallow: it goes on to end the process as it would have without us.
 */
let guarded = 0

export function guardProcess(): () => void {
  if (guarded++ === 0) {
    process.on('unhandledRejection', onEscaped)
    process.on('uncaughtException', onEscaped)
  }
  let released = false
  return () => {
    if (released) return
    released = true
    if (--guarded > 0) return
    process.off('unhandledRejection', onEscaped)
    process.off('uncaughtException', onEscaped)
  }
}

function onEscaped(error: unknown): void {
  const attempt = attemptInProgress()
  if (attempt) return attempt.fail(error)
  // With another listener the program has its own opinion; without, Node's own default is to end.
  const others = process.listenerCount('unhandledRejection') + process.listenerCount('uncaughtException')
  if (others <= 2) {
    process.off('uncaughtException', onEscaped)
    throw error
  }
}

/** Runs `stop` once on the first SIGTERM or SIGINT, then ends the process; a second signal ends it at once. */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  let stopping = false
  const onSignal = (): void => {
    if (stopping) process.exit(1)
    stopping = true
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return () => {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}
