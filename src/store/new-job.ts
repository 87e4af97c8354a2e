import type { EventKind } from '../job/event.js'
import type { Uniqueness } from '../job/unique.js'

/** Where requests go about what happens to a job, and for which kinds of events. The secrets are encrypted if there are keys. */
export interface StoredWebhook {
  url: string
  kinds: readonly EventKind[]
  secrets: readonly string[]
}

/** A job as it is handed to the store: checked, with its id, ready to be written. Null means the type's default. */
export interface NewJob {
  id: string
  /** Whether the producer brought the id, so that it may exist already. */
  brought: boolean
  type: string
  payload: string
  /** It came by the name of its type, so only a stored schema can check it before a worker does. */
  unchecked: boolean
  /** The version of its payload; null: the newest that its type has. */
  version: number | null
  priority: number | null
  maxAttempts: number | null
  delayMs: number | null
  runAt: string | null
  /** Until when it has to have started: a time, or so many milliseconds from the enqueue. Null: whenever. */
  startBy: string | null
  expireInMs: number | null
  idempotencyKey: string | null
  concurrencyKey: string | null
  /** JSON, or null where the type alone decides whether it has to be approved. */
  approval: string | null
  /** False: none, whatever the type says. */
  unique: Uniqueness | false | null
  /** The span that asks for it, as a W3C traceparent. */
  traceparent: string | null
  /** Null: none. */
  tags: readonly string[] | null
  /** Null: nobody is told but by the webhook of its type. */
  webhook: StoredWebhook | null
}

/** What became of a job that was not simply created, and the job that stands for it. */
export interface Stands {
  id: string
  what: 'existing' | 'replaced' | 'debounced' | 'queued_behind'
}
