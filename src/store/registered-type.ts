import type { Approval } from '../job/approval.js'
import type { Backoff, BackoffFunction } from '../job/retry.js'
import type { Uniqueness } from '../job/unique.js'

/** A type as it is written into the database. */
export interface RegisteredType {
  type: string
  lane: string
  priority: number
  maxAttempts: number
  timeoutMs: number
  approval: Approval | undefined
  unique: Uniqueness | undefined
  /** A function only its own worker can call; for others the default holds. */
  backoff?: Backoff | BackoffFunction
  sensitive?: boolean
  encrypt?: boolean
  sharedKeys?: boolean
  redact?: readonly string[]
  maxResultBytes?: number
}
