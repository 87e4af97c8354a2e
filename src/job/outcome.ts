import type { Failure } from './failure.js'

/** How one attempt went, as the code that ran the handler saw it. */
export type Outcome =
  /** `result`: what the handler returned, as JSON; left out where it returned nothing or it is not kept. */
  | { kind: 'completed'; result?: string }
  | { kind: 'failed'; failure: Failure; fatal: boolean; retryAfterMs?: number }
  | { kind: 'timed_out'; failure: Failure }
  /** The memory cap ended it. */
  | { kind: 'out_of_memory'; failure: Failure }
  /** Its thread or process died under it. `alone`: nothing else ran there, so it was this job that did it. */
  | { kind: 'crashed'; failure: Failure; alone: boolean }
  | { kind: 'snoozed'; delayMs: number; stop?: 'type' | 'key' }
  | { kind: 'handed_back' }
