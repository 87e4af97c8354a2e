import type { Failure } from './failure.js'

/** How an attempt ended, as its row in the history says it. */
export type AttemptOutcome =
  | 'completed'
  | 'failed'
  | 'timed_out'
  | 'out_of_memory'
  | 'crashed'
  | 'lease_expired'
  | 'snoozed'
  | 'handed_back'
  | 'cancelled'
  | 'discarded'

/** How one attempt went, as the code that ran the handler saw it. */
export type Outcome =
  /** `result`: what the handler returned, as JSON; left out where it returned nothing or it is not kept. */
  | {
      kind: 'completed'
      result?: string
      /** The end of the job is committed already, in a transaction of the handler's. */
      written?: true
    }
  | { kind: 'failed'; failure: Failure; fatal: boolean; retryAfterMs?: number }
  | { kind: 'timed_out'; failure: Failure }
  /** The memory cap ended it. */
  | { kind: 'out_of_memory'; failure: Failure }
  /** Its thread or process died under it. `alone`: nothing else ran there, so it was this job that did it. */
  | { kind: 'crashed'; failure: Failure; alone: boolean }
  | { kind: 'snoozed'; delayMs: number; stop?: 'type' | 'key' }
  /** Its handler waits for a signal, at most that long; null: for ever. */
  | { kind: 'blocked'; delayMs: number | null }
  | { kind: 'handed_back' }
