import { decodePayload } from '../../job/payload.js'
import type { RemoteClaim } from '../../remote/claims.js'
import type { Settled } from '../../remote/results.js'
import type { RemoteStep, RemoteStoredStep } from '../../remote/steps.js'
import type { RemoteWorker } from '../../remote/workers.js'
import { longestDelayMs } from './worker-bodies.js'

/** Jobs, steps and results, in the words of the worker protocol. */

export function claimedJob(row: RemoteClaim, type: RemoteWorker['types'][number] | undefined, checkpoint: string | undefined) {
  return {
    id: row.id,
    lease: row.lease,
    lease_ms: row.leaseMs,
    type: type?.name,
    timeout_ms: type?.timeoutMs,
    priority: row.priority,
    attempt: row.attempt,
    max_attempts: row.max ?? row.attempt,
    created_at: new Date(row.created ?? 0),
    payload: decodePayload(row.payload ?? 'null'),
    version: row.version ?? 1,
    ...(row.waits ? { waits: true } : {}),
    ...(row.trace === null ? {} : { traceparent: row.trace }),
    ...(row.scheduled === null ? {} : { scheduled_for: new Date(row.scheduled).toISOString() }),
    ...(checkpoint === undefined ? {} : { checkpoint: decodePayload(checkpoint) }),
  }
}

export function shownStep({ name, kind, state, result, leftMs }: RemoteStep) {
  return {
    ...{ name, kind, state },
    ...(result === null ? {} : { result: decodePayload(result) }),
    ...(leftMs == null ? {} : { left_ms: Math.min(leftMs, longestDelayMs) }),
  }
}

export function storedStep(stored: RemoteStoredStep) {
  const { position, after, done } = stored
  return { ...shownStep(stored), position, after, done }
}

export function settledAnswer(one: Settled) {
  if (one.settled) {
    const { job, settled, written, refused, became } = one
    const told = became && { status: became.status, due_in_ms: became.dueInMs }
    return { job, settled, ...told, ...(written ? { already: true } : {}), ...(refused === undefined ? {} : { code: refused }) }
  }
  const code = one.why === 'cancelled' ? 'job_cancelled' : 'lease_lost'
  const { outcome, attempt, endedAt } = one.stands ?? {}
  return { job: one.job, settled: false, code, ...(one.stands && { stands: { outcome, attempt, ended_at: endedAt } }) }
}
