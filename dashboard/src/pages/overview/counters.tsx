import type { SeriesAnswer } from '../../../../src/api/series.js'
import { type ShownStatus, type StatusAnswer, shownStatuses } from '../../../../src/api/status.js'
import { useSeries } from '../../charts/series.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Spoken } from '../../parts/spoken.js'
import { Status } from '../../parts/status.js'
import { inWords } from '../../parts/time.js'
import { Trend } from '../../parts/trend.js'

const explained = {
  pending: 'due, wait for a worker',
  processing: 'a worker runs them',
  failed: 'will be tried again',
  dead: 'failed for good',
  scheduled: 'wait for their time',
  blocked: 'wait for a signal or job',
}

/** What the little curve of each shows: how many there were, or how many came. */
const trends: Readonly<
  Record<ShownStatus, { column: 'waiting' | 'running' | 'failed' | 'dead' | 'completed' | 'scheduled' | 'blocked'; of: string }>
> = {
  pending: { column: 'waiting', of: 'how many waited' },
  processing: { column: 'running', of: 'how many ran' },
  failed: { column: 'failed', of: 'attempts that failed' },
  dead: { column: 'dead', of: 'jobs that died' },
  completed: { column: 'completed', of: 'jobs that completed' },
  scheduled: { column: 'scheduled', of: 'how many waited for their time' },
  blocked: { column: 'blocked', of: 'how many were blocked' },
}

/** How many jobs stand where, with the last quarter of an hour of each. */
export function Counters({ status: { counts, completed_within_s } }: { status: StatusAnswer }) {
  const series = useSeries('15m').data
  return (
    <section className="counters" aria-label="Jobs by status">
      {shownStatuses.map((name) => (
        <Link
          {...(name === 'dead' ? { to: '/dead' } : { to: '/jobs', query: { status: name } })}
          key={name}
          data-status={name}
          className={counts[name].count === 0 ? 'none' : ''}
        >
          <Status status={name} />
          <b>
            <Count {...counts[name]} />
          </b>
          <small>{name === 'completed' ? `of the last ${inWords(completed_within_s * 1_000)}` : explained[name]}</small>
          {series && <TrendOf name={name} series={series} />}
        </Link>
      ))}
      <Spoken
        words={shownStatuses.map((name) => `${counts[name].count}${counts[name].more ? ' or more' : ''} ${name}`).join(', ')}
      />
    </section>
  )
}

function TrendOf({ name, series }: { name: ShownStatus; series: SeriesAnswer }) {
  const { column, of } = trends[name]
  return <Trend values={series[column]} title={`${of} in the last 15 minutes`} />
}
