import type { BatchFacts, BatchRow } from '../store/batch-store.js'

/** A batch as it stands. */
export interface Batch extends BatchFacts {
  createdAt: Date
  finishedAt: Date | null
  /** What a running batch waits for, in a sentence; null for one that has ended. */
  waitsFor: string | null
  /** Who cancelled it, and why. */
  cancelledBy: string | null
  cancelledWhy: string | null
}

export function batchOf(row: BatchRow): Batch {
  const { created_at, finished_at, cancelled_by, cancelled_why, ...same } = row
  return {
    ...same,
    createdAt: new Date(created_at),
    finishedAt: finished_at === null ? null : new Date(finished_at),
    waitsFor: waitsFor(row),
    cancelledBy: cancelled_by,
    cancelledWhy: cancelled_why,
  }
}

/** Pure, and the same for everybody who asks why a batch has not ended. */
export function waitsFor({ status, live, total, open, cancelled_by: by }: BatchRow): string | null {
  if (status !== 'running') return null
  if (live > 0 && by !== null) return `${live} of its ${total} members, which ${by} cancelled, to stop`
  if (live > 0) return `${live} of its ${total} members to end${open ? ', and to be closed' : ''}`
  return open ? 'somebody to close it' : 'a worker to see that all its members have ended'
}
