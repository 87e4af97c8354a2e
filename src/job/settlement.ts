import type { Failure } from './failure.js'

/** What becomes of a job after an attempt, as settle_jobs takes it. */
export interface Settlement {
  readonly move: 'complete' | 'retry' | 'exhaust' | 'die' | 'poison' | 'snooze' | 'block' | 'hand_back'
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'out_of_memory' | 'crashed' | 'snoozed' | 'handed_back'
  readonly delayMs: number | null
  /** Jobs of the same type or key wait as long. */
  readonly stop?: 'type' | 'key'
  readonly failure: Failure | null
  /** What is kept with a completed job, as it is stored; left out where there is nothing. */
  readonly result?: string
  /** Set where the type's own backoff function could not be used, and why. */
  readonly fellBack?: string
}

/** Whether the job comes again without having spent an attempt, so that a cap may end it instead. */
export function goesRound({ move }: Settlement): boolean {
  return move === 'snooze' || move === 'hand_back'
}
