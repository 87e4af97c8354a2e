import type { BatchAnswer } from '../../api/batches.js'
import type { Batch } from '../../batch/batch.js'

/** A batch in the words of the API. */
export function batchAnswer({ createdAt, finishedAt, waitsFor, cancelledBy, cancelledWhy, ...same }: Batch): BatchAnswer {
  return {
    ...same,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    waits_for: waitsFor,
    cancelled_by: cancelledBy,
    cancelled_why: cancelledWhy,
  }
}
