import type { JobAnswer } from '../../../../src/api/jobs.js'
import { Card } from '../../parts/page.js'
import { inWords, useNow } from '../../parts/time.js'
import { type AttemptRow, type Bar, rowsOf } from './bars.js'

const width = 1_000
const leastWidth = 3
const ticks = 4

/** Each attempt as bars on one time axis: how long it waited, how long it ran, and how long until it was tried again. */
export function AttemptBars({ job }: { job: JobAnswer }) {
  const rows = rowsOf(job, useNow())
  const bars = rows.flatMap((row) => row.bars)
  if (bars.length === 0) return null
  const begin = Math.min(...bars.map(({ from }) => from))
  const whole = Math.max(1, Math.max(...bars.map(({ to }) => to)) - begin)
  return (
    <Card title="Attempts in time" aside={`${inWords(whole)} from its enqueue on`}>
      <ol className="gantt">
        <li aria-hidden="true">
          <span className="axis soft">
            {Array.from({ length: ticks + 1 }, (_, at) => (
              <span key={at}>{at === 0 ? '0' : inWords((whole * at) / ticks)}</span>
            ))}
          </span>
        </li>
        {rows.map((row) => (
          <Row key={`${row.attempt} ${row.bars[0]?.from}`} row={row} begin={begin} whole={whole} />
        ))}
      </ol>
      <p className="gantt-legend">
        <Key status="pending" opacity={0.45} words="waits for a worker" />
        <Key status="completed" opacity={1} words="runs" />
        <Key status="failed" opacity={0.35} words="waits to be tried again" />
      </p>
    </Card>
  )
}

function Row({ row, begin, whole }: { row: AttemptRow; begin: number; whole: number }) {
  const { attempt, bars, outcome, worker, error } = row
  const words = [...bars.map(barInWords), outcome, worker === null ? '' : `on ${worker}`, error ?? ''].filter(Boolean).join(', ')
  return (
    <li>
      <span className="soft">{attempt}</span>
      <svg viewBox={`0 0 ${width} 14`} preserveAspectRatio="none" role="img" aria-label={`attempt ${attempt}: ${words}`}>
        <line x1="0" x2={width} y1="7" y2="7" stroke="var(--line)" />
        {bars.map((bar) => (
          <Rectangle key={`${bar.kind} ${bar.from}`} bar={bar} begin={begin} whole={whole} />
        ))}
      </svg>
      <span className="what">
        <span className="soft">
          {bars.map(barInWords).join(', ')}
          {worker !== null && ` on ${worker}`}
          {error !== undefined && ': '}
        </span>
        {error !== undefined && (
          <span className="status" data-status="failed">
            {error}
          </span>
        )}
      </span>
    </li>
  )
}

function Rectangle({ bar: { kind, from, to, status }, begin, whole }: { bar: Bar; begin: number; whole: number }) {
  const long = Math.max(leastWidth, ((to - from) / whole) * width)
  const x = Math.min(((from - begin) / whole) * width, width - long)
  const looks = kind === 'run' ? { y: 1, height: 12, opacity: 1 } : { y: 4, height: 6, opacity: kind === 'wait' ? 0.45 : 0.35 }
  return <rect data-status={status} x={x} width={long} fill="var(--state)" {...looks} />
}

const verbs = { wait: 'waited', run: 'ran', backoff: 'backed off' }
const barInWords = ({ kind, from, to }: Bar) => `${verbs[kind]} ${inWords(to - from)}`

function Key({ status, opacity, words }: { status: string; opacity: number; words: string }) {
  return (
    <span className="status" data-status={status}>
      <svg viewBox="0 0 12 6" aria-hidden="true">
        <rect width="12" height="6" fill="currentColor" opacity={opacity} />
      </svg>
      {words}
    </span>
  )
}
