import type { ErrorCode } from '../errors.js'

/** What a request that failed is answered with, as application/problem+json (RFC 9457). */
export interface Problem {
  type: string
  /** From the table of errors: stable, for programs. */
  code: ErrorCode
  title: string
  status: number
  /** What was wrong this time, for a person. */
  detail: string
  /** The field of the request that was wrong, where there is one. */
  field?: string
  /** Everything that was wrong, where it was more than one thing. */
  errors?: { field: string; detail: string }[]
  /** The job that has the unique key, where the caller may read it. */
  job_id?: string
}
