import type { Outcome } from '../job/outcome.js'
import { type Backoff, type BackoffFunction, retryDelay } from '../job/retry.js'
import type { Settlement } from '../job/settlement.js'

const completed: Settlement = { move: 'complete', outcome: 'completed', delayMs: null, failure: null }
const handedBack: Settlement = { move: 'hand_back', outcome: 'handed_back', delayMs: null, failure: null }

/** Decides what an outcome means. No clock, no database, no log: the same question always has the same answer. */
export function decide(
  outcome: Outcome,
  job: { attempt: number; maxAttempts: number },
  backoff: Backoff | BackoffFunction,
  random: () => number,
): Settlement {
  switch (outcome.kind) {
    case 'completed':
      return completed
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
    case 'failed':
    case 'timed_out': {
      const { kind, failure } = outcome
      if (kind === 'failed' && outcome.fatal) return { move: 'die', outcome: kind, delayMs: null, failure }
      if (job.attempt >= job.maxAttempts) return { move: 'exhaust', outcome: kind, delayMs: null, failure }
      const asked = kind === 'failed' ? outcome.retryAfterMs : undefined
      if (asked !== undefined) return { move: 'retry', outcome: kind, delayMs: asked, failure }
      const { delay, fellBack } = retryDelay(job.attempt, backoff, failure, random)
      return { move: 'retry', outcome: kind, delayMs: delay, failure, ...(fellBack === undefined ? {} : { fellBack }) }
    }
  }
}
