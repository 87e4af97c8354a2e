import { type Duration, toMilliseconds } from './duration.js'
import { refused } from './refused.js'

const longestRetryMs = 3_600_000

/** For how long something is sent again, in milliseconds. */
export function readRetry(time: Duration, field: string): number {
  const ms = toMilliseconds(time, field)
  if (ms <= longestRetryMs) return ms
  throw refused(field, 'must be at most 1 hour: a caller that waits longer is better off with the error')
}

/** Refuses what is no signal, and throws what a signal that has fired already was given. */
export function readSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refused('signal', 'must be an AbortSignal')
  signal?.throwIfAborted()
  return signal
}

/** How often and for how long something was tried, for the message of its error. */
export function triedWords(tries: number, elapsedMs: number): string {
  return `${tries === 1 ? 'tried once' : `tried ${tries} times`} in ${(elapsedMs / 1000).toFixed(1)} s`
}
