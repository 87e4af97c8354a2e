import { createHash } from 'node:crypto'
import { nextMatch, previousMatch } from './cron.js'
import type { Timing } from './spec.js'

// Pure functions of a timing and a time that is given: no clock is read, and no time zone of this machine.
//
// The rule for the days on which clocks are changed, as cron has had it since Vixie: an expression with one second, one minute and one
// hour runs once on every day it names: a time that is left out runs when the clock has jumped over it, one that comes twice runs the
// first time. Every other expression goes by what the clock shows: it runs at no time that is left out, and twice at one that comes twice.
// Intervals count seconds and know of no clock.

/** The first tick after that time; undefined: there is none any more. Times are milliseconds since 1970. */
export function nextTick(timing: Timing, after: number): number | undefined {
  const { start, end } = timing
  // A tick at the start itself counts.
  const from = start === null ? after : Math.max(after, start - 1)
  const tick = timing.cron === null ? nextOfInterval(timing, from) : nextMatch({ ...timing, cron: timing.cron }, from)
  return tick === undefined || (end !== null && tick >= end) ? undefined : tick
}

/** The last tick before that time; undefined: there was none. */
export function previousTick(timing: Timing, before: number): number | undefined {
  const { start, end } = timing
  const to = end === null ? before : Math.min(before, end)
  const tick = timing.cron === null ? previousOfInterval(timing, to) : previousMatch({ ...timing, cron: timing.cron }, to)
  return tick === undefined || (start !== null && tick < start) ? undefined : tick
}

/** The ticks after `after` up to and with `to`, at most so many, first to last. */
export function ticksBetween(timing: Timing, after: number, to: number, most: number): number[] {
  const ticks: number[] = []
  for (
    let tick = nextTick(timing, after);
    tick !== undefined && tick <= to && ticks.length < most;
    tick = nextTick(timing, tick)
  ) {
    ticks.push(tick)
  }
  return ticks
}

/** The last ticks after `after` up to and with `to`, at most so many, first to last. */
export function lastTicksBetween(timing: Timing, after: number, to: number, most: number): number[] {
  const ticks: number[] = []
  let tick = previousTick(timing, to + 1)
  for (; tick !== undefined && tick > after && ticks.length < most; tick = previousTick(timing, tick)) ticks.push(tick)
  return ticks.reverse()
}

/** How much later than its tick a job is due: a number of the name and the tick alone, so that every process has the same. */
export function jitterOf(name: string, tick: number, jitterMs: number): number {
  if (jitterMs === 0) return 0
  const hash = createHash('sha256').update(`${name} ${tick}`).digest()
  return Math.floor((hash.readUIntBE(0, 6) / 2 ** 48) * (jitterMs + 1))
}

function nextOfInterval({ everyMs, start }: Timing, after: number): number | undefined {
  const [every, anchor] = [everyMs ?? Number.NaN, start ?? 0]
  return anchor + (Math.floor((after - anchor) / every) + 1) * every
}

function previousOfInterval({ everyMs, start }: Timing, before: number): number | undefined {
  const [every, anchor] = [everyMs ?? Number.NaN, start ?? 0]
  return anchor + (Math.ceil((before - anchor) / every) - 1) * every
}
