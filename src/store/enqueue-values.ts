import { unlessAllNull } from './array-literal.js'
import type { NewJob } from './new-job.js'

export interface EnqueueOptions {
  /** No id can exist yet. */
  fresh: boolean
  /** takeKeys was called for these jobs. */
  keysTaken: boolean
  wakeAlways: boolean
  owner?: string | undefined
}

/** Due at once, and nothing to be met: nobody waits for anybody. */
export function isPlain({ brought, delayMs, runAt, idempotencyKey, approval, unique }: NewJob): boolean {
  return !brought && delayMs === null && runAt === null && idempotencyKey === null && approval === null && unique === null
}

/** The values of enqueueJob. */
export function enqueueJobValues(job: NewJob, { wakeAlways, owner }: EnqueueOptions): unknown[] {
  const { id, type, payload, priority, maxAttempts, concurrencyKey, traceparent } = job
  return [id, type, payload, priority, maxAttempts, concurrencyKey, wakeAlways, owner ?? null, traceparent]
}

/** The values of enqueueJobs: the jobs side by side. What is the same in almost every call is left out. */
export function enqueueJobsValues(jobs: readonly NewJob[], options: EnqueueOptions): unknown[] {
  return [
    jobs.map((job) => job.id),
    jobs.map((job) => job.type),
    jobs.map((job) => job.payload),
    unlessAllNull(jobs.map((job) => job.priority)),
    unlessAllNull(jobs.map((job) => job.maxAttempts)),
    unlessAllNull(jobs.map((job) => job.delayMs)),
    unlessAllNull(jobs.map((job) => job.runAt)),
    unlessAllNull(jobs.map((job) => job.idempotencyKey)),
    unlessAllNull(jobs.map((job) => job.concurrencyKey)),
    options.fresh,
    options.keysTaken,
    options.wakeAlways,
    // One null for all says at once that there is nothing to look at.
    jobs.some((job) => job.approval !== null) ? jobs.map((job) => job.approval) : null,
    jobs.some((job) => job.unique !== null) ? jobs.map((job) => (job.unique === null ? null : JSON.stringify(job.unique))) : null,
    options.owner ?? null,
    jobs.some((job) => job.traceparent !== null) ? jobs.map((job) => job.traceparent) : null,
  ]
}
