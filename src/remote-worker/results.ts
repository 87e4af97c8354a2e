import type { Report, Result } from '../api/worker.js'
import { HoldfastError } from '../errors.js'
import { decodePayload } from '../job/payload.js'
import { goesRound } from '../job/settlement.js'
import type { LogRow } from '../store/log-store.js'
import type { LostRow } from '../store/rows.js'
import type { EndedAttempt } from '../store/settle-values.js'
import { isForgotten, type WorkerCalls } from './calls.js'

interface ReportedLine {
  line: string
  level: 'info' | 'warn' | 'error'
}

const resultsAtOnce = 100
const reportsAtOnce = 100
const longestDelayMs = 30 * 86_400_000

/** Writes results for the settler: what the server changed nothing for is lost. */
export async function settleRemotely(calls: WorkerCalls, ended: readonly EndedAttempt[]): Promise<Pick<LostRow, 'id' | 'why'>[]> {
  const lost: Pick<LostRow, 'id' | 'why'>[] = []
  for (let at = 0; at < ended.length; at += resultsAtOnce) {
    const some = ended.slice(at, at + resultsAtOnce)
    const goneRound = new Set(some.filter(({ settlement }) => goesRound(settlement)).map(({ job }) => job.id))
    try {
      for (const { job, settled, already, code, status } of await calls.settle(some.map(resultOf))) {
        if (!settled) lost.push({ id: job, why: code === 'job_cancelled' ? 'cancelled' : 'lost' })
        else if (already) lost.push({ id: job, why: 'written' })
        else if (status === 'dead' && goneRound.has(job)) lost.push({ id: job, why: 'ended' })
      }
    } catch (error) {
      if (!isForgotten(error)) throw error
      lost.push(...some.map(({ job }) => ({ id: job.id, why: 'lost' as const })))
    }
  }
  return lost
}

/** The server understood the request and will never take it; a key that was revoked may be replaced. */
export function isRefusedResult(error: unknown): boolean {
  return error instanceof HoldfastError && !error.retryable && error.code !== 'unauthorized' && error.code !== 'forbidden'
}

function resultOf({ job, settlement, startedAtMs, endedAtMs }: EndedAttempt): Result {
  const { move, outcome, delayMs, failure, stop, result } = settlement
  const about = { job: job.id, lease: job.lease, ...(startedAtMs !== null && { ran_ms: endedAtMs - startedAtMs }) }
  const delay = delayMs === null ? {} : { delay: Math.min(Math.ceil(delayMs), longestDelayMs) }
  switch (move) {
    case 'complete':
      return { ...about, result: 'complete', ...(result !== undefined && { returned: decodePayload(result) }) }
    case 'snooze':
      return { ...about, result: 'snooze', delay: 0, ...delay, ...(stop && { stop }) }
    case 'block':
      return { ...about, result: 'block', ...delay }
    case 'hand_back':
      return { ...about, result: 'hand_back' }
    default: {
      const { crashes: _, ...error } = failure ?? { name: 'Error', message: 'the attempt failed' }
      const fatal = move === 'die' || move === 'poison'
      return {
        ...{ ...about, result: 'fail', error },
        ...(outcome === 'timed_out' && { timed_out: true }),
        ...(fatal && { fatal: true }),
        ...(move === 'retry' && delay.delay !== undefined && { retry_after: delay.delay }),
      }
    }
  }
}

/** Writes log lines and progress for the log writer. `leaseOf`: under which lease a job is held; what is held no more is not told of. */
export async function reportRemotely(
  calls: WorkerCalls,
  leaseOf: (job: string) => string | undefined,
  rows: readonly LogRow[],
): Promise<void> {
  const reports = new Map<string, Report & { lines: ReportedLine[] }>()
  for (const { jobId, fraction, note, line, level } of rows) {
    const lease = leaseOf(jobId)
    if (lease === undefined) continue
    const { lines = [], ...before } = reports.get(jobId) ?? { job: jobId, lease, lines: [] }
    if (line !== null) lines.push({ line, level: level ?? 'info' })
    const latest = fraction === null ? {} : { progress: fraction, ...(note === null ? {} : { note }) }
    reports.set(jobId, { ...before, ...latest, lines })
  }
  const all = [...reports.values()]
  for (let at = 0; at < all.length; at += reportsAtOnce) await calls.report(all.slice(at, at + reportsAtOnce))
}
