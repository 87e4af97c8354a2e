import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'

const dayMs = 86_400_000
const bar = { width: 6, gap: 2, height: 24 }

/** Failures a day as little bars, the last of them today, by the days of UTC. Each row has a scale of its own: the count stands beside it. */
export function Spark({ days, over }: { days: ErrorGroupAnswer['days']; over: number }) {
  const counts = countsOf(days, over)
  const most = Math.max(...counts, 1)
  const width = over * (bar.width + bar.gap)
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${width} ${bar.height}`}
      width={width}
      height={bar.height}
      role="img"
      aria-label={`failures a day, the last ${over} days: ${counts.join(', ')}`}
    >
      {counts.map((count, at) => {
        const height = count === 0 ? 1 : Math.max(2, (count / most) * bar.height)
        return (
          <rect
            key={at}
            data-status={count === 0 ? undefined : 'failed'}
            x={at * (bar.width + bar.gap)}
            y={bar.height - height}
            width={bar.width}
            height={height}
          />
        )
      })}
    </svg>
  )
}

/** One count for each of the last days, also of those without any. */
function countsOf(days: ErrorGroupAnswer['days'], over: number): number[] {
  const known = new Map(days.map(({ day, count }) => [day, count]))
  const today = Date.now()
  return Array.from({ length: over }, (_, at) => {
    return known.get(new Date(today - (over - 1 - at) * dayMs).toISOString().slice(0, 10)) ?? 0
  })
}
