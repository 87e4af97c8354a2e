import { Checker } from '../job/checker.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { showValue } from '../job/failure.js'
import { encodePayload } from '../job/payload.js'
import { notA, refused, wholeNumber } from '../job/refused.js'
import { scheduleMark } from '../job/schedule-mark.js'
import { readTags } from '../job/tags.js'
import { unstorable } from '../job/text.js'
import { type AnyJobType, isJobType, type JobType } from '../job/type.js'
import { cronProblem, isTimeZone } from './cron.js'

/** What becomes of ticks that nobody fired within a minute, because no worker ran or the clock jumped. */
export type MissedPolicy = 'skip' | 'once' | { all: number }

/** What a tick does while an earlier job of the schedule has not ended. */
export type OverlapPolicy = 'allow' | 'skip' | 'queue' | 'cancel'

/** What `defineSchedule` and `schedules.create` take. */
export interface ScheduleDefinition<Input = unknown> {
  /** What people call it: 1 to 200 letters, digits or `_ - . : /`. */
  name: string
  /** The type of the jobs it makes, or the name of a registered one. */
  // biome-ignore lint/suspicious/noExplicitAny: what the handler takes and returns does not matter here
  type: JobType<Input, any, any> | string
  /**
   * The payload of every job it makes.
   * @default {}
   */
  payload?: Input
  /**
   * A cron expression of five fields, or six with seconds first; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
   * @default none; it or `every` is needed
   */
  cron?: string
  /**
   * The time from one tick to the next, at least a second, instead of `cron`. Ticks are counted from `start`, or else from 1970.
   * @range 1 s to 100 years
   * @default none; it or `cron` is needed
   */
  every?: Duration
  /**
   * The IANA time zone `cron` is read in, such as `Europe/Berlin`.
   * @default 'UTC'
   */
  timeZone?: string
  /**
   * No tick comes before this time.
   * @range the years 2000 to 2199
   * @default none
   */
  start?: Date | string
  /**
   * No tick comes at or after this time.
   * @range the years 2000 to 2199
   * @default none
   */
  end?: Date | string
  /**
   * Each job is due up to this much later than its tick; how much depends on the name and the tick alone.
   * @range 0 to 1 day
   * @default 0
   */
  jitter?: Duration
  /**
   * What becomes of missed ticks: none of them runs, the last one does, or the last so many.
   * @range skip, once, or { all: 1 to 1,000 }
   * @default 'once'
   */
  missed?: MissedPolicy
  /**
   * What a tick does while an earlier job of the schedule has not ended: make a job all the same, make none, make one that waits
   * for the end, or cancel the earlier one.
   * @range allow, skip, queue or cancel
   * @default 'allow'
   */
  overlap?: OverlapPolicy
  /**
   * The priority of its jobs, 0 (low) to 9 (high).
   * @range 0 to 9
   * @default that of the type
   */
  priority?: number
  /**
   * How often each of its jobs may be tried, 1 to 20.
   * @range 1 to 20
   * @default that of the type
   */
  maxAttempts?: number
  /**
   * The concurrency key of its jobs.
   * @range 1 to 500 characters
   * @default none
   */
  concurrencyKey?: string
  /**
   * The tags of its jobs.
   * @range at most 8
   * @default []
   */
  tags?: readonly string[]
}

/** When a schedule ticks. The rest of a spec says what a tick does. */
export interface Timing {
  readonly cron: string | null
  readonly everyMs: number | null
  readonly timeZone: string
  /** Milliseconds since 1970. */
  readonly start: number | null
  readonly end: number | null
}

/** A definition as it is stored: checked, with every default filled in. */
export interface ScheduleSpec extends Timing {
  readonly type: string
  /** JSON. */
  readonly payload: string
  readonly jitterMs: number
  readonly missed: MissedPolicy
  readonly overlap: OverlapPolicy
  readonly priority: number | null
  readonly maxAttempts: number | null
  readonly concurrencyKey: string | null
  readonly tags: readonly string[] | null
}

/** A schedule of the program's code, as `defineSchedule` makes it. */
export interface Schedule {
  readonly name: string
  readonly spec: ScheduleSpec
  /** The type where it was given, so that it is registered together with the schedule. */
  readonly type: AnyJobType | undefined
  /** What the schema of the type says of the payload is asked when the schedule is stored. */
  readonly payload: unknown
}

export const overlapPolicies: readonly OverlapPolicy[] = ['allow', 'skip', 'queue', 'cancel']
/** Everything that can be changed about a schedule. */
export const specFields = [
  ...['type', 'payload', 'cron', 'every', 'timeZone', 'start', 'end', 'jitter', 'missed', 'overlap'],
  ...['priority', 'maxAttempts', 'concurrencyKey', 'tags'],
]
/** More ticks than this are never made up for at once. */
export const mostMissed = 1_000
const leastEveryMs = 1_000
const longestJitterMs = 86_400_000

/**
 * Defines a schedule once, in code. Every problem is found here, when the program starts.
 * @example
 * import { defineSchedule } from 'holdfast'
 *
 * export const nightly = defineSchedule({
 *   name: 'nightly-report',
 *   type: 'make_report',
 *   payload: { of: 'yesterday' },
 *   cron: '30 2 * * *',
 *   timeZone: 'Europe/Berlin',
 *   overlap: 'skip',
 * })
 */
export function defineSchedule<Input>(definition: ScheduleDefinition<Input>): Schedule {
  const { name, type, payload = {} } = definition
  const check = new Checker()
  check.known(definition, ['name', ...specFields])
  check.read(() => readName(name), '')
  const spec = readSpec(definition, check)
  check.done('invalid_option', `the definition of the schedule ${showValue(name)} has problems`)
  return Object.freeze({ name, spec, type: isJobType(type) ? type : undefined, payload, [scheduleMark]: true })
}

/** Reads everything but the name; what is wrong is kept by the checker. */
function readSpec(given: ScheduleDefinition, check: Checker): ScheduleSpec {
  const { cron, every } = given
  if ((cron === undefined) === (every === undefined)) {
    check.wrong('cron', cron === undefined ? 'is missing, and so is every; give one of them' : 'and every exclude each other')
  }
  const timeZone = check.read(() => readTimeZone(given.timeZone ?? 'UTC'), 'UTC')
  const start = check.read(() => readTime(given.start, 'start'), null)
  const end = check.read(() => readTime(given.end, 'end'), null)
  if (start !== null && end !== null && end <= start) check.wrong('end', 'must be later than start')
  if (every !== undefined && given.timeZone !== undefined) check.wrong('timeZone', 'has no meaning with every; leave it out')
  return {
    type: check.read(() => readType(given.type), ''),
    payload: check.read(() => encodePayload(given.payload ?? {}), '{}'),
    cron: check.read(() => (cron === undefined ? null : readCron(cron)), null),
    everyMs: check.read(() => (every === undefined ? null : readEvery(every)), null),
    timeZone,
    start,
    end,
    jitterMs: check.read(() => readJitter(given.jitter ?? 0), 0),
    missed: check.read(() => readMissed(given.missed ?? 'once'), 'once'),
    overlap: check.read(() => readOverlap(given.overlap ?? 'allow'), 'allow'),
    priority: check.read(() => (given.priority === undefined ? null : wholeNumber(given.priority, 'priority', 0, 9)), null),
    maxAttempts: check.read(
      () => (given.maxAttempts === undefined ? null : wholeNumber(given.maxAttempts, 'maxAttempts', 1, 20)),
      null,
    ),
    concurrencyKey: check.read(() => readKey(given.concurrencyKey), null),
    tags: check.read(() => readTags(given.tags), null),
  }
}

export function readName(name: unknown, field = 'name'): string {
  if (typeof name === 'string' && /^[\w.:/-]{1,200}$/.test(name)) return name
  throw refused(field, `is ${showValue(name)}; the name of a schedule has 1 to 200 letters, digits or _ - . : /`)
}

function readType(type: unknown): string {
  if (isJobType(type)) return type.type
  if (typeof type === 'string' && /^[\w.:/-]{1,200}$/.test(type)) return type
  throw notA('type', type, 'what defineType made, or the name of a registered type')
}

function readCron(cron: unknown): string {
  if (typeof cron !== 'string') throw notA('cron', cron, 'a text such as "30 2 * * *"')
  const tidy = cron.trim().replace(/\s+/g, ' ')
  const problem = cronProblem(tidy)
  if (problem === undefined) return tidy
  throw refused('cron', `is ${showValue(cron)}, which ${problem}`)
}

function readEvery(every: Duration): number {
  const ms = toMilliseconds(every, 'every')
  if (ms >= leastEveryMs) return ms
  throw refused('every', `is ${showValue(every)}; it must be at least one second`)
}

function readTimeZone(timeZone: unknown): string {
  if (typeof timeZone === 'string' && isTimeZone(timeZone)) return timeZone
  throw notA('timeZone', timeZone, 'the name of an IANA time zone, such as Europe/Berlin or UTC')
}

/** A text without an offset would be another time on another machine. */
function readTime(time: unknown, field: string): number | null {
  if (time === undefined) return null
  const zoned = typeof time === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(time)
  const ms = time instanceof Date ? time.getTime() : zoned ? Date.parse(time as string) : Number.NaN
  if (ms >= Date.UTC(2000, 0, 1) && ms < Date.UTC(2200, 0, 1)) return ms
  throw notA(field, time, 'a Date, or a text such as "2026-03-01T08:00:00Z", between the years 2000 and 2199')
}

function readJitter(jitter: Duration): number {
  const ms = toMilliseconds(jitter, 'jitter')
  if (ms <= longestJitterMs) return ms
  throw refused('jitter', `is ${showValue(jitter)}; at most a day is allowed`)
}

function readMissed(missed: unknown): MissedPolicy {
  if (missed === 'skip' || missed === 'once') return missed
  if (typeof missed === 'object' && missed !== null && Object.keys(missed).join() === 'all') {
    return { all: wholeNumber((missed as { all: unknown }).all, 'missed.all', 1, mostMissed) }
  }
  throw notA('missed', missed, `"skip", "once" or { all: 1 to ${mostMissed} }`)
}

function readOverlap(overlap: unknown): OverlapPolicy {
  if (overlapPolicies.includes(overlap as OverlapPolicy)) return overlap as OverlapPolicy
  throw notA('overlap', overlap, `one of ${overlapPolicies.join(', ')}`)
}

function readKey(key: unknown): string | null {
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 500 && !unstorable.test(key)) return key
  throw refused('concurrencyKey', 'must be a string of 1 to 500 characters without NUL')
}
