import { arrayLiteral, payloadSeparator, wordsLiteral } from './array-literal.js'
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
export function isPlain({
  brought,
  delayMs,
  runAt,
  startBy,
  expireInMs,
  idempotencyKey,
  approval,
  unique,
  tags,
}: NewJob): boolean {
  const due = !brought && delayMs === null && runAt === null && startBy === null && expireInMs === null
  return due && idempotencyKey === null && approval === null && unique === null && tags === null
}

/** The values of enqueueJob. */
export function enqueueJobValues(job: NewJob, { wakeAlways, owner }: EnqueueOptions): unknown[] {
  const { id, type, payload, priority, maxAttempts, concurrencyKey, traceparent, version } = job
  return [id, type, payload, priority, maxAttempts, concurrencyKey, wakeAlways, owner ?? null, traceparent, version]
}

/** The values of enqueueJobs: the jobs side by side. What is the same in almost every call is left out. */
export function enqueueJobsValues(jobs: readonly NewJob[], options: EnqueueOptions): unknown[] {
  const has = optionsIn(jobs)
  return [
    wordsLiteral(jobs.map((job) => job.id)),
    has.types ? jobs.map((job) => job.type) : [(jobs[0] as NewJob).type],
    jobs.map((job) => job.payload).join(payloadSeparator),
    has.priority ? jobs.map((job) => job.priority) : [],
    has.maxAttempts ? jobs.map((job) => job.maxAttempts) : [],
    has.delayMs ? jobs.map((job) => job.delayMs) : [],
    has.runAt ? jobs.map((job) => job.runAt) : [],
    has.idempotencyKey ? jobs.map((job) => job.idempotencyKey) : [],
    has.concurrencyKey ? jobs.map((job) => job.concurrencyKey) : [],
    options.fresh,
    options.keysTaken,
    options.wakeAlways,
    // One null for all says at once that there is nothing to look at.
    has.approval ? jobs.map((job) => job.approval) : null,
    has.unique ? jobs.map((job) => (job.unique === null ? null : JSON.stringify(job.unique))) : null,
    options.owner ?? null,
    has.traceparent ? jobs.map((job) => job.traceparent) : null,
    has.tags ? jobs.map((job) => job.tags && arrayLiteral(job.tags)) : null,
    has.startBy ? jobs.map((job) => job.startBy) : null,
    has.expireInMs ? jobs.map((job) => job.expireInMs) : null,
    versionsOf(jobs),
  ]
}

/** Null: none says. One, where it is that of all. */
function versionsOf(jobs: readonly NewJob[]): (number | null)[] | null {
  const first = (jobs[0] as NewJob).version
  if (jobs.some(({ version }) => version !== first)) return jobs.map(({ version }) => version)
  return first === null ? null : [first]
}

/** What any of the jobs says, in one look at each; `types`: they have more than one. */
function optionsIn(jobs: readonly NewJob[]) {
  const first = jobs[0]?.type
  const has = {
    types: false,
    priority: false,
    maxAttempts: false,
    delayMs: false,
    runAt: false,
    idempotencyKey: false,
    concurrencyKey: false,
    approval: false,
    unique: false,
    traceparent: false,
    tags: false,
    startBy: false,
    expireInMs: false,
  }
  for (const job of jobs) {
    if (job.type !== first) has.types = true
    if (job.priority !== null) has.priority = true
    if (job.maxAttempts !== null) has.maxAttempts = true
    if (job.delayMs !== null) has.delayMs = true
    if (job.runAt !== null) has.runAt = true
    if (job.idempotencyKey !== null) has.idempotencyKey = true
    if (job.concurrencyKey !== null) has.concurrencyKey = true
    if (job.approval !== null) has.approval = true
    if (job.unique !== null) has.unique = true
    if (job.traceparent !== null) has.traceparent = true
    if (job.tags !== null) has.tags = true
    if (job.startBy !== null) has.startBy = true
    if (job.expireInMs !== null) has.expireInMs = true
  }
  return has
}
