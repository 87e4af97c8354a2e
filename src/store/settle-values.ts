import { encodeFailure } from '../job/failure.js'
import type { Settlement } from '../job/settlement.js'
import { unlessAllNull } from './array-literal.js'

/** One ended attempt on its way to history. */
export interface EndedAttempt {
  job: { readonly id: string; readonly lease: string }
  settlement: Settlement
  /** Milliseconds by this machine's monotonic clock; null where the handler never started. */
  startedAtMs: number | null
  endedAtMs: number
}

/** The values of settleJobs: the attempts side by side. What is the same in almost every batch is left out. */
export function settleValues(
  worker: number,
  ended: readonly EndedAttempt[],
  nowMs: number,
  closedLeases: readonly string[],
): unknown[] {
  return [
    words(ended.map((e) => e.job.id)),
    words(ended.map((e) => e.job.lease)),
    unlessAllNull(ended.map(({ settlement: { move } }) => (move === 'complete' ? null : move))),
    unlessAllNull(ended.map(({ settlement: { move, outcome } }) => (move === 'complete' ? null : outcome))),
    unlessAllNull(ended.map(({ settlement: { failure } }) => (failure ? encodeFailure(failure) : null))),
    words(ended.map((e) => (e.startedAtMs === null ? 'NULL' : toMicroseconds(nowMs - e.startedAtMs)))),
    words(ended.map((e) => toMicroseconds(nowMs - e.endedAtMs))),
    unlessAllNull(ended.map((e) => e.settlement.delayMs)),
    worker,
    closedLeases,
    unlessAllNull(ended.map((e) => e.settlement.stop ?? null)),
  ]
}

/** An array of what needs no quotes: a tenth of a settle was spent on looking for them. */
function words(elements: readonly (string | number)[]): string {
  return `{${elements.join(',')}}`
}

/** As exact as the database's clock. The digits beyond would only have to be written, sent and read. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
