import type { LogLevel } from '../job/log-entry.js'
import type { JobStatus } from '../job/state.js'
import type { Uniqueness } from '../job/unique.js'

export type { ClaimedRow } from './claimed-row.js'

/** What statements answer on our own connections. Bigints are text: a number would round them. Times are milliseconds since 1970. */
export interface TypeRow {
  name: string
  id: number
  lane: number
  lanename: string
  sensitive: boolean
  encrypted: boolean
  uniqueness: Uniqueness | null
  redact: string[] | null
}

/** Settings of the server as text: `fsync`, `full_page_writes`, `synchronous_commit`, `synchronous_standby_names`. */
export interface DurabilitySettings {
  fsync: string
  pages: string
  commits: string
  standbys: string
}

export interface StartRow extends DurabilitySettings {
  types: TypeRow[]
  /** For how long a worker that names nothing else claims. */
  lease: number
  /** Whether any of these is defined otherwise than the worker has it. */
  limits: boolean
  uses: boolean
  dependencies: boolean
  /** Whether any of the types has a webhook. */
  webhooks: boolean
  /** The last migration that ran. */
  newest: number
  /** To what the database was restored since a worker started last; null: it was not. */
  restored: string | null
}

export interface RescuedRow {
  id: string
  type: string
  attempt: number
  worker: number
  dead: boolean
}

export interface CrashRow {
  id: string
  attempt: number
  outcome: string
  at: number
  worker: number | null
  message: string | null
}

export interface JobRow {
  id: string
  type: string
  status: string
  lane: string
  priority: number
  attempt: number
  max_attempts: number
  payload: string
  /** Paths of the payload that people do not see. */
  redact: string[] | null
  encrypted: boolean
  idempotency_key: string | null
  concurrency_key: string | null
  created_at: number
  due_at: number | null
  started_at: number | null
  finished_at: number | null
  worker_id: number | null
  error: unknown
  owner: string | null
  tags: string[] | null
}

/** One job, with what its handler returned as it is stored, and where it comes from. */
export interface OneJobRow extends JobRow {
  result: string | null
  origin: {
    traceparent: string | null
    version: number
    timeout: number
    sensitive: boolean
    /** The batch or execution it is part of. */
    group: string | null
    kind: 'batch' | 'execution' | null
    task: string | null
    item: number | null
    schedule: string | null
    tick: number | null
    startBy: number | null
    fingerprint: string | null
  }
}

export interface AttemptRow {
  attempt: number
  outcome: string
  started_at: number | null
  ended_at: number
  worker_id: number | null
  worker: string | null
  build: string | null
  error: unknown
}

export interface StatusCount {
  type: string
  status: string
  count: number
}

export interface CappedCount {
  type: string
  /** Null for a type with nothing to count. */
  status: string | null
  count: number
  /** There may be more: counting stopped here. */
  cut: boolean
}

export interface NewestJobRow {
  id: string
  type: string
  status: JobStatus
  attempt: number
  max_attempts: number
  created_at: Date
  age_ms: number
  error: string | null
}

export interface WorkerLaneRow {
  id: number
  /** Those of the asked types that run in it. */
  types: number[]
  name: string
  poll: number
  lease: number | null
  slots: number | null
  enabled: boolean
}

/**
 * An attempt that found no lease to settle under. `written`: an earlier try of the same worker had settled it, with this outcome. `ended`: it was
 * settled, but its job went round once too often, so that it is dead instead of put off.
 */
export interface LostRow {
  id: string
  why: 'cancelled' | 'written' | 'lost' | 'ended'
  /** The result that stands instead; null where no attempt of the job has ended. */
  outcome: string | null
  attempt: number | null
  ended: number | null
}

/** Says that a member of a group has ended, beside the attempts that were lost. */
export interface GroupedRow {
  id: null
}

export interface MovedRow {
  id: string
  done: boolean
  was: string | null
  status: string | null
  because: string | null
}

export interface MoveRow {
  move: 'set_priority' | 'reschedule' | 'run_now' | 'replay' | 'resume'
  actor: string
  why: string | null
  before: Record<string, unknown>
  after: Record<string, unknown>
  at: number
}

/** A request with one verdict; a request without any has one row with nulls. */
export interface ApprovalRow {
  quorum: number
  revision: number
  deadline: number | null
  on_deadline: 'cancel' | 'approve'
  actor: string | null
  verdict: 'approve' | 'reject'
  comment: string | null
  at: number
}

export interface ProgressRow {
  attempt: number
  fraction: number
  note: string | null
  at: number
}

export interface LogLineRow {
  id: string
  attempt: number
  at: number
  level: LogLevel
  line: string
}

/** Where a dead letter stands in the list, to the microsecond. `fits` is false in a last row that only says how far was read. */
export interface DeadPositionRow {
  id: string
  at: string
  fits: boolean
}

export interface DeadLetterRow extends DeadPositionRow {
  died_at: number
  type: string
  priority: number
  attempt: number
  reason: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried'
  error: Record<string, unknown> | null
  max_attempts: number | null
  created_at: number | null
}

/** Where a job stands that somebody watches. */
export interface WatchedRow {
  id: string
  status: string
  attempt: number
  fraction: number | null
  note: string | null
  progressed: number | null
  /** The last line of its log; '0': there is none. */
  line: string
}

/** A worker that has just been registered; order: who told its build to claim no more, and why. */
export interface RegisteredRow {
  id: number
  order: [by: string, why: string | null] | null
}

/** A job that takes a slot of a lane. Moments are milliseconds since 1970. */
export interface SlotRow {
  job: string
  type: string
  attempt: number | null
  worker: string | null
  workerId: number
  /** Cancelled, and its handler may still be at work. */
  stopping: boolean
  since: number
  leaseUntil: number
}

/** What is stored about a type. */
export interface StoredType {
  lane: string
  priority: number
  max_attempts: number
  timeout_ms: number
  backoff: object | null
  approval: object | null
  uniqueness: object | null
  sensitive: boolean
  encrypted: boolean
  redact: string[] | null
  shared_keys: boolean
  max_result_bytes: number
  alert_expired: boolean
  on_dead: string | null
  version: number
  searchable: string[] | null
  payload_schema: object | null
}
