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

/** New and due at once, and nobody has to say yes: what enqueueJob stores. */
export function isPlain({ brought, delayMs, runAt, startBy, expireInMs, approval, tags, webhook }: NewJob): boolean {
  const due = !brought && delayMs === null && runAt === null && startBy === null && expireInMs === null
  return due && approval === null && tags === null && webhook === null
}

/** The values of enqueueJob. */
export function enqueueJobValues(job: NewJob, { wakeAlways, owner }: EnqueueOptions): unknown[] {
  const { id, type, payload, priority, maxAttempts, concurrencyKey, traceparent, version, idempotencyKey } = job
  const values = [id, type, payload, priority, maxAttempts, concurrencyKey, wakeAlways, owner ?? null, traceparent, version]
  return [...values, idempotencyKey, sharedUnique(job), uniqueKey(job), job.unchecked]
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
    has.unique ? onceIfAlike(jobs.map(sharedUnique)) : null,
    options.owner ?? null,
    has.traceparent ? jobs.map((job) => job.traceparent) : null,
    has.tags ? jobs.map((job) => job.tags && arrayLiteral(job.tags)) : null,
    has.startBy ? jobs.map((job) => job.startBy) : null,
    has.expireInMs ? jobs.map((job) => job.expireInMs) : null,
    onceIfAlike(jobs.map(({ version }) => version)),
    has.unique ? jobs.map(uniqueKey) : null,
    has.webhook ? jobs.map((job) => job.webhook && JSON.stringify(job.webhook)) : null,
    has.unchecked,
  ]
}

/** Null: none says. One, where it is that of all. */
function onceIfAlike<Value>(values: readonly (Value | null)[]): readonly (Value | null)[] | null {
  const [first = null] = values
  if (values.some((value) => value !== first)) return values
  return first === null ? null : [first]
}

/** A uniqueness without its key, in which alone most jobs of a call differ: the database reads what they share once. */
function sharedUnique({ unique }: NewJob): string | null {
  if (!unique) return unique === false ? 'false' : null
  const { key: _, ...shared } = unique
  return JSON.stringify(shared)
}

function uniqueKey({ unique }: NewJob): string | null {
  return unique ? (unique.key ?? null) : null
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
    webhook: false,
    unchecked: false,
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
    if (job.webhook !== null) has.webhook = true
    if (job.unchecked) has.unchecked = true
  }
  return has
}
