import { encodeFailure } from '../job/failure.js'
import { fingerprintOf } from '../job/fingerprint.js'
import { goesRound, type Settlement } from '../job/settlement.js'
import { unlessAllNull, wordsLiteral } from './array-literal.js'
import type { LostRow } from './rows.js'

/** One ended attempt on its way to history. */
export interface EndedAttempt {
  job: { readonly id: string; readonly lease: string }
  settlement: Settlement
  /** Milliseconds by this machine's monotonic clock; null where the handler never started. */
  startedAtMs: number | null
  endedAtMs: number
}

/** The values of settleJobs: the attempts side by side. What is the same in almost every statement is left out. */
export function settleValues(
  worker: number,
  ended: readonly EndedAttempt[],
  nowMs: number,
  closedLeases: readonly string[],
): unknown[] {
  return [
    wordsLiteral(ended.map((e) => e.job.id)),
    wordsLiteral(ended.map((e) => e.job.lease)),
    unlessAllNull(ended.map(({ settlement: { move } }) => (move === 'complete' ? null : move))),
    unlessAllNull(ended.map(({ settlement: { move, outcome } }) => (move === 'complete' ? null : outcome))),
    unlessAllNull(ended.map(({ settlement: { failure } }) => (failure ? encodeFailure(failure, fingerprintOf(failure)) : null))),
    wordsLiteral(ended.map((e) => (e.startedAtMs === null ? 'NULL' : toMicroseconds(nowMs - e.startedAtMs)))),
    wordsLiteral(ended.map((e) => toMicroseconds(nowMs - e.endedAtMs))),
    unlessAllNull(ended.map((e) => e.settlement.delayMs)),
    worker,
    closedLeases,
    unlessAllNull(ended.map((e) => e.settlement.stop ?? null)),
    unlessAllNull(ended.map((e) => e.settlement.result ?? null)),
  ]
}

/** As exact as the database's clock. The digits beyond would only have to be written, sent and read. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** Of the rows of a settle, which of them say that a cap ended a job instead of putting it off or handing it back. */
export function withEnded(rows: readonly LostRow[], ended: readonly EndedAttempt[]): LostRow[] {
  const wentRound = new Set(
    rows.length > 0
      ? ended.filter(({ settlement }) => goesRound(settlement) && settlement.outcome !== 'failed').map(({ job }) => job.id)
      : [],
  )
  return rows.map((row) =>
    row.why === 'written' && row.outcome === 'failed' && wentRound.has(row.id) ? { ...row, why: 'ended' } : row,
  )
}
