import { type Crash, showCrash } from '../job/crash.js'
import type { Failure } from '../job/failure.js'
import type { Outcome } from '../job/outcome.js'
import { type Backoff, type BackoffFunction, retryDelay } from '../job/retry.js'
import type { Settlement } from '../job/settlement.js'

const completed: Settlement = { move: 'complete', outcome: 'completed', delayMs: null, failure: null }
const handedBack: Settlement = { move: 'hand_back', outcome: 'handed_back', delayMs: null, failure: null }

/** Decides what becomes of a job after an attempt with this outcome. A pure function: it reads no clock and no database. */
export function decide(
  outcome: Outcome,
  job: { attempt: number; maxAttempts: number; crashes?: readonly Crash[] },
  backoff: Backoff | BackoffFunction,
  random: () => number,
  crashLimit = 2,
): Settlement {
  switch (outcome.kind) {
    case 'completed':
      return outcome.result === undefined ? completed : { ...completed, result: outcome.result }
    case 'handed_back':
      return handedBack
    case 'snoozed':
      return {
        move: 'snooze',
        outcome: 'snoozed',
        delayMs: outcome.delayMs,
        failure: null,
        ...(outcome.stop ? { stop: outcome.stop } : {}),
      }
    case 'blocked':
      return { move: 'block', outcome: 'snoozed', delayMs: outcome.delayMs, failure: null }
    case 'failed':
    case 'timed_out':
    case 'out_of_memory':
    case 'crashed': {
      const { kind, failure } = outcome
      if (kind === 'crashed') {
        const before = job.crashes ?? []
        const known = outcome.alone || job.attempt >= job.maxAttempts
        if (known && before.length + 1 >= crashLimit) {
          return { move: 'poison', outcome: kind, delayMs: null, failure: poison(failure, job.attempt, before) }
        }
      }
      if (kind === 'failed' && outcome.fatal) return { move: 'die', outcome: kind, delayMs: null, failure }
      if (job.attempt >= job.maxAttempts) return { move: 'exhaust', outcome: kind, delayMs: null, failure }
      const asked = kind === 'failed' ? outcome.retryAfterMs : undefined
      if (asked !== undefined) return { move: 'retry', outcome: kind, delayMs: asked, failure }
      const { delay, fellBack } = retryDelay(job.attempt, backoff, failure, random)
      return { move: 'retry', outcome: kind, delayMs: delay, failure, ...(fellBack === undefined ? {} : { fellBack }) }
    }
  }
}

function poison(last: Failure, attempt: number, before: readonly Crash[]): Failure {
  const crashes = [...before.map(showCrash), `attempt ${attempt}: ${last.message}`]
  return { ...last, message: `crashed its host ${crashes.length} times, last: ${last.message}`, crashes }
}
