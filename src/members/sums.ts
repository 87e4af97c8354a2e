import type { JobCounts } from '../history/counts.js'
import type { Series } from '../history/series.js'
import type { SeriesPercentiles } from '../history/series-of.js'

/** How many jobs of all these members fit, by status. */
export function addCounts(counts: readonly JobCounts[]): JobCounts {
  const sum: Record<string, { count: number; more: boolean }> = {}
  for (const each of counts) {
    for (const [status, { count, more }] of Object.entries(each)) {
      const before = sum[status]
      sum[status] = { count: (before?.count ?? 0) + count, more: (before?.more ?? false) || more }
    }
  }
  return sum as JobCounts
}

const flows = [
  ...(['enqueued', 'completed', 'failed', 'rescued', 'dead', 'expired', 'cancelled'] as const),
  ...(['waiting', 'scheduled', 'blocked', 'running', 'workers', 'wanted', 'runSeconds'] as const),
]

/**
 * Numbers of jobs add up. A percentile of all members cannot be made of theirs; it lies between the lowest and the highest of them, and the
 * highest is given. Of the oldest jobs the oldest counts.
 */
export function addSeries(series: readonly Series[]): Series | undefined {
  const [first] = series
  if (!first) return undefined
  const points = Math.min(...series.map(({ completed }) => completed.length))
  const columns = Object.fromEntries(
    flows.map((name) => [
      name,
      sumOf(
        series.map((one) => one[name]),
        points,
      ),
    ]),
  )
  const priorities = [...new Set(series.flatMap((one) => one.priorities.map(({ priority }) => priority)))].sort((a, b) => a - b)
  return {
    ...(columns as Record<(typeof flows)[number], number[]>),
    from: first.from,
    to: new Date(first.from.getTime() + points * first.stepMs),
    stepMs: first.stepMs,
    oldestSeconds: highest(
      series.map((one) => one.oldestSeconds),
      points,
    ),
    run: percentiles(
      series.map((one) => one.run),
      points,
    ),
    wait: percentiles(
      series.map((one) => one.wait),
      points,
    ),
    priorities: priorities.map((priority) => {
      const own = series.flatMap((one) => one.priorities.filter((row) => row.priority === priority))
      return {
        priority,
        waiting: sumOf(
          own.map(({ waiting }) => waiting),
          points,
        ),
        oldestSeconds: highest(
          own.map(({ oldestSeconds }) => oldestSeconds),
          points,
        ),
        wait: percentiles(
          own.map(({ wait }) => wait),
          points,
        ),
      }
    }),
  }
}

function steps<Value>(points: number, at: (step: number) => Value): Value[] {
  return Array.from({ length: points }, (_, step) => at(step))
}

function sumOf(columns: readonly number[][], points: number): number[] {
  return steps(points, (step) => columns.reduce((sum, column) => sum + (column[step] ?? 0), 0))
}

function highest(columns: readonly (number | null)[][], points: number): (number | null)[] {
  return steps(points, (step) => {
    const known = columns.flatMap((column) => column[step] ?? [])
    return known.length === 0 ? null : Math.max(...known)
  })
}

function percentiles(all: readonly SeriesPercentiles[], points: number): SeriesPercentiles {
  const of = (name: keyof SeriesPercentiles) =>
    highest(
      all.map((one) => one[name]),
      points,
    )
  return { p50: of('p50'), p95: of('p95'), p99: of('p99') }
}
