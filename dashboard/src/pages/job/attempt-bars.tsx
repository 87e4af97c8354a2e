import type { JobAnswer } from '../../../../src/api/jobs.js'
import { inWords, useNow } from '../../parts/time.js'

const width = 640
const rowHeight = 18

/** Each attempt as a bar on one time axis: what lies between two bars is how long the job waited. */
export function AttemptBars({ job }: { job: JobAnswer }) {
  const now = useNow()
  const running =
    job.status === 'processing' && job.started_at
      ? [{ attempt: job.attempt, from: job.started_at, to: now, outcome: 'processing' }]
      : []
  const bars = [
    ...job.attempts.flatMap(({ attempt, outcome, started_at, ended_at }) =>
      started_at ? [{ attempt, from: started_at, to: Date.parse(ended_at), outcome }] : [],
    ),
    ...running,
  ]
  if (bars.length === 0) return null
  const begin = Date.parse(job.created_at)
  const end = Math.max(...bars.map(({ to }) => to), begin + 1)
  const place = (at: number) => ((Math.max(at, begin) - begin) / (end - begin)) * width
  return (
    <svg
      className="gantt"
      viewBox={`0 0 ${width} ${bars.length * rowHeight + 4}`}
      preserveAspectRatio="none"
      height={bars.length * rowHeight + 4}
      role="img"
      aria-label={`${bars.length} attempts in ${inWords(end - begin)}`}
    >
      {bars.map(({ attempt, from, to, outcome }, row) => {
        const x = place(Date.parse(from))
        return (
          <g key={`${attempt} ${from}`} data-status={outcome === 'completed' || outcome === 'processing' ? outcome : 'failed'}>
            <line x1="0" x2={width} y1={row * rowHeight + 10} y2={row * rowHeight + 10} stroke="var(--line)" />
            <rect
              x={Math.min(x, width - 3)}
              y={row * rowHeight + 4}
              width={Math.max(3, place(to) - x)}
              height={rowHeight - 6}
              rx="2"
              fill="var(--state)"
            >
              <title>{`attempt ${attempt}, ${outcome}, ran ${inWords(to - Date.parse(from))}`}</title>
            </rect>
          </g>
        )
      })}
    </svg>
  )
}
