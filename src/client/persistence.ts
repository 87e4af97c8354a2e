import type { Duration } from '../job/duration.js'
import { readRetry, readSignal } from '../job/retry-for.js'
import type { SendOptions } from './sender.js'

/** How long an enqueue goes on while the server or its database is away. */
export interface ClientPersistence {
  /**
   * For how long the jobs are sent again, with their ids, so that they are stored once. 0: they are sent as often as `tries` says.
   * @range 0 to 1 hour
   * @default retryEnqueueFor of the client
   */
  retryFor?: Duration
  /** Ends the waiting. What was sent by then may have been stored all the same. */
  signal?: AbortSignal
}

export function readPersistence({ retryFor, signal }: ClientPersistence, usualMs: number): SendOptions {
  const ms = retryFor === undefined ? usualMs : readRetry(retryFor, 'retryFor')
  const given = readSignal(signal)
  return { ...(ms > 0 ? { retryForMs: ms } : {}), ...(given ? { signal: given } : {}) }
}
