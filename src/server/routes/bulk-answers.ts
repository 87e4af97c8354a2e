import type { BulkAnswer, BulkBody } from '../../api/bulk.js'
import type { BulkAction } from '../../operate/bulk.js'
import type { BulkRequest } from '../../operate/bulk-request.js'
import { libraryFilter } from './filter.js'

/** The body of a request as the library asks. */
export function bulkRequest({ action, filter, ids, priority, run_at, delay, pace, confirm }: BulkBody): BulkRequest {
  return {
    action,
    ...(filter !== undefined && { filter: libraryFilter(filter) }),
    ...(ids !== undefined && { ids }),
    ...(priority !== undefined && { priority }),
    ...(run_at !== undefined && { runAt: new Date(run_at) }),
    ...(delay !== undefined && { delay: delay as NonNullable<BulkRequest['delay']> }),
    ...(pace !== undefined && { pace }),
    ...(confirm !== undefined && { confirm }),
  } as BulkRequest
}

/** A bulk action in the words of the API. */
export function bulkAnswer(bulk: BulkAction): BulkAnswer {
  const { createdAt, startedAt, endedAt, abortedBy, abortedWhy, ...same } = bulk
  return {
    ...same,
    created_at: createdAt.toISOString(),
    started_at: startedAt?.toISOString() ?? null,
    ended_at: endedAt?.toISOString() ?? null,
    aborted_by: abortedBy,
    aborted_why: abortedWhy,
  }
}
