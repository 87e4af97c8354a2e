import type { TypeSeriesAnswer } from '../../../../src/api/series.js'
import type { Column } from '../../parts/table.js'
import { inWords } from '../../parts/time.js'
import { Trend } from '../../parts/trend.js'

type Activity = TypeSeriesAnswer['types'][number]

/** How many of a hundred attempts end badly where it is worth a look: a breaker opens at half. */
const worthALook = 0.1
const rates = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 2 })
const shares = new Intl.NumberFormat('en', { style: 'percent', maximumSignificantDigits: 2 })
const seconds = (value: number | null) => (value === null ? '–' : inWords(value * 1_000))
const none = <span className="zero">–</span>

/** What went on in a type, as columns of a table: how fast, how well, how long; a dash where nothing did. */
export function activityColumns<Row>(of: (row: Row) => Activity | undefined): Column<Row>[] {
  const column = (name: string, cell: (found: Activity) => ReturnType<Column<Row>['cell']>): Column<Row> => ({
    name,
    number: true,
    cell: (row) => {
      const found = of(row)
      return found ? cell(found) : none
    },
  })
  return [
    column('Oldest waits', ({ oldest_s }) => (oldest_s === null ? none : seconds(oldest_s))),
    column('Ended a minute', (found) => <Rate of={found} />),
    column('Failures', ({ failed_share }) => <Failures share={failed_share} />),
    column('Ran, p50', ({ run_s }) => <Percentiles of={run_s} />),
    column('Waited, p50', ({ wait_s }) => <Percentiles of={wait_s} />),
  ]
}

function Rate({ of: { ended, ended_per_s } }: { of: Activity }) {
  if (ended_per_s === 0) return none
  return (
    <div className="rate">
      {rates.format(ended_per_s * 60)}
      <Trend values={ended} title={`attempts that ended in the last 15 minutes, the latest last: ${ended.join(', ')}`} />
    </div>
  )
}

function Failures({ share }: { share: number | null }) {
  if (share === null) return none
  if (share === 0) return <span className="zero">0</span>
  const words = shares.format(share)
  return share < worthALook ? (
    words
  ) : (
    <span className="status" data-status="failed">
      {words}
    </span>
  )
}

function Percentiles({ of: { p50, p95 } }: { of: Activity['run_s'] }) {
  if (p50 === null) return none
  return (
    <>
      {seconds(p50)}
      <div className="second">p95 {seconds(p95)}</div>
    </>
  )
}
