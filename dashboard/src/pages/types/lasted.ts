interface Ended {
  readonly created_at: string
  readonly finished_at: string | null
}

/** How long jobs took from their enqueue to their end, in milliseconds: what 50, 95 and 99 of a hundred took at most. Undefined: none has ended. */
export function lasted(jobs: readonly Ended[]): { of: number; p50: number; p95: number; p99: number } | undefined {
  const times = jobs
    .map(({ created_at, finished_at }) => Date.parse(finished_at ?? '') - Date.parse(created_at))
    // A text that is no time is nothing to reckon with.
    .filter((ms) => !Number.isNaN(ms))
    .sort((one, other) => one - other)
  if (times.length === 0) return undefined
  const atMost = (percent: number) => times[Math.ceil((times.length * percent) / 100) - 1] as number
  return { of: times.length, p50: atMost(50), p95: atMost(95), p99: atMost(99) }
}
