import { fieldOf, type Issue } from './issue.js'

/**
 * Every error Holdfast raises on purpose, as one table. The code is stable and part of the API; the status is what the
 * HTTP server answers; `retryable` says whether the same call may succeed later without being changed.
 */
export const errorTable = {
  invalid_payload: { status: 422, retryable: false, title: 'The payload cannot be stored exactly as given' },
  payload_rejected: { status: 422, retryable: false, title: 'The payload does not fit the schema of its type' },
  payload_too_large: { status: 413, retryable: false, title: 'The payload is larger than 64 KB' },
  invalid_result: { status: 422, retryable: false, title: 'What the handler returned cannot be stored exactly as given' },
  result_too_large: { status: 413, retryable: false, title: 'What the handler returned is larger than its type keeps' },
  invalid_option: { status: 400, retryable: false, title: 'An option has a value it cannot have' },
  encryption_keys_missing: {
    status: 503,
    retryable: true,
    title: 'The payload has to be encrypted, and this process has no keys for it',
  },
  invalid_configuration: { status: 500, retryable: false, title: 'The configuration has problems' },
  unknown_type: { status: 422, retryable: false, title: 'No job type of that name is registered' },
  unknown_lane: { status: 422, retryable: false, title: 'There is no lane of that name' },
  unknown_dependency: { status: 422, retryable: false, title: 'There is no dependency of that name' },
  unknown_workflow: { status: 422, retryable: false, title: 'No workflow of that name is registered' },
  duplicate_handler: { status: 500, retryable: false, title: 'Two handlers were given for one job type' },
  invalid_module: { status: 500, retryable: false, title: 'The file with the handlers cannot be loaded' },
  threads_missing: { status: 500, retryable: false, title: 'A bundle lacks the file that threads and processes start from' },
  missing_handler: { status: 500, retryable: false, title: 'A job type was given to the worker without a run function' },
  unique_conflict: { status: 409, retryable: false, title: 'Another job already has this unique key' },
  id_conflict: { status: 409, retryable: false, title: 'The id is that of another job' },
  lease_lost: { status: 409, retryable: false, title: 'The lease of this attempt is gone; another worker may hold the job' },
  step_changed: { status: 409, retryable: false, title: 'The steps of a handler changed under a job that had begun' },
  unknown_worker: { status: 409, retryable: false, title: 'No worker with that token is signed on' },
  job_cancelled: { status: 409, retryable: false, title: 'The job was cancelled' },
  job_dead: { status: 409, retryable: false, title: 'The job ended dead' },
  job_discarded: { status: 409, retryable: false, title: 'The job ended dead and was discarded' },
  execution_failed: { status: 409, retryable: false, title: 'The execution ended because a task of it failed' },
  execution_cancelled: { status: 409, retryable: false, title: 'The execution was cancelled' },
  wait_timeout: { status: 504, retryable: true, title: 'The job had not ended when the time to wait for it was over' },
  events_lost: { status: 410, retryable: false, title: 'Events after that cursor are no longer kept' },
  not_committed: { status: 500, retryable: true, title: 'The transaction that was to complete a job was not committed' },
  unknown_transaction: { status: 500, retryable: false, title: 'The transaction comes from no client that Holdfast knows' },
  database_unavailable: { status: 503, retryable: true, title: 'The database did not answer' },
  postgres_missing: { status: 500, retryable: false, title: 'There is no PostgreSQL to start' },
  package_missing: { status: 500, retryable: false, title: 'An npm package that this needs is not installed' },
  schema_outdated: { status: 503, retryable: true, title: 'The database schema is older or newer than this version needs' },
  permission_denied: { status: 500, retryable: false, title: 'The database user lacks a right that is needed' },
  ids_exhausted: { status: 500, retryable: false, title: 'The database has run out of ids of this kind' },
  migration_changed: { status: 500, retryable: false, title: 'A migration that ran before has been changed since' },
  invalid_request: { status: 400, retryable: false, title: 'The request cannot be understood' },
  request_too_large: { status: 413, retryable: false, title: 'The request is larger than the server takes' },
  unsupported_media_type: { status: 415, retryable: false, title: 'The server does not accept this format' },
  internal_error: { status: 500, retryable: true, title: 'Something went wrong inside the server' },
  too_much_waiting: { status: 429, retryable: true, title: 'Too many jobs are waiting; this one was not stored' },
  not_found: { status: 404, retryable: false, title: 'No object has that id' },
  unauthorized: { status: 401, retryable: false, title: 'A valid key is needed' },
  forbidden: { status: 403, retryable: false, title: 'The key does not allow this' },
  rate_limited: { status: 429, retryable: true, title: 'The key has used up its requests for now' },
  question_too_slow: { status: 422, retryable: false, title: 'The query took longer than the server allows' },
  confirmation_required: {
    status: 409,
    retryable: false,
    title: 'Jobs of a sensitive type are replayed or resumed only when that is confirmed',
  },
  conflict: { status: 409, retryable: false, title: 'The current state does not allow this' },
  server_unreachable: { status: 503, retryable: true, title: 'The Holdfast server did not answer' },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>

/** One of the codes in the table: stable, for programs to branch on. */
export type ErrorCode = keyof typeof errorTable

/** What an error can carry beside its code and its message. */
export interface ErrorParts {
  /** The field that was wrong. Left out, that of the first issue. */
  field?: string
  /** Everything that was wrong, in parts. */
  issues?: readonly Issue[]
  cause?: unknown
  retryAfterMs?: number
}

/** What is thrown: a code from the table, a sentence for a person, and everything that was wrong, in parts. */
export class HoldfastError extends Error {
  override readonly name: string = 'HoldfastError'
  readonly code: ErrorCode
  /** The field or path that was wrong, such as `payload.to` or `priority`. */
  readonly field: string | undefined
  /** Everything that was wrong with what was given: where, what, and what would be right. Empty where the cause was another. */
  readonly issues: readonly Issue[]
  /** When it makes sense to try again, where that is known. */
  readonly retryAfterMs: number | undefined
  /** Which of several jobs that were handed in together it is about, counted from 0. */
  index: number | undefined

  constructor(code: ErrorCode, message: string, parts: ErrorParts = {}) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause })
    const [first] = parts.issues ?? []
    this.code = code
    this.field = parts.field ?? (first && fieldOf(first.path))
    this.issues = parts.issues ?? []
    this.retryAfterMs = parts.retryAfterMs
  }

  /** The HTTP status that a server answers with for this code. */
  get status(): number {
    return errorTable[this.code].status
  }

  /** Whether the same call may succeed later. */
  get retryable(): boolean {
    return errorTable[this.code].retryable
  }
}

/** Raised where a unique key is taken and the caller wanted to be told so. Nothing was stored. */
export class UniqueConflictError extends HoldfastError {
  override readonly name = 'UniqueConflictError'
  /** The job that has the key; undefined where that is another one of the same enqueue, or one the caller may not read. */
  readonly jobId: string | undefined

  constructor(jobId: string | undefined, message: string, cause?: unknown) {
    super('unique_conflict', `${message}; nothing was stored`, { field: 'unique', cause })
    this.jobId = jobId
  }
}

/** Thrown by a handler: this attempt failed, try again. `after` overrides the type's backoff. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError'
  readonly after: number | string | undefined

  constructor(message: string, options: { after?: number | string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.after = options.after
  }
}

/** Thrown by a handler: no retry can help. The job goes to the dead letters at once. */
export class FatalError extends Error {
  override readonly name = 'FatalError'
}

/** Raised where a write found that its attempt no longer holds the lease. Nothing was changed. */
export class LeaseLostError extends HoldfastError {
  override readonly name = 'LeaseLostError'

  constructor(jobId: string) {
    super('lease_lost', `the lease of job ${jobId} is gone; nothing was changed`)
  }
}

/** The reason a handler's signal fires with when somebody cancelled its job. However the handler ends, the job stays cancelled. */
export class JobCancelledError extends HoldfastError {
  override readonly name = 'JobCancelledError'

  constructor(jobId: string) {
    super('job_cancelled', `job ${jobId} was cancelled`)
  }
}

/** What `wait` throws where the job ended without a result. */
export class JobEndedError extends HoldfastError {
  override readonly name = 'JobEndedError'
  readonly jobId: string
  /** Why a dead job is dead; null where it was cancelled or discarded. */
  readonly reason: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried' | null
  /** What its last attempt failed of, or who ended it and why. */
  readonly lastError: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string } | null

  constructor(
    code: 'job_dead' | 'job_cancelled' | 'job_discarded',
    message: string,
    ended: Pick<JobEndedError, 'jobId' | 'reason' | 'lastError'>,
  ) {
    super(code, message)
    this.jobId = ended.jobId
    this.reason = ended.reason
    this.lastError = ended.lastError
  }
}
