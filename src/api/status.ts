import type { JobStatus } from '../job/state.js'

/** The statuses that the first page of the dashboard counts. */
export const shownStatuses = ['pending', 'processing', 'failed', 'dead', 'completed', 'scheduled', 'blocked'] as const
/** One of these. */
export type ShownStatus = (typeof shownStatuses)[number]

/** How many jobs have a status. `more`: counting stopped there, so it is a least number. */
export interface StatusCount {
  count: number
  more: boolean
}

/** What GET /status answers. */
export interface StatusAnswer {
  version: string
  /** Completed jobs are counted if they were enqueued within so many seconds. */
  completed_within_s: number
  counts: Record<ShownStatus, StatusCount>
  types: ({ type: string } & Record<ShownStatus, StatusCount>)[]
  jobs: {
    id: string
    type: string
    status: JobStatus
    attempt: number
    max_attempts: number
    created_at: Date
    age_ms: number
    error: string | null
  }[]
  worker: {
    name: string
    status: 'ok' | 'unhealthy' | 'stopping'
    reason: string | null
    running: number
    unwritten: number
    last_contact_ms: number
  } | null
  /** The standby that this page may have been read from; null: there is none. `lag_ms` null: nobody can tell. */
  replica: { used: boolean; lag_ms: number | null; why: string | null } | null
}
