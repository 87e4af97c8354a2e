interface Percentiles {
  readonly p50: readonly (number | null)[]
  readonly p95: readonly (number | null)[]
  readonly p99: readonly (number | null)[]
}

/** Where a time lies among those of the latest step that has any; undefined: none has. */
export function rankOf(seconds: number, { p50, p95, p99 }: Percentiles): { words: string; p50: number } | undefined {
  const step = p50.findLastIndex((value) => value !== null)
  const [half, most, nearlyAll] = [p50[step], p95[step], p99[step]]
  if (half == null || most == null || nearlyAll == null) return undefined
  const words =
    seconds > nearlyAll
      ? 'longer than 99 % of its type'
      : seconds > most
        ? 'longer than 95 % of its type'
        : seconds > half
          ? 'as usual, longer than half'
          : 'as usual, shorter than half'
  return { words, p50: half }
}
