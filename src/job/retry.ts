import { HoldfastError } from '../errors.js'
import { Checker } from './checker.js'
import { type Duration, formatDuration, toMilliseconds } from './duration.js'
import { describeFailure, type Failure, showValue } from './failure.js'
import { refused } from './refused.js'

/** Milliseconds, except for the factor. Attempt n is followed by base × factor^(n−1), at most cap, plus 0 to jitter. */
export interface Backoff {
  base: number
  factor: number
  cap: number
  jitter: number
}

/** The jitter pulls apart jobs that failed in one moment, so that they do not come back as one wave. Left out, it is half of the base, at most this. */
export const defaultBackoff: Backoff = { base: 30_000, factor: 2, cap: 3_600_000, jitter: 15_000 }

/** How long a job waits after its attempt `attempt`, from 1, which failed of `error`. */
export type BackoffFunction = (attempt: number, error: Failure) => Duration

/**
 * How long a job waits after a failed attempt: base × factor^(n−1) after attempt n, at most cap, plus 0 to jitter. Or a function of
 * the attempt, from 1, and its error. Each time is at most 30 days.
 * @default { base: '30s', factor: 2, cap: '1h', jitter: half of base, at most '15s' }
 */
export type BackoffOption = Partial<{ base: Duration; factor: number; cap: Duration; jitter: Duration }> | BackoffFunction

/** A job that waits longer than this between two attempts has been forgotten by everybody. */
const longest = 30 * 86_400_000

/** Checks the option when the type is defined, so that a wrong one is found at start and not at the first failure. */
export function readBackoff(option: BackoffOption | undefined): Backoff | BackoffFunction {
  if (option === undefined) return defaultBackoff
  if (typeof option === 'function') return option
  if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    throw refused('backoff', `is ${showValue(option)}; give an object with base, factor, cap and jitter, or a function`)
  }
  const check = new Checker()
  check.known(option, Object.keys(defaultBackoff), ['backoff'])
  const { base, factor, cap, jitter } = option
  const first = check.read(() => readDelay(base, 'base'), 0)
  const backoff: Backoff = {
    base: first,
    factor: check.read(() => readFactor(factor), 1),
    cap: check.read(() => readDelay(cap, 'cap'), longest),
    // Half of the base, so that somebody who asks for one second does not wait for sixteen.
    jitter: check.read(() => readDelay(jitter, 'jitter', Math.min(first / 2, defaultBackoff.jitter)), 0),
  }
  if (backoff.cap < backoff.base) {
    const [least, most] = [formatDuration(first), formatDuration(backoff.cap)]
    const byDefault = cap === undefined ? ' (the default)' : ''
    const orBase = base === undefined ? ' (the default)' : ''
    check.wrong('backoff.cap', `is ${most}${byDefault}, less than backoff.base, which is ${least}${orBase}; set both`)
  }
  check.done('invalid_option', 'the option backoff has problems')
  return backoff
}

/**
 * How long to wait after the attempt that failed, counted from 1. A custom function that throws or answers nonsense must
 * not cost the job its retry: the default is taken, and `fellBack` says why, for the log.
 */
export function retryDelay(
  attempt: number,
  backoff: Backoff | BackoffFunction,
  failure: Failure,
  random: () => number,
): { delay: number; fellBack?: string } {
  if (typeof backoff !== 'function') return { delay: grow(attempt, backoff, random) }
  try {
    const answer: unknown = backoff(attempt, { ...failure })
    silence(answer)
    const delay = toMilliseconds(answer, 'the answer of the backoff function')
    if (delay <= longest) return { delay }
    throw refused('the answer of the backoff function', `is ${formatDuration(delay)}, more than 30 days`)
  } catch (error) {
    const { message } = describeFailure(error)
    const fellBack = error instanceof HoldfastError ? message : `the backoff function threw: ${message}`
    return { delay: grow(attempt, defaultBackoff, random), fellBack }
  }
}

function grow(attempt: number, { base, factor, cap, jitter }: Backoff, random: () => number): number {
  const grown = base * factor ** Math.max(0, attempt - 1)
  // Zero times infinity is the one way to no number at all here: a base of 0 with a very late attempt.
  const delay = Number.isNaN(grown) ? 0 : Math.min(grown, cap)
  return Math.round(delay + random() * jitter)
}

/** An async function is answered with the default at once; its promise, if it fails later, must not end the process. */
function silence(answer: unknown): void {
  if (answer instanceof Promise) Promise.prototype.then.call(answer, undefined, () => {})
}

function readDelay(value: Duration | undefined, key: 'base' | 'cap' | 'jitter', standard = defaultBackoff[key]): number {
  if (value === undefined) return standard
  const ms = toMilliseconds(value, `backoff.${key}`)
  if (ms > longest) throw refused(`backoff.${key}`, `is ${formatDuration(ms)}; more than 30 days is refused`)
  return ms
}

function readFactor(value: unknown): number {
  if (value === undefined) return defaultBackoff.factor
  if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return value
  throw refused('backoff.factor', `is ${showValue(value)}; it must be a number from 1 (always the same delay) upwards`)
}
