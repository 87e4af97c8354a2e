import { formatDuration } from '../job/duration.js'
import type { ScheduleState } from './states.js'

/** Why a schedule makes no job at this moment, and what would change that. */
export interface ScheduleExplanation {
  name: string
  status: ScheduleState['status']
  /** Every reason, the one that matters most first. Empty: it only waits for its next tick. */
  reasons: { why: string; opens: string }[]
  next: Date | null
}

/** A tick that nobody has fired for this long means that no worker runs which could. */
const overdueMs = 30_000

export function explainSchedule(state: ScheduleState, now: Date): ScheduleExplanation {
  const { name, status, next } = state
  return { name, status, next, reasons: [...reasonsOf(state, now)] }
}

function* reasonsOf(state: ScheduleState, now: Date): Generator<{ why: string; opens: string }> {
  const { paused, next, end, start, error, code } = state
  if (paused) {
    const why = paused.why === null ? '' : `: ${paused.why}`
    yield {
      why: `it was paused by ${paused.by} at ${paused.at.toISOString()}${why}`,
      opens: `${paused.until ? `the time, at ${paused.until.toISOString()}; or ` : ''}holdfast schedules resume ${state.name}`,
    }
  }
  if (error) yield { why: `it could not be fired: ${error.message}`, opens: 'it is tried again every minute' }
  if (state.status === 'ended')
    yield { why: `it has no tick any more${end ? `: it ended at ${end.toISOString()}` : ''}`, opens: 'a later end' }
  if (start && start > now) yield { why: `it starts at ${start.toISOString()}`, opens: 'the time' }
  const late = next === null ? 0 : now.getTime() - next.getTime()
  if (late > overdueMs && !error) {
    const why = `its tick of ${next?.toISOString()} is over for ${formatDuration(Math.floor(late / 1_000) * 1_000)}, and no worker has fired it`
    yield { why, opens: 'a worker that runs' }
  }
  if (code?.goneSince) {
    const why = `its code was started without it at ${code.goneSince.toISOString()}; it goes on all the same`
    yield { why, opens: 'holdfast schedules prune removes it' }
  }
}
