import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused, refuseUnknown } from '../job/refused.js'
import type { SampleRow } from '../store/sample-store.js'
import type { Store } from '../store/store.js'
import type { VerifiedRow } from '../store/verification-store.js'
import { latestSteps } from './series.js'
import { type SeriesColumns, type Steps, seriesOf } from './series-of.js'

/** Which time is summed up. */
export interface TypeSeriesQuestion {
  /**
   * The time that ends now.
   * @range 1 min to 1 day
   * @default '15m'
   */
  last?: Duration
}

/** What went on in one type. Shares and percentiles are null where nothing ended or began. */
export interface TypeActivity {
  type: string
  lane: string
  /** How it stands at the end of the time. */
  waiting: number
  scheduled: number
  blocked: number
  running: number
  oldestSeconds: number | null
  /** How many jobs were enqueued and attempts ended, and how many of these ended badly: in each step, the last of which is over. */
  enqueued: number[]
  ended: number[]
  failed: number[]
  /** The same a second, over the whole time. */
  enqueuedPerSecond: number
  endedPerSecond: number
  /** How many of the attempts that ended did so badly, 0 to 1. */
  failedShare: number | null
  /** Completed jobs that were looked at again in the time, by `verify` of the type, and had done their work or not. */
  confirmed: number
  refuted: number
  /** How many of the attempts truly did their work, as far as the sample tells; null where none was looked at. */
  trueSuccessShare: number | null
  run: { p50: number | null; p95: number | null }
  wait: { p50: number | null; p95: number | null }
  /** How many seconds its attempts that ended took together, estimated from their histogram. */
  runSeconds: number
  /** What 95 of a hundred attempts took at most, and had been due for at most when they began: in each step. */
  runP95: (number | null)[]
  waitP95: (number | null)[]
}

/** What went on in every type, in the same steps. */
export interface TypeSeries {
  from: Date
  to: Date
  stepMs: number
  types: TypeActivity[]
}

/** So many points are a line that can be read in a row of a table. */
const points = 30
const finestMs = 10_000

/** What went on in each type, of one look at the samples. `allowed`: the types that are looked at at all. */
export async function readTypeSeries(
  store: Store,
  question: TypeSeriesQuestion = {},
  allowed?: ReadonlySet<string>,
): Promise<TypeSeries> {
  refuseUnknown(question, ['last'])
  const lastMs = toMilliseconds(question.last ?? '15m', 'last')
  if (lastMs < 60_000 || lastMs > 86_400_000) throw refused('last', 'must lie between 1m and 1d')
  const nowMs = (await store.inspect.now()).getTime()
  const step = Math.ceil(lastMs / points / finestMs) * finestMs
  const steps = latestSteps(Math.ceil(lastMs / step), step, nowMs)
  const toMs = steps.fromMs + steps.points * step
  const types = (await store.types(allowed ? [...allowed] : null)).sort((a, b) => (a.name < b.name ? -1 : 1))
  const rows = await store.samples.read({ fromMs: steps.fromMs, toMs, stepMs: step }, allowed ? [...allowed] : null)
  const verified = new Map((await store.operate.verification.between(steps.fromMs, toMs)).map((row) => [row.type, row]))
  const rowsOf = new Map<number, SampleRow[]>()
  for (const row of rows) rowsOf.set(row.type, [...(rowsOf.get(row.type) ?? []), row])
  return {
    ...{ from: new Date(steps.fromMs), to: new Date(toMs), stepMs: step },
    types: types.map(({ id, name, lanename }) => ({
      type: name,
      lane: lanename,
      ...withTruth(activity(rowsOf.get(id) ?? [], steps, nowMs), verified.get(name)),
    })),
  }
}

type Claimed = Omit<TypeActivity, 'type' | 'lane' | 'confirmed' | 'refuted' | 'trueSuccessShare'>

/** What handlers claim, and what was found of it. */
function withTruth(claimed: Claimed, found: VerifiedRow | undefined): Omit<TypeActivity, 'type' | 'lane'> {
  const { confirmed, refuted } = found ?? { confirmed: 0, refuted: 0 }
  const looked = confirmed + refuted
  const trueSuccessShare = looked === 0 ? null : ((1 - (claimed.failedShare ?? 0)) * confirmed) / looked
  return { ...claimed, confirmed, refuted, trueSuccessShare }
}

function activity(rows: readonly SampleRow[], steps: Steps, nowMs: number): Claimed {
  const series = seriesOf(rows, steps, nowMs)
  const whole = seriesOf(rows, { ...steps, stepMs: steps.stepMs * steps.points, points: 1 }, nowMs)
  const failed = series.failed.map((count, at) => count + (series.rescued[at] as number))
  const ended = series.completed.map((count, at) => count + (failed[at] as number))
  const seconds = (steps.stepMs * steps.points) / 1_000
  const [allIn, allEnded, allFailed] = [series.enqueued, ended, failed].map(sum) as [number, number, number]
  const last = (column: readonly number[]) => column.at(-1) ?? 0
  return {
    ...{ waiting: last(series.waiting), scheduled: last(series.scheduled), blocked: last(series.blocked) },
    ...{ running: last(series.running), oldestSeconds: series.oldestSeconds.at(-1) ?? null },
    ...{ enqueued: series.enqueued, ended, failed },
    ...{ enqueuedPerSecond: allIn / seconds, endedPerSecond: allEnded / seconds },
    failedShare: allEnded === 0 ? null : allFailed / allEnded,
    ...{ run: middleAndMost(whole.run), wait: middleAndMost(whole.wait) },
    ...{ runSeconds: whole.runSeconds[0] ?? 0, runP95: series.run.p95, waitP95: series.wait.p95 },
  }
}

function middleAndMost({ p50, p95 }: SeriesColumns['run']): { p50: number | null; p95: number | null } {
  return { p50: p50[0] ?? null, p95: p95[0] ?? null }
}

function sum(column: readonly number[]): number {
  return column.reduce((all, one) => all + one, 0)
}
