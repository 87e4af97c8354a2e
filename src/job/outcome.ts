import type { Failure } from './failure.js'

/** How one attempt went, as the code that ran the handler saw it. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; failure: Failure; fatal: boolean; retryAfterMs?: number }
  | { kind: 'timed_out'; failure: Failure }
  | { kind: 'snoozed'; delayMs: number; stop?: 'type' | 'key' }
  | { kind: 'handed_back' }
