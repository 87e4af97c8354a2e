import { useQuery } from '@tanstack/react-query'
import type { SeriesAnswer } from '../../../src/api/series.js'
import { ask } from '../api/ask.js'
import { useHeld } from '../api/live.js'

export const ranges = {
  '15m': { words: 'last 15 minutes', ms: 900_000, everyMs: 5_000 },
  '1h': { words: 'last hour', ms: 3_600_000, everyMs: 10_000 },
  '6h': { words: 'last 6 hours', ms: 21_600_000, everyMs: 30_000 },
  '1d': { words: 'last day', ms: 86_400_000, everyMs: 60_000 },
  '7d': { words: 'last 7 days', ms: 604_800_000, everyMs: 60_000 },
  '35d': { words: 'last 35 days', ms: 3_024_000_000, everyMs: 60_000 },
} as const
export type Range = keyof typeof ranges
export const rangeWords = Object.fromEntries(Object.entries(ranges).map(([name, one]) => [name, one.words]))

interface Of {
  readonly type?: string | undefined
  readonly lane?: string | undefined
}

/** What went on in a time up to now: of all types, of one, or of those of a lane. */
export function useSeries(range: Range, { type, lane }: Of = {}, { enabled = true } = {}) {
  const { ms, everyMs } = ranges[range]
  const held = useHeld()
  return useQuery({
    queryKey: ['series', range, type, lane],
    queryFn: ({ signal }) =>
      ask<SeriesAnswer>('series', { query: { from: new Date(Date.now() - ms).toISOString(), type, lane }, signal }),
    refetchInterval: held ? false : everyMs,
    meta: { slow: true },
    enabled,
  })
}
