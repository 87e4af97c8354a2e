import type { TypeSeriesAnswer } from '../../../../src/api/series.js'
import { useTypeSeries } from '../../api/answers.js'
import { rangeWords } from '../../charts/series.js'
import { Count } from '../../parts/count.js'
import { Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { exactTime, inWords } from '../../parts/time.js'
import { go, useRoute } from '../../routing.js'
import { HeatLegend, HeatRow } from './heat.js'

type Activity = TypeSeriesAnswer['types'][number]

const shownAtMost = 20
const standard = '15m'
const { '15m': quarter, '1h': hour, '6h': sixHours, '1d': day } = rangeWords
const summedUp = { '15m': quarter, '1h': hour, '6h': sixHours, '1d': day } as Readonly<Record<string, string>>
const measures = { run_p95_s: 'how long they ran', wait_p95_s: 'how late they began' } as const
type Measure = keyof typeof measures

const shares = new Intl.NumberFormat('en', { style: 'percent', maximumSignificantDigits: 2 })

/** The types that cost the most time, and when their attempts were slow. The time and the measure stand in the address, so a link keeps them. */
export function WhereTimeGoes() {
  const { path, query } = useRoute()
  const asked = query.get('range') ?? standard
  const range = asked in summedUp ? asked : standard
  const measure: Measure = query.get('heat') === 'wait' ? 'wait_p95_s' : 'run_p95_s'
  const series = useTypeSeries(range === standard ? undefined : range)
  const choose = (change: Readonly<Record<string, string>>) =>
    go(path, { ...Object.fromEntries(query), ...change }, { replace: true })
  return (
    <Card
      title="Where the time goes"
      aside={
        <>
          <Select
            label="Heat map of"
            value={measure}
            onValue={(next) => choose({ heat: next === 'wait_p95_s' ? 'wait' : '' })}
            options={measures}
          />
          <Select
            label="Time range"
            value={range}
            onValue={(next) => choose({ range: next === standard ? '' : next })}
            options={summedUp}
          />
        </>
      }
    >
      <Loaded query={series}>{(answer) => <TimeByType answer={answer} measure={measure} range={range} />}</Loaded>
    </Card>
  )
}

interface TimeByTypeProps {
  readonly answer: TypeSeriesAnswer
  readonly measure: Measure
  readonly range: string
}

function TimeByType({ answer: { types, from, to, step_ms }, measure, range }: TimeByTypeProps) {
  const whole = types.reduce((sum, { run_total_s }) => sum + run_total_s, 0)
  const attempts = ({ ended }: Activity) => ended.reduce((sum, count) => sum + count, 0)
  const busy = types
    .filter((type) => type.run_total_s > 0 || type[measure].some((value) => value !== null))
    .sort((one, other) => other.run_total_s - one.run_total_s)
  if (busy.length === 0) {
    return (
      <p className="empty">
        No attempt began or ended in the {summedUp[range]} up to {exactTime(to)}. What came since stands here once its step of{' '}
        {inWords(step_ms)} is over.
      </p>
    )
  }
  return (
    <>
      <Table
        label="Where the time goes"
        rows={busy.slice(0, shownAtMost)}
        keyOf={({ type }) => type}
        empty="No attempt began or ended."
        columns={[
          { name: 'Type', cell: ({ type }) => <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link> },
          { name: 'Ran together', number: true, cell: ({ run_total_s }) => inWords(run_total_s * 1_000) },
          { name: 'Share', number: true, cell: ({ run_total_s }) => (whole === 0 ? '–' : shares.format(run_total_s / whole)) },
          { name: 'Attempts', number: true, cell: (row) => <Count count={attempts(row)} /> },
          {
            name: `95 of 100, ${summedUp[range]}`,
            cell: (row) => (
              <HeatRow values={row[measure]} from={Date.parse(from)} stepMs={step_ms} of={`${row.type}: ${measures[measure]}`} />
            ),
          },
        ]}
      />
      <div className="foot soft">
        <span>
          Ran together: estimated from the histogram of run times
          {busy.length > shownAtMost && `; the ${shownAtMost} that took the most`}.
        </span>
        <HeatLegend />
      </div>
    </>
  )
}
