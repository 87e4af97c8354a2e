import type { ApprovalOption } from './approval.js'
import type { Duration } from './duration.js'
import type { UniqueOption } from './unique.js'
import type { WebhookOption } from './webhook.js'

/** What a job is asked to do beyond its payload. Whatever is left out is the type's. */
export interface JobOptions {
  /**
   * A UUIDv7 of the producer's own. A second enqueue with it answers with the first job.
   * @default a new UUIDv7
   */
  id?: string
  /**
   * 0 (low) to 9 (high).
   * @range 0 to 9
   * @default that of the type
   */
  priority?: number
  /**
   * How often the job may be tried in all, 1 to 20.
   * @range 1 to 20
   * @default that of the type
   */
  maxAttempts?: number
  /**
   * The job does not run before this much time has passed.
   * @range 0 to five years
   * @default 0
   */
  delay?: Duration
  /**
   * The job does not run before this time.
   * @range the years 2000 to 2199
   * @default now
   */
  runAt?: Date
  /**
   * The version of the payload.
   * @range 1 to 32,767
   * @default that of the definition; by name, the newest that a worker knows
   */
  version?: number
  /**
   * A job that has not started by this time ends dead, with the reason `expired`.
   * @range the years 2000 to 2199, later than `runAt`
   * @default none
   */
  startBy?: Date
  /**
   * The same, counted from the enqueue.
   * @range 1 ms to five years, longer than `delay`
   * @default none
   */
  expireIn?: Duration
  /**
   * A second enqueue of the type with this key answers with the first job, as long as that job is kept.
   * @range 1 to 500 characters
   * @default none
   */
  idempotencyKey?: string
  /**
   * Whose job this is (a tenant, an account): limits per key, fairness and pauses go by it.
   * @range 1 to 500 characters
   * @default none
   */
  concurrencyKey?: string
  /**
   * Somebody has to approve the job before it runs. Can be stricter than the type asks for, never laxer.
   * @default that of the type
   */
  approval?: ApprovalOption
  /**
   * Which jobs of the type are one and the same, and what happens to the second. False: none, whatever the type says.
   * @default that of the type
   */
  unique?: UniqueOption | false
  /**
   * The W3C traceparent of the span that asks for the job.
   * @default that of the active span, if there is one
   */
  traceparent?: string
  /**
   * Words to find the job by, at most 8 of up to 100 characters: filters take several, and a job that has all of them fits.
   * @range at most 8
   * @default []
   */
  tags?: readonly string[]
  /**
   * Where signed requests go about what happens to this job, besides those of its type.
   * @default none but those of the type
   */
  webhook?: WebhookOption
}
