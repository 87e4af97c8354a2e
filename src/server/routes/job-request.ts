import type { JobBody } from '../../api/jobs.js'
import { HoldfastError, UniqueConflictError } from '../../errors.js'
import type { JobRequest } from '../../job/type.js'
import { isTraceparent } from '../../tracing/traceparent.js'

/** What the API calls something, and what the library calls it. */
const names = {
  max_attempts: 'maxAttempts',
  run_at: 'runAt',
  idempotency_key: 'idempotencyKey',
  concurrency_key: 'concurrencyKey',
  on_conflict: 'onConflict',
  max_wait: 'maxWait',
  on_deadline: 'onDeadline',
  worker_slots: 'workerSlots',
  max_running_per_key: 'maxRunningPerKey',
  max_running: 'maxRunning',
  rate_per_key: 'ratePerKey',
  rate_limit: 'rateLimit',
  died_from: 'diedFrom',
  died_before: 'diedBefore',
  min_priority: 'minPriority',
} as const

/** A checked body as the library takes it. A header `traceparent` that is none is left aside, as its recommendation asks. */
export function jobRequest({ run_at, approval, unique, ...body }: JobBody, header?: string | string[]): JobRequest {
  return {
    ...(typeof header === 'string' && isTraceparent(header) ? { traceparent: header } : {}),
    ...(theirs(body) as unknown as JobRequest),
    ...(run_at === undefined ? {} : { runAt: new Date(run_at) }),
    ...(approval === undefined ? {} : { approval: theirs(approval) as never }),
    ...(unique === undefined ? {} : { unique: theirs(unique) as never }),
  }
}

/** With the library's names; what is inside of a payload is nobody's business here. */
export function theirs(fields: object | boolean): unknown {
  if (typeof fields === 'boolean') return fields
  const named = Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? names[name as never] : name, value])
  return Object.fromEntries(named)
}

/** Which words of a message are ours to rename: what stands in quotes somebody sent. */
const quotesAndWords = /"[^"]*"|\b[a-z]+[A-Z]\w*/g
const here = new Map(Object.entries(names).map(([here, there]) => [there as string, here]))

/** The library names fields as its own callers write them; over HTTP some have another name. What is inside of a payload has its own. */
export function inOurWords(error: unknown, prefix = ''): unknown {
  if (!(error instanceof HoldfastError) || error instanceof UniqueConflictError) return error
  const theirOwn = /^payload\b/.test(error.field ?? '')
  const ours = (text: string) => (theirOwn ? text : text.replace(quotesAndWords, (word) => here.get(word) ?? word))
  const field = error.field === undefined ? {} : { field: prefix + ours(error.field) }
  const later = error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }
  return new HoldfastError(error.code, ours(error.message), { ...field, ...later, cause: error })
}
