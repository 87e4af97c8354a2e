import { lazy, Suspense, useMemo } from 'react'
import type { auditAnswer } from '../../../src/api/admin.js'
import type { SeriesAnswer } from '../../../src/api/series.js'
import { useAlerts, useBuilds, useFleet } from '../api/answers.js'
import { type Answered, useAnswer } from '../api/use.js'
import { Select } from '../parts/filter.js'
import { Card, Loaded } from '../parts/page.js'
import { Skeleton } from '../parts/skeleton.js'
import { inWords } from '../parts/time.js'
import { go, useRoute } from '../routing.js'
import { useMay } from '../session/session.js'
import { Drain } from './drain.js'
import type { ChartProps, Line, Mark } from './line.js'
import { type Range, ranges, rangeWords, useSeries } from './series.js'
import { startsOf } from './starts.js'

const tryAgainMs = 2_000

/** Tries until it is there: a page that is open while the server restarts must not break because a chart cannot be loaded. */
const Chart = lazy(async () => {
  for (;;) {
    const loaded = await import('./chart.js').catch(() => undefined)
    if (loaded) return loaded
    await new Promise((resolve) => setTimeout(resolve, tryAgainMs))
  }
})

/** The past of all types, or of one, in charts. The range stands in the address, so a link keeps it. */
export function Charts({ type }: { type?: string }) {
  const { path, query } = useRoute()
  const asked = query.get('range')
  const range: Range = asked !== null && asked in ranges ? (asked as Range) : '15m'
  const series = useSeries(range, { type })
  const now = useSeries('15m', { type })
  const marks = [...useMarks(type, range), ...useStarts(type, range)]
  const limits = useLimits(type)
  const choose = (next: string) =>
    go(path, { ...Object.fromEntries(query), range: next === '15m' ? '' : next }, { replace: true })
  return (
    <Card
      title="Over time"
      aside={
        <>
          {now.data && <Drain of={now.data} workers={type === undefined ? (now.data.workers.at(-1) ?? 0) : 0} />}
          <Select label="Time range" value={range} onValue={choose} options={rangeWords} />
        </>
      }
    >
      <Loaded query={series}>
        {(answer) => <AllCharts answer={answer} marks={marks} ofFleet={type === undefined} limits={limits} />}
      </Loaded>
    </Card>
  )
}

/** What people changed, for those who may know. */
function useMarks(type: string | undefined, range: Range): readonly Mark[] {
  const query = { limit: 200, ...(type !== undefined && { target: type }) }
  const audit = useAnswer<Answered<typeof auditAnswer>>('admin/audit', query, { everyMs: 10_000, enabled: useMay('admin') })
  return useMemo(() => {
    const from = Date.now() - ranges[range].ms
    return (audit.data?.lines ?? [])
      .map(({ at, actor, action, target }) => {
        return { at: Date.parse(at) / 1_000, text: `${actor}: ${action.replaceAll('_', ' ')} ${target ?? ''}`.trim() }
      })
      .filter(({ at }) => at * 1_000 >= from)
  }, [audit.data, range])
}

/** Workers that started and builds that were seen for the first time, those of a few minutes as one: a deploy. */
function useStarts(type: string | undefined, range: Range): readonly Mark[] {
  const workers = useFleet().data?.workers
  const builds = useBuilds().data?.builds
  return useMemo(
    () => startsOf({ workers: workers ?? [], builds: builds ?? [] }, type, Date.now() - ranges[range].ms),
    [workers, builds, type, range],
  )
}

/** From which value on a rule of alerts fires: for how long the oldest job is due, how many wait, how late they begin. */
function useLimits(type: string | undefined): Limits {
  const rules = useAlerts().data?.rules
  return useMemo(() => {
    const least = (kind: string) => {
      const its = rules?.filter((rule) => rule.kind === kind && rule.enabled && (rule.type === null || rule.type === type))
      return its === undefined || its.length === 0 ? undefined : Math.min(...its.map(({ threshold }) => threshold))
    }
    return { oldest: least('oldest'), depth: least('depth'), slowStart: least('slow_starts') }
  }, [rules, type])
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const count = (value: number) => short.format(value)
const seconds = (value: number) => (value === 0 ? '0' : inWords(value * 1_000))
const round = (value: number) => String(Math.round(value * 10) / 10)
/** In one unit, for the little room beside an axis. */
const shortSeconds = (value: number) => {
  if (value === 0) return '0'
  if (value < 1) return `${round(value * 1_000)} ms`
  if (value < 60) return `${round(value)} s`
  return value < 3_600 ? `${round(value / 60)} min` : `${round(value / 3_600)} h`
}

interface Limits {
  readonly oldest: number | undefined
  readonly depth: number | undefined
  readonly slowStart: number | undefined
}

interface AllChartsProps {
  readonly answer: SeriesAnswer
  readonly marks: readonly Mark[]
  readonly ofFleet: boolean
  readonly limits: Limits
}

function AllCharts({ answer, marks, ofFleet, limits }: AllChartsProps) {
  const charts = useMemo(() => chartsOf(answer, ofFleet, limits), [answer, ofFleet, limits])
  if (answer.enqueued.length < 2) {
    return <p className="empty">Nothing is sampled yet. A worker or a server looks every ten seconds, and stores what changed.</p>
  }
  return (
    <Suspense fallback={<Skeleton rows={8} />}>
      <div className="charts">
        {charts.map((chart) => (
          <Chart key={chart.title} {...chart} marks={marks} />
        ))}
      </div>
    </Suspense>
  )
}

function chartsOf(answer: SeriesAnswer, ofFleet: boolean, { oldest, depth, slowStart }: Limits): Omit<ChartProps, 'marks'>[] {
  const { step_ms, run_s, wait_s } = answer
  const first = Date.parse(answer.from) / 1_000
  const times = answer.enqueued.map((_, step) => first + ((step + 1) * step_ms) / 1_000)
  const rate = (column: readonly number[]) => column.map((one) => one / (step_ms / 60_000))
  const line = (name: string, status: string, values: Line['values'], more: Partial<Line> = {}): Line => ({
    name,
    status,
    values,
    ...more,
  })
  const shares = ({ p50, p95, p99 }: SeriesAnswer['run_s'], status: string) => [
    line('p50', status, p50),
    line('p95', status, p95, { dash: [6, 3] }),
    line('p99', status, p99, { dash: [2, 2] }),
  ]
  /** Only where it is near: a limit far above everything would flatten the curve. */
  const alert = (limit: number | undefined, values: readonly (number | null)[]) =>
    limit !== undefined && values.some((value) => (value ?? 0) > limit / 4)
      ? [
          line(
            'alert',
            'dead',
            times.map(() => limit),
            { dash: [2, 4] },
          ),
        ]
      : []
  return [
    {
      title: 'In and out per minute',
      lines: [
        line('enqueued', 'pending', rate(answer.enqueued), { dash: [4, 3] }),
        line('completed', 'completed', rate(answer.completed), { fill: true }),
      ],
      inWords: count,
    },
    {
      title: 'Attempts failed, jobs dead, per minute',
      lines: [
        line('failed', 'failed', rate(answer.failed), { fill: true }),
        line('dead', 'dead', rate(answer.dead)),
        line('rescued', 'scheduled', rate(answer.rescued), { dash: [2, 2] }),
      ],
      inWords: count,
    },
    {
      title: ofFleet ? 'Jobs that wait and run, workers' : 'Jobs that wait and run',
      lines: [
        line('waiting', 'pending', answer.waiting, { fill: true }),
        line('running', 'processing', answer.running),
        ...(ofFleet
          ? [
              line('workers', 'completed', answer.workers, { dash: [2, 2] }),
              line('wanted', 'scheduled', answer.wanted, { dash: [6, 3] }),
            ]
          : []),
        ...alert(depth, answer.waiting),
      ],
      inWords: count,
    },
    {
      title: 'Oldest that waits',
      lines: [
        ...oldestOf(answer).map(({ name, dash, values }, at) => line(name, 'pending', values, { dash, fill: at === 0 })),
        ...alert(oldest, answer.oldest_s),
      ],
      inWords: seconds,
      onAxis: shortSeconds,
    },
    {
      title: 'Due until begun',
      lines: [...shares(wait_s, 'pending'), ...alert(slowStart, wait_s.p99)],
      inWords: seconds,
      onAxis: shortSeconds,
    },
    { title: 'Run time of attempts', lines: shares(run_s, 'processing'), inWords: seconds, onAxis: shortSeconds },
  ].map((chart) => ({ onAxis: count, ...chart, times }))
}

const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]]

/** How long the oldest has waited: of each priority where few have any, or of all. */
function oldestOf({ oldest_s, priorities }: SeriesAnswer) {
  const columns =
    priorities.length > 1 && priorities.length <= dashes.length
      ? priorities.map(({ priority, oldest_s: its }) => ({ name: `priority ${priority}`, its }))
      : [{ name: 'oldest', its: oldest_s }]
  return columns.map(({ name, its }, at) => ({ name, dash: dashes[at] as number[], values: its.map((one) => one ?? 0) }))
}
