import { type Duration, toMilliseconds } from './duration.js'
import { refused, refuseUnknown, refuseUnknownNames } from './refused.js'

/** So many starts in any stretch of time of that length. */
export interface Rate {
  count: number
  per: Duration
}

/** What may run at once and how fast. Null takes a limit away; what is left out stays as it is. */
export interface Limits {
  /**
   * Most jobs of the type running at once, in the whole fleet.
   * @range 1 to 1,000,000
   * @default null
   */
  maxRunning?: number | null
  /**
   * Most jobs of one concurrency key running at once, in the whole fleet.
   * @range 1 to 1,000,000
   * @default null
   */
  maxRunningPerKey?: number | null
  /**
   * How many jobs of the type may start within a time, in the whole fleet.
   * @range 1 to 1,000,000 per 1 ms to 1 day
   * @default null
   */
  rate?: Rate | null
  /**
   * The same for each concurrency key.
   * @range 1 to 1,000,000 per 1 ms to 1 day
   * @default null
   */
  ratePerKey?: Rate | null
  /**
   * Keys take turns, however many jobs each of them has.
   * @default false
   */
  fair?: boolean
  /**
   * Jobs of one concurrency key run one after the other, in the order of their enqueue. A job holds its key until it has ended, its
   * retries and delays included.
   * @default false
   */
  ordered?: boolean
  /**
   * Of an ordered type: a key whose job died halts, until the job is replayed or discarded or an operator resumes the key. False: the next
   * job of the key runs.
   * @default false
   */
  haltOnDead?: boolean
  /**
   * When the breaker opens: above this share of failed attempts within a window, if there were at least so many; and how often
   * it is probed. False: it never opens by itself.
   * @range share between 0 and 1; minimum 1 to 1,000,000; window and probe 1 ms to 1 day
   * @default { share: 0.8, minimum: 10, window: '5m', probe: '1m' }
   */
  breaker?: { share?: number; minimum?: number; window?: Duration; probe?: Duration } | false
}

/** What may call a dependency at once and how fast, of all types that use it together. */
export type DependencyLimits = Pick<Limits, 'maxRunning' | 'rate' | 'breaker'>

const most = 1_000_000

/** Which stored fields belong to each limit. */
const stored = {
  maxRunning: ['max_running'],
  maxRunningPerKey: ['key_max_running'],
  rate: ['rate_count', 'rate_per_ms'],
  ratePerKey: ['key_rate_count', 'key_rate_per_ms'],
  fair: ['fair'],
  ordered: ['ordered'],
  haltOnDead: ['halt_on_dead'],
  breaker: ['breaker_share', 'breaker_minimum', 'breaker_window_ms', 'breaker_probe_ms'],
} as const satisfies Record<keyof Limits, readonly string[]>
const names = Object.keys(stored) as (keyof Limits)[]

/** The stored fields of these limits; null: of all. */
export function limitFields(limits: readonly (keyof Limits)[] | undefined): string[] | null {
  refuseUnknownNames(limits, names)
  return limits?.flatMap((one) => [...stored[one]]) ?? null
}

/** The same for a dependency, which has no keys. */
export function encodeDependencyLimits(limits: DependencyLimits): string {
  refuseUnknown(limits, ['maxRunning', 'rate', 'breaker'])
  return encodeLimits(limits)
}

/** Checks limits whole, and brings them into the form the database takes. */
export function encodeLimits(limits: Limits): string {
  refuseUnknown(limits, names)
  const fields: Record<string, unknown> = {}
  const count = (value: unknown, field: string): number => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
    throw refused(field, `is ${String(value)}; it must be a whole number from 1 to ${most}. To stop all jobs, pause instead`)
  }
  const span = (value: Duration, field: string): number => {
    const ms = toMilliseconds(value, field)
    if (ms >= 1 && ms <= 86_400_000) return ms
    throw refused(field, `is ${String(value)}; it must lie between 1 ms and 1 day`)
  }
  const rate = (value: Rate | null | undefined, field: string, column: string): void => {
    if (value === undefined) return
    if (value !== null) refuseUnknown(value, ['count', 'per'], [field])
    fields[`${column}_count`] = value === null ? null : count(value.count, `${field}.count`)
    fields[`${column}_per_ms`] = value === null ? null : span(value.per, `${field}.per`)
  }
  const yesOrNo = (value: unknown, field: string): boolean => {
    if (typeof value === 'boolean') return value
    throw refused(field, `is ${JSON.stringify(value)}; it must be true or false`)
  }
  const { maxRunning, maxRunningPerKey, fair, ordered, haltOnDead, breaker } = limits
  if (maxRunning !== undefined) fields.max_running = maxRunning === null ? null : count(maxRunning, 'maxRunning')
  if (maxRunningPerKey !== undefined) {
    fields.key_max_running = maxRunningPerKey === null ? null : count(maxRunningPerKey, 'maxRunningPerKey')
  }
  rate(limits.rate, 'rate', 'rate')
  rate(limits.ratePerKey, 'ratePerKey', 'key_rate')
  if (fair !== undefined) fields.fair = yesOrNo(fair, 'fair')
  if (ordered !== undefined) fields.ordered = yesOrNo(ordered, 'ordered')
  if (haltOnDead !== undefined) fields.halt_on_dead = yesOrNo(haltOnDead, 'haltOnDead')
  if (ordered && (maxRunningPerKey ?? 1) > 1) {
    throw refused('maxRunningPerKey', `is ${maxRunningPerKey}; with ordered, one job of a key runs at a time. Leave it out`)
  }
  // More than all of them cannot fail.
  if (breaker === false) fields.breaker_share = 1
  if (breaker) {
    refuseUnknown(breaker, ['share', 'minimum', 'window', 'probe'], ['breaker'])
    const { share, minimum, window, probe } = breaker
    if (share !== undefined && !(share > 0 && share < 1))
      throw refused('breaker.share', `is ${share}; it must lie between 0 and 1`)
    if (share !== undefined) fields.breaker_share = share
    if (minimum !== undefined) fields.breaker_minimum = count(minimum, 'breaker.minimum')
    if (window !== undefined) fields.breaker_window_ms = span(window, 'breaker.window')
    if (probe !== undefined) fields.breaker_probe_ms = span(probe, 'breaker.probe')
  }
  return JSON.stringify(fields)
}
