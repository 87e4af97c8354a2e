import type { CountsAnswer } from '../../../../src/api/jobs.js'
import { statuses } from '../../../../src/job/state.js'
import { useAnswer } from '../../api/use.js'
import { Link } from '../../parts/link.js'
import { Spoken } from '../../parts/spoken.js'
import { statusWords } from '../../parts/status.js'
import type { JobFilter } from './query-text.js'

interface StatusTabsProps {
  readonly filter: JobFilter
  /** What is asked of the server, but for the status. */
  readonly asked: Readonly<Record<string, string | readonly string[] | undefined>>
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const shown = ({ count, more }: CountsAnswer[keyof CountsAnswer]) => `${short.format(count).toLowerCase()}${more ? '+' : ''}`
const names = Object.keys(statuses) as (keyof CountsAnswer)[]

/** A link to each status with how many fit the rest of the filter. Counting stops early: 1k+ is at least so many. */
export function StatusTabs({ filter, asked }: StatusTabsProps) {
  const counts = useAnswer<CountsAnswer>('jobs/counts', asked, { everyMs: 5_000 }).data
  return (
    <nav className="tabs" aria-label="Status">
      <Tab filter={filter} status="" words="all" />
      {names.map((status) => (
        <Tab key={status} filter={filter} status={status} words={statusWords[status]} count={counts?.[status]} />
      ))}
      <Spoken
        words={
          counts
            ? names
                .filter((name) => counts[name].count > 0)
                .map((name) => `${shown(counts[name])} ${statusWords[name]}`)
                .join(', ')
            : ''
        }
      />
    </nav>
  )
}

interface TabProps {
  readonly filter: JobFilter
  readonly status: string
  readonly words: string
  readonly count?: CountsAnswer[keyof CountsAnswer] | undefined
}

function Tab({ filter, status, words, count }: TabProps) {
  const here = filter.status === status
  return (
    <Link to="/jobs" query={{ ...filter, status }} data-status={status} {...(here && { 'aria-current': 'page' })}>
      {words}
      {count !== undefined && <span className={count.count === 0 ? 'zero' : undefined}>{shown(count)}</span>}
    </Link>
  )
}
