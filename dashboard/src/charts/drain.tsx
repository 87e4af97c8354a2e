import { inWords } from '../parts/time.js'
import { drainsWith, type Ends, forecast } from './forecast.js'

const more = 2
/** Nobody starts workers for what is done before they are there. */
const worthMoreMs = 60_000
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

interface DrainProps {
  readonly of: Ends
  /** How many work on it; with none, nothing is said of more of them. */
  readonly workers: number
  /** What stands there while nothing can be told. */
  readonly otherwise?: string
  /** Under a heading that says already what it is. */
  readonly brief?: boolean
}

/** When what waits will be done, or how fast it grows, and what two more workers would make of it. */
export function Drain({ of, workers, otherwise, brief = false }: DrainProps) {
  const found = forecast(of)
  if (found === undefined) return otherwise
  const withMore = drainsWith(of, workers, more)
  const sooner = <Sooner ms={withMore} grows={'growsPerMinute' in found} />
  if ('growsPerMinute' in found) {
    return (
      <span>
        <span className="status" data-status="failed">
          what waits grows by {short.format(found.growsPerMinute)} a minute{withMore !== undefined && ','}
        </span>{' '}
        {sooner}
      </span>
    )
  }
  const latest = found.latestMs === null ? 'never' : inWords(found.latestMs)
  return (
    <span title="from how much less waits than 1, 5 and 15 minutes ago">
      {!brief && 'drains in '}about {inWords(found.drainsInMs)}{' '}
      <span className="soft">({`${inWords(found.soonestMs)} to ${latest}`})</span>
      {found.drainsInMs > worthMoreMs && withMore !== undefined && ', '}
      {found.drainsInMs > worthMoreMs && sooner}
    </span>
  )
}

function Sooner({ ms, grows }: { ms: number | null | undefined; grows: boolean }) {
  if (ms === undefined) return null
  const words =
    ms === null ? `also with ${more} more workers` : `${grows ? 'drains in ' : ''}${inWords(ms)} with ${more} more workers`
  return <span className="soft">{words}</span>
}
