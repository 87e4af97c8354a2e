/** The first asks for an end in good order, the next for one at once. A closed terminal asks as Ctrl-C does. */
const asking = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Wishes {
  /** Somebody wants an end. */
  readonly stop: AbortSignal
  /** Somebody wants it now. */
  readonly hurry: AbortSignal
}

/** Hears signals until the process ends: one that came while Postgres is being stopped must not end us before that is done. */
export function hearSignals(): Wishes {
  const stop = new AbortController()
  const hurry = new AbortController()
  for (const signal of asking) {
    process.on(signal, () => {
      if (stop.signal.aborted) hurry.abort()
      else stop.abort()
    })
  }
  // What is printed to a terminal that was closed, or into a pipe nobody reads any more, is no reason to fail.
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
