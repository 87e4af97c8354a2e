import { Checker } from './checker.js'
import { type Duration, toMilliseconds } from './duration.js'
import { didYouMean } from './nearest.js'
import { refused } from './refused.js'
import { type JobStatus, statuses } from './state.js'
import { unstorable } from './text.js'

/**
 * What happens to a job whose key is taken. `reject`: an error that names the standing job. `existing`: the answer is the
 * standing job. `replace`: the standing job gets the new payload, as long as it does not run. `debounce`: that too, and
 * its time moves on by `delay`. `one_more`: while the standing job runs, one job waits behind it, the latest.
 */
export type OnConflict = 'reject' | 'existing' | 'replace' | 'debounce' | 'one_more'

/** Which jobs of a type are one and the same, and what happens to the second. */
export interface UniqueOption {
  /**
   * A key of your own.
   * @range 1 to 500 characters
   * @default none: `by` makes it
   */
  key?: string
  /**
   * Instead of `key`: the key is made from the payload, from all of it or from these fields (`customer.id` is a field inside a field).
   * @range 1 to 50 names
   * @default 'payload'
   */
  by?: 'payload' | readonly string[]
  /**
   * The key stays taken this long after its job was enqueued, also when that has ended. For reject, existing and replace.
   * @range 1 ms to five years
   * @default none
   */
  period?: Duration
  /**
   * The key is taken while its job has one of these.
   * @default while it waits and, unless it can be replaced, runs
   */
  states?: readonly JobStatus[]
  /**
   * What happens to the second job.
   * @range reject, existing, replace, debounce or one_more
   * @default 'reject'
   */
  onConflict?: OnConflict
  /**
   * For debounce: the job is due this long after the last enqueue with its key.
   * @range 1 ms to five years
   * @default none; debounce needs it
   */
  delay?: Duration
  /**
   * For debounce: the job is due at the latest this long after the first enqueue with its key.
   * @range 1 ms to five years
   * @default none
   */
  maxWait?: Duration
}

/** A checked uniqueness, in the form the database takes and keeps for a type. */
export interface Uniqueness {
  readonly key?: string
  readonly by?: 'payload' | readonly string[]
  readonly period?: string
  readonly states?: readonly JobStatus[]
  readonly on_conflict: OnConflict
  readonly delay?: string
  readonly max_wait?: string
}

const known = ['key', 'by', 'period', 'states', 'onConflict', 'delay', 'maxWait']
const policies: readonly string[] = ['reject', 'existing', 'replace', 'debounce', 'one_more']
const longestMs = 5 * 365 * 86_400_000

/** Checks a uniqueness whole. The database checks again what reaches it from elsewhere. */
export function readUnique(option: UniqueOption | false): Uniqueness | false {
  if (option === false) return false
  if (option === null || typeof option !== 'object' || Array.isArray(option))
    throw refused('unique', 'must be false or an object')
  const { key, by, states, onConflict = 'reject' } = option
  const check = new Checker()
  check.known(option, known, ['unique'])
  if (!policies.includes(onConflict)) {
    const asked = String(onConflict)
    check.wrong('unique.onConflict', `is "${asked}"${didYouMean(asked, policies)}; it can be ${policies.join(', ')}`)
  }
  if (key !== undefined && by !== undefined) check.wrong('unique.key', 'and unique.by exclude each other')
  if (key !== undefined && (typeof key !== 'string' || key.length < 1 || key.length > 500 || unstorable.test(key))) {
    check.wrong('unique.key', 'must be a string of 1 to 500 characters without NUL')
  }
  if (by !== undefined && by !== 'payload') check.read(() => checkNames(by), undefined)
  if (states !== undefined) check.read(() => checkStates(states, onConflict), undefined)
  const times = readTimes(option, onConflict, check)
  check.done('invalid_option', 'the option unique has problems')
  return Object.freeze({
    on_conflict: onConflict,
    ...(key === undefined ? {} : { key }),
    ...(by === undefined ? {} : { by: typeof by === 'string' ? by : [...by] }),
    ...(states === undefined ? {} : { states: [...states] }),
    ...times,
  })
}

/**
 * Refuses what cannot be had together with encryption: two encrypted payloads are never the same to the database, and one that
 * was encrypted for a job cannot be put into another.
 */
export function refuseUnderEncryption(unique: Uniqueness | false | null | undefined, type: string): void {
  if (!unique) return
  const why = `cannot be used with ${type}, whose payload is stored encrypted`
  if (unique.key === undefined) throw refused('unique.by', `${why}; give unique.key`)
  if (unique.on_conflict === 'reject' || unique.on_conflict === 'existing') return
  throw refused('unique.onConflict', `"${unique.on_conflict}" ${why}; use reject or existing`)
}

/** Refuses a payload without the fields the key is made of: all such jobs would be one. */
export function checkFields({ by }: Uniqueness, payload: string): void {
  if (!Array.isArray(by)) return
  const value: unknown = JSON.parse(payload)
  for (const path of by as string[]) {
    if (has(value, path)) continue
    const near = value !== null && typeof value === 'object' ? didYouMean(path, Object.keys(value)) : ''
    throw refused('unique.by', `names "${path}", which is not in the payload${near}`)
  }
}

function has(value: unknown, path: string): boolean {
  if (isObject(value) && Object.hasOwn(value, path)) return true
  let at = value
  for (const step of path.split('.')) {
    if (!isObject(at) || !Object.hasOwn(at, step) || (Array.isArray(at) && !/^\d+$/.test(step))) return false
    at = (at as Record<string, unknown>)[step]
  }
  return true
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object'
}

function checkNames(by: unknown): void {
  const names = Array.isArray(by) ? by : []
  const fine =
    names.length >= 1 &&
    names.length <= 50 &&
    names.every((name) => typeof name === 'string' && name !== '' && !unstorable.test(name))
  if (!fine) throw refused('unique.by', 'must be "payload" or a list of 1 to 50 names of fields, such as ["customer.id"]')
}

function checkStates(states: unknown, onConflict: OnConflict): void {
  if (onConflict === 'one_more')
    throw refused('unique.states', 'has no meaning for one_more, which depends only on whether the job runs')
  if (!Array.isArray(states)) throw refused('unique.states', 'must be a list of statuses')
  const all = Object.keys(statuses)
  if (states.length === 0)
    throw refused('unique.states', `is empty, so no job would ever have the key; name some of ${all.join(', ')}`)
  const unknown = states.find((status) => !all.includes(status))
  if (unknown === undefined) return
  throw refused(
    'unique.states',
    `has "${String(unknown)}", which is no status${didYouMean(String(unknown), all)}; known are ${all.join(', ')}`,
  )
}

function readTimes(
  option: UniqueOption,
  onConflict: OnConflict,
  check: Checker,
): Pick<Uniqueness, 'period' | 'delay' | 'max_wait'> {
  const read = (field: 'period' | 'delay' | 'maxWait'): number | undefined => {
    if (option[field] === undefined) return undefined
    return check.read(() => readTime(option[field], `unique.${field}`), undefined)
  }
  const [period, delay, maxWait] = [read('period'), read('delay'), read('maxWait')]
  const debounces = onConflict === 'debounce'
  if (period !== undefined && (debounces || onConflict === 'one_more'))
    check.wrong('unique.period', `has no meaning for ${onConflict}`)
  if (debounces && option.delay === undefined) check.wrong('unique.delay', 'is missing; debounce needs to know how long to wait')
  if (!debounces && delay !== undefined) check.wrong('unique.delay', `is for debounce; to delay a job use its option delay`)
  if (!debounces && maxWait !== undefined) check.wrong('unique.maxWait', 'is for debounce')
  if (maxWait !== undefined && delay !== undefined && maxWait < delay)
    check.wrong('unique.maxWait', 'is shorter than unique.delay')
  return {
    ...(period === undefined ? {} : { period: `${period} milliseconds` }),
    ...(delay === undefined ? {} : { delay: `${delay} milliseconds` }),
    ...(maxWait === undefined ? {} : { max_wait: `${maxWait} milliseconds` }),
  }
}

function readTime(value: Duration | undefined, field: string): number {
  const ms = toMilliseconds(value, field)
  if (ms >= 1 && ms <= longestMs) return ms
  throw refused(field, `is ${String(value)}; it must lie between 1 ms and five years`)
}
