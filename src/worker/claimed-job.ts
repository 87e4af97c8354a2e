import type { ClaimedJob } from '../job/claimed.js'
import type { AnyJobType } from '../job/type.js'
import type { ClaimedRow } from '../store/rows.js'

/** A claimed row as the worker handles it. */
export function claimedJob(row: ClaimedRow, type: AnyJobType, lane: number, claimedAtMs: number): ClaimedJob {
  return {
    id: row.id,
    lease: row.lease,
    lane,
    type,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.max ?? row.attempt,
    createdAtMs: row.created ?? 0,
    payload: row.payload,
    traceparent: row.trace,
    gated: row.gated === true,
    claimedAtMs,
  }
}
