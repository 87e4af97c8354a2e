import type { MissedPolicy, Timing } from './spec.js'
import { lastTicksBetween, nextTick, ticksBetween } from './ticks.js'

/** A tick that is fired within this time of its own was not missed: workers restart, and no clock is looked at all the time. */
export const onTimeMs = 60_000
/** Ticks that nobody makes up for are counted up to here: looking for each one in a time zone takes most of a millisecond. */
export const mostCounted = 100

/** What a schedule has to do now. */
export interface Due {
  /** The ticks to fire, first to last. */
  readonly ticks: readonly number[]
  /** Missed ticks that are not made up for: how many, counted up to a hundred, and the last of them. Undefined: none. */
  readonly dropped: { readonly count: number; readonly last: number } | undefined
  /** Everything up to here has been decided. */
  readonly handledTo: number
  /** When to look again; undefined: never. */
  readonly next: number | undefined
}

/**
 * Decides about the ticks since `handledTo`. Those of the last minute are fired; of the missed ones before them as many as the policy says:
 * none; the last one, unless another tick runs now anyway; or the last so many. What it costs does not grow with how long ago it was.
 */
export function dueTicks(timing: Timing & { missed: MissedPolicy }, handledTo: number, now: number): Due {
  const late = Math.max(handledTo, now - onTimeMs)
  const onTime = ticksBetween(timing, late, now, onTimeMs / 1_000 + 1)
  const missed = late > handledTo ? lastTicksBetween(timing, handledTo, late, mostCounted + most(timing.missed)) : []
  const made = missedToFire(timing.missed, missed.length, onTime.length)
  const dropped = missed.slice(0, missed.length - made)
  const last = dropped.at(-1)
  return {
    ticks: [...missed.slice(missed.length - made), ...onTime],
    dropped: last === undefined ? undefined : { count: dropped.length, last },
    handledTo: Math.max(handledTo, now),
    next: nextTick(timing, Math.max(handledTo, now)),
  }
}

function most(policy: MissedPolicy): number {
  return typeof policy === 'object' ? policy.all : 1
}

function missedToFire(policy: MissedPolicy, missed: number, onTime: number): number {
  if (policy === 'skip') return 0
  if (policy === 'once') return onTime > 0 ? 0 : Math.min(missed, 1)
  return Math.min(missed, most(policy))
}
