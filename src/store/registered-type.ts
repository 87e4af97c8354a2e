import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Approval, encodeApproval } from '../job/approval.js'
import { jsonSchemaOf } from '../job/json-schema.js'
import { defaultResultBytes } from '../job/result.js'
import type { Backoff, BackoffFunction } from '../job/retry.js'
import type { Uniqueness } from '../job/unique.js'

/** A type as the database knows it. */
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
  alertExpired?: boolean
  version?: number
  encrypt?: boolean
  sharedKeys?: boolean
  redact?: readonly string[]
  searchable?: readonly string[]
  /** What its payloads are checked with; as JSON Schema where it has one. */
  schema?: StandardSchemaV1 | undefined
  maxResultBytes?: number
  /** The type of which a job is enqueued for each that died. */
  onDead?: string | undefined
}

/** The values of registerTypes: the types side by side. */
export function registerValues(types: readonly RegisteredType[], update: boolean): unknown[] {
  return [
    types.map((t) => t.type),
    types.map((t) => t.lane),
    types.map((t) => t.priority),
    types.map((t) => t.maxAttempts),
    types.map((t) => t.timeoutMs),
    update,
    types.map((t) => encodeApproval(t.approval)),
    types.map((t) => (t.unique ? JSON.stringify(t.unique) : null)),
    types.map((t) => (typeof t.backoff === 'object' ? JSON.stringify(t.backoff) : null)),
    types.map((t) => t.sensitive ?? false),
    types.map((t) => t.encrypt ?? false),
    types.map((t) => (t.redact?.length ? JSON.stringify(t.redact) : null)),
    types.map((t) => t.sharedKeys ?? false),
    types.map((t) => t.maxResultBytes ?? defaultResultBytes),
    types.map((t) => t.alertExpired ?? false),
    types.map((t) => t.onDead ?? null),
    types.map((t) => t.version ?? 1),
    types.map((t) => (t.searchable?.length ? JSON.stringify(t.searchable) : null)),
    types.map((t) => jsonSchemaOf(t.schema) ?? null),
  ]
}
