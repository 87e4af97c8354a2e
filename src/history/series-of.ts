import { bounds } from '../job/buckets.js'
import type { SampleRow } from '../store/sample-store.js'

/** The steps of a chart: `points` of them, each `stepMs` long. */
export interface Steps {
  fromMs: number
  stepMs: number
  points: number
}

/** Shares of attempts by how long they took or had waited, in seconds; null where none ended or began. */
export interface SeriesPercentiles {
  p50: (number | null)[]
  p95: (number | null)[]
  p99: (number | null)[]
}

/** Numbers in columns, one entry for each step. */
export interface SeriesColumns {
  /** Jobs that were enqueued in the step. */
  enqueued: number[]
  completed: number[]
  /** Attempts that failed, whether or not another one follows. */
  failed: number[]
  /** Attempts whose lease ran out. */
  rescued: number[]
  dead: number[]
  expired: number[]
  cancelled: number[]
  /** Jobs that were due and waited at the end of the step. */
  waiting: number[]
  scheduled: number[]
  blocked: number[]
  running: number[]
  /** How long the oldest that waited had been due; null: none waited. */
  oldestSeconds: (number | null)[]
  /** Workers of the whole fleet. */
  workers: number[]
  /** Workers of the whole fleet that were wanted, to do within a minute what waited. */
  wanted: number[]
  /** How long attempts took. */
  run: SeriesPercentiles
  /** How many seconds the attempts that ended took together, estimated from their histogram. */
  runSeconds: number[]
  /** How long attempts had been due when they began. */
  wait: SeriesPercentiles
  /** What waited and began, for each priority of which any did. */
  priorities: { priority: number; waiting: number[]; oldestSeconds: (number | null)[]; wait: SeriesPercentiles }[]
}

const flows = ['enqueued', 'completed', 'failed', 'rescued', 'dead', 'expired', 'cancelled'] as const
const running = 7
const workers = 8
const wanted = 9
const minuteMs = 60_000
const hourMs = 3_600_000

/**
 * SeriesColumns from samples, which stand by type and time. Counters are drawn as straight lines from when a change can have begun to when it was seen, and
 * rounded where steps meet: so every job counts once, in whole numbers, however the samples lie between the steps. A counter that went down
 * began anew. With a lane, only what its samples say was in it.
 */
export function seriesOf(rows: readonly SampleRow[], steps: Steps, nowMs: number, lane?: string): SeriesColumns {
  const zeros = () => new Array<number>(steps.points).fill(0)
  const columns = Object.fromEntries(flows.map((name) => [name, zeros()])) as Record<(typeof flows)[number], number[]>
  const gauges = { waiting: zeros(), scheduled: zeros(), blocked: zeros(), running: zeros(), workers: zeros(), wanted: zeros() }
  const histogram = () => Array.from({ length: bounds.length + 1 }, zeros)
  const [buckets, waits] = [histogram(), histogram()]
  const byPriority = new Map<number, { waiting: number[]; oldestAt: (number | null)[]; waits: number[][] }>()
  const ofPriority = (priority: number) => {
    const one = byPriority.get(priority) ?? { waiting: zeros(), oldestAt: zeros().map(() => null), waits: histogram() }
    byPriority.set(priority, one)
    return one
  }
  for (const samples of byType(rows)) {
    const fits = (row: SampleRow) => lane === undefined || row.lane === lane
    for (const [at, name] of flows.entries())
      addFlow(columns[name], samples, steps, nowMs, (row) => row.counts[at] as number, fits)
    for (const [at, bucket] of buckets.entries()) addFlow(bucket, samples, steps, nowMs, (row) => row.runs[at] ?? 0, fits)
    for (const priority of new Set(samples.flatMap((row) => row.waits.map(([of]) => of)))) {
      const waited = (row: SampleRow) => row.waits.find(([of]) => of === priority)
      for (const [at, bucket] of ofPriority(priority).waits.entries())
        addFlow(bucket, samples, steps, nowMs, (row) => waited(row)?.[at + 1] ?? 0, fits)
    }
    for (const [step, row] of latest(samples, steps)) {
      if (row.type === 0) gauges.workers[step] = row.counts[workers]
      if (row.type === 0) gauges.wanted[step] = row.counts[wanted]
      if (!fits(row)) continue
      gauges.running[step] = (gauges.running[step] as number) + row.counts[running]
      for (const [priority, waiting, scheduled, blocked, oldest] of row.depths) {
        gauges.waiting[step] = (gauges.waiting[step] as number) + waiting
        gauges.scheduled[step] = (gauges.scheduled[step] as number) + scheduled
        gauges.blocked[step] = (gauges.blocked[step] as number) + blocked
        const one = ofPriority(priority)
        one.waiting[step] = (one.waiting[step] as number) + waiting
        if (oldest !== null) one.oldestAt[step] = Math.min(one.oldestAt[step] ?? oldest, oldest)
      }
    }
  }
  const priorities = [...byPriority]
    .sort(([a], [b]) => b - a)
    .map(([priority, { waiting, oldestAt, waits: its }]) => {
      for (const [at, bucket] of its.entries()) addTo(waits[at] as number[], bucket)
      const oldestSeconds = oldestAt.map((since, step) => age(since, steps, step))
      return { priority, waiting, oldestSeconds, wait: percentiles(its, steps.points) }
    })
  const oldestSeconds = zeros().map((_, step) => priorities.reduce(oldest(step), null as number | null))
  const [run, wait] = [buckets, waits].map((all) => percentiles(all, steps.points)) as [SeriesPercentiles, SeriesPercentiles]
  const runSeconds = zeros().map((_, step) => totalSeconds(buckets.map((bucket) => bucket[step] as number)))
  return { ...columns, ...gauges, oldestSeconds, run, runSeconds, wait, priorities }
}

function addTo(column: number[], more: readonly number[]): void {
  for (const [step, count] of more.entries()) column[step] = (column[step] as number) + count
}

function byType(rows: readonly SampleRow[]): SampleRow[][] {
  const types = new Map<number, SampleRow[]>()
  for (const row of rows) {
    const its = types.get(row.type)
    if (its) its.push(row)
    else types.set(row.type, [row])
  }
  return [...types.values()]
}

function oldest(step: number) {
  return (most: number | null, { oldestSeconds }: { oldestSeconds: (number | null)[] }) => {
    const its = oldestSeconds[step] ?? null
    return its === null ? most : Math.max(most ?? 0, its)
  }
}

function age(at: number | null, { fromMs, stepMs }: Steps, step: number): number | null {
  return at === null ? null : Math.max(0, Math.round(((fromMs + (step + 1) * stepMs) / 1000 - at) * 1000) / 1000)
}

/** Adds what a counter grew by in each step. */
function addFlow(
  column: number[],
  samples: readonly SampleRow[],
  { fromMs, stepMs, points }: Steps,
  nowMs: number,
  counter: (row: SampleRow) => number,
  fits: (row: SampleRow) => boolean,
): void {
  const until: number[] = []
  const end = () => fromMs + until.length * stepMs
  let total = 0
  for (const [i, row] of samples.slice(1).entries()) {
    const last = samples[i] as SampleRow
    const grown = fits(row) ? grownBy(counter(last), counter(row)) : 0
    if (grown === 0) continue
    const begins = changeBegan(last, row, stepMs, nowMs)
    while (until.length <= points && end() < row.at) {
      until.push(Math.round(total + (end() <= begins ? 0 : (grown * (end() - begins)) / (row.at - begins))))
    }
    total += grown
  }
  while (until.length <= points) until.push(total)
  for (let step = 0; step < points; step++) {
    column[step] = (column[step] as number) + (until[step + 1] as number) - (until[step] as number)
  }
}

function grownBy(from: number, to: number): number {
  return to >= from ? to - from : to
}

/** A sample that stands for a longer time than it was taken after, because those before it were left out, may have changed in all of it. */
function changeBegan(last: SampleRow, row: SampleRow, stepMs: number, nowMs: number): number {
  const old = nowMs - row.at
  const standsFor = Math.max(stepMs, old > 48 * hourMs ? hourMs : old > 2 * hourMs ? minuteMs : 0)
  return Math.max(last.at, Math.min(row.since, Math.floor(row.at / standsFor) * standsFor))
}

/** The sample that holds at the end of each step, where there is one. */
function* latest(samples: readonly SampleRow[], { fromMs, stepMs, points }: Steps): Generator<[number, SampleRow]> {
  let next = 0
  for (let step = 0; step < points; step++) {
    while (next < samples.length && (samples[next] as SampleRow).at <= fromMs + (step + 1) * stepMs) next++
    if (next > 0) yield [step, samples[next - 1] as SampleRow]
  }
}

function percentiles(buckets: readonly number[][], points: number): SeriesPercentiles {
  const of = (share: number) =>
    Array.from({ length: points }, (_, step) =>
      percentile(
        buckets.map((bucket) => bucket[step] as number),
        share,
      ),
    )
  return { p50: of(0.5), p95: of(0.95), p99: of(0.99) }
}

/** In seconds, as if those of a bucket lay evenly between its bounds; past the last bound, that bound. Null where there are none. */
export function percentile(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return null
  let rest = all * share
  for (const [bucket, count] of counts.entries()) {
    const [low, high] = between(bucket)
    if (count > 0 && rest <= count) return Math.round((low + ((high - low) * rest) / count) * 1e6) / 1e6
    rest -= count
  }
  return bounds.at(-1) as number
}

/** All of them together, in seconds, as if those of a bucket lay evenly between its bounds; past the last bound, that bound. */
export function totalSeconds(counts: readonly number[]): number {
  const total = counts.reduce((sum, count, bucket) => sum + count * middle(between(bucket)), 0)
  return Math.round(total * 1e6) / 1e6
}

const middle = ([low, high]: readonly [number, number]) => (low + high) / 2

function between(bucket: number): readonly [number, number] {
  const last = bounds.at(-1) as number
  return [bounds[bucket - 1] ?? 0, bounds[bucket] ?? last]
}
