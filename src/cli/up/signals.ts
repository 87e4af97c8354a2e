/** The first signal asks for an orderly stop, the next for one at once. A closed terminal counts as Ctrl-C. */
const asking = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Wishes {
  /** Fires at the first signal. */
  readonly stop: AbortSignal
  /** Fires at the second signal. */
  readonly hurry: AbortSignal
}

/** Handles signals until the process ends: one that comes while Postgres is being stopped must not end the process before that is done. */
export function hearSignals(): Wishes {
  const stop = new AbortController()
  const hurry = new AbortController()
  for (const signal of asking) {
    process.on(signal, () => {
      if (stop.signal.aborted) hurry.abort()
      else stop.abort()
    })
  }
  // Printing to a closed terminal or pipe is not a reason to fail.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return { stop: stop.signal, hurry: hurry.signal }
}

/** Resolves when the signal fires. */
export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
