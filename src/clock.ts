/**
 * The only place that reads this machine's clock. What decides about a job is the database's clock (holdfast.now());
 * the machine's is for measuring how long things take here and for waiting.
 */
export function monotonicMs(): number {
  return performance.now()
}

/** Milliseconds since 1970. For ids and names, which tell roughly when they were made; no decision may rest on it. */
export function wallMs(): number {
  return Date.now()
}

/** Resolves after that time, or at once when the signal fires. Never keeps the process alive by itself when `unref` is set. */
export function sleep(ms: number, options: { signal?: AbortSignal; unref?: boolean } = {}): Promise<void> {
  return new Promise((resolve) => {
    const { signal } = options
    if (signal?.aborted) return resolve()
    const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1))
    if (options.unref) timer.unref()
    signal?.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
  })
}
