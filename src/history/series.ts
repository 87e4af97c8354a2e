import { HoldfastError } from '../errors.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown } from '../job/refused.js'
import { storableText } from '../job/text.js'
import type { Store } from '../store/store.js'
import { type SeriesColumns, seriesOf } from './series-of.js'

/** Which time, of what, in which steps. */
export interface SeriesQuestion {
  /**
   * Where it begins, rounded down to a whole step.
   * @default an hour before `to`
   */
  from?: Date
  /**
   * Where it ends. No step is answered before it is over and sampled, which takes about 13 seconds.
   * @default now
   */
  to?: Date
  /**
   * How long a step is.
   * @range 10 s to 35 days, and at most 10,000 steps
   * @default the shortest of 10 s, 30 s, 1 min, 5 min, 15 min, 1 h, 6 h and 1 day that makes at most 400 steps
   */
  step?: Duration
  /**
   * Only this type.
   * @default all
   */
  type?: string
  /**
   * Only what was in this lane.
   * @default all
   */
  lane?: string
}

/** What went on between two times, step by step. Every list has an entry for each step. */
export interface Series extends SeriesColumns {
  from: Date
  to: Date
  stepMs: number
}

const stepsMs = [10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000]
const standardPoints = 400
const mostPoints = 10_000
const longestStepMs = 35 * 86_400_000
/** Samples are at most so far apart: a step that ended before is known. */
const sampledWithinMs = 13_000

/** The past in numbers, from samples. `allowed`: the types that are looked at at all. */
export async function readSeries(store: Store, question: SeriesQuestion = {}, allowed?: ReadonlySet<string>): Promise<Series> {
  refuseUnknown(question, ['from', 'to', 'step', 'type', 'lane'])
  const nowMs = (await store.inspect.now()).getTime()
  const range = rangeOf(question, nowMs)
  const types = await typesOf(store, question, allowed)
  const lane = await laneOf(store, question)
  const { fromMs, stepMs, points } = range
  const toMs = fromMs + points * stepMs
  const rows = points === 0 ? [] : await store.samples.read({ fromMs, toMs, stepMs }, types)
  return { from: new Date(fromMs), to: new Date(toMs), stepMs, ...seriesOf(rows, range, nowMs, lane) }
}

/** Whole steps, the last of which is over. */
export function rangeOf(question: SeriesQuestion, nowMs: number): { fromMs: number; stepMs: number; points: number } {
  const toMs = timeOf(question.to, 'to') ?? nowMs
  const fromMs = timeOf(question.from, 'from') ?? toMs - 3_600_000
  if (fromMs >= toMs) throw refused('from', `is ${new Date(fromMs).toISOString()}; it must lie before to`)
  const lasts = toMs - fromMs
  const stepMs =
    question.step === undefined
      ? (stepsMs.find((ms) => lasts / ms <= standardPoints) ?? Math.ceil(lasts / standardPoints / 86_400_000) * 86_400_000)
      : toMilliseconds(question.step, 'step')
  if (stepMs < 10_000 || stepMs > longestStepMs) throw refused('step', 'must lie between 10s and 35d')
  if (lasts / stepMs > mostPoints) {
    throw refused('step', `makes ${Math.ceil(lasts / stepMs)} steps; at most ${mostPoints} are answered: choose a longer one`)
  }
  const first = Math.floor(fromMs / stepMs)
  const last = Math.min(Math.ceil(toMs / stepMs), Math.floor((nowMs - sampledWithinMs) / stepMs))
  return { fromMs: first * stepMs, stepMs, points: Math.max(0, last - first) }
}

/** So many whole steps, the last of which is the latest that is known: as many at every moment. */
export function latestSteps(points: number, stepMs: number, nowMs: number): { fromMs: number; stepMs: number; points: number } {
  const last = Math.floor((nowMs - sampledWithinMs) / stepMs)
  return { fromMs: (last - points) * stepMs, stepMs, points }
}

async function typesOf(store: Store, { type }: SeriesQuestion, allowed?: ReadonlySet<string>): Promise<string[] | null> {
  if (type === undefined) return allowed ? [...allowed] : null
  if ((await store.types([storableText(type, 'type')])).length === 0) {
    const names = (await store.types(null)).map(({ name }) => name)
    throw new HoldfastError('unknown_type', `there is no type "${type}"${didYouMean(type, names)}`, { field: 'type' })
  }
  return allowed && !allowed.has(type) ? [] : [type]
}

async function laneOf(store: Store, { lane }: SeriesQuestion): Promise<string | undefined> {
  if (lane === undefined) return undefined
  const names = (await store.lanes()).map(({ name }) => name)
  if (!names.includes(lane)) {
    const problem = `there is no lane "${lane}"${didYouMean(lane, names)}; there are ${names.join(', ')}`
    throw new HoldfastError('unknown_lane', problem, { field: 'lane' })
  }
  return lane
}

function timeOf(value: unknown, field: string): number | undefined {
  if (value === undefined) return undefined
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime()
  throw refused(field, 'must be a valid Date')
}
