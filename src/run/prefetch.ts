import { monotonicMs } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'

/** How long a prefetched job, one claimed before a slot is free for it, may expect to wait. */
const waitMs = { usually: 50, most: 400 }
/** Where claims are slow, for so many of them: what is claimed must last until the next claim is answered, also where that one is late. */
const claims = 4
/** The jobs of two claims under way, and of one whose jobs are about to begin. */
const mostPrefetched = 1_500
const mostInARow = 500
/** For so long after a job came through a gate, no job is to wait longer than usually. */
const gatedForMs = 10_000
/** How much the last one counts in an average. */
const weight = { job: 0.05, claim: 0.2 }

/** How long the claims of a worker take that find jobs, from their sending to their answer. */
export class ClaimTime {
  #averageMs = 0

  get ms(): number {
    return this.#averageMs
  }

  took(ms: number): void {
    this.#averageMs += (ms - this.#averageMs) * weight.claim
  }
}

/**
 * How many jobs to claim before slots are free for them: what the slots are measured to run within 50 ms, and on a machine that is so full
 * that claims take longer, within four claims, 400 ms at most. With 50 ms alone a full machine makes itself fuller: its handlers take longer,
 * so that fewer jobs fit into that time, so that more claims are sent. Jobs that came through a gate never wait longer than 50 ms: they count
 * as running from their claim on.
 */
export class Prefetch {
  readonly #claimTime: ClaimTime
  #averageMs: number | undefined
  #gatedUntil = 0

  constructor(claimTime: ClaimTime) {
    this.#claimTime = claimTime
  }

  /** How long a prefetched job may wait that has to begin soon. */
  static readonly soonMs = waitMs.usually

  /** A handler took so long. */
  took(ms: number): void {
    this.#averageMs = this.#averageMs === undefined ? ms : this.#averageMs + (ms - this.#averageMs) * weight.job
  }

  /** Handlers take longer than was measured. */
  expect(ms: number): void {
    this.#averageMs = ms
  }

  came(jobs: readonly ClaimedJob[]): void {
    if (jobs.some((job) => job.gated || job.rated)) this.#gatedUntil = monotonicMs() + gatedForMs
  }

  /** For so many slots. */
  jobs(slots: number): number {
    return this.#averageMs === undefined
      ? 0
      : Math.min(mostPrefetched, Math.floor((slots * this.#waitMs) / Math.max(this.#averageMs, 0.01)))
  }

  /** How many jobs of a key with a limit one slot runs one after the other. */
  get inARow(): number {
    if (this.#averageMs === undefined) return 1
    return Math.min(mostInARow, Math.max(1, Math.floor(waitMs.usually / Math.max(this.#averageMs, 0.01))))
  }

  get #waitMs(): number {
    const slowClaimsMs = this.#gatedUntil > 0 && monotonicMs() < this.#gatedUntil ? 0 : claims * this.#claimTime.ms
    return Math.min(waitMs.most, Math.max(waitMs.usually, slowClaimsMs))
  }
}
