import type { BatchRow } from '../store/batch-store.js'

/** A batch as it stands. */
export interface Batch {
  id: string
  name: string | null
  /** The service whose batch it is; null: the application's own. */
  owner: string | null
  /**
   * `succeeded`: all members completed. `failed`: some ended dead, cancelled or discarded. `cancelled`: somebody cancelled what was left.
   */
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  /** 1, and one more each time a member of the ended batch was made live again. */
  round: number
  /** It waits to be closed. */
  open: boolean
  /** How many members there are, and of these how many have not ended, and how the others did. */
  total: number
  live: number
  completed: number
  dead: number
  cancelled: number
  discarded: number
  createdAt: Date
  finishedAt: Date | null
  /** What a running batch waits for, in a sentence; null for one that has ended. */
  waitsFor: string | null
  /** Who cancelled it, and why. */
  cancelledBy: string | null
  cancelledWhy: string | null
  /** The jobs that its ends have enqueued. A list of batches leaves them out. */
  callbacks: { round: number; kind: 'success' | 'failure' | 'complete'; job: string }[]
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
