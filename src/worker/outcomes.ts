import { monotonicMs } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import type { Meter } from '../metrics/meter.js'
import { type Privacy, withResultEncrypted } from '../privacy/privacy.js'
import { decide } from '../settle/decide.js'
import type { Otherwise, Settler, Settling } from '../settle/settler.js'
import type { Report } from './report.js'

/** A worker with this many results waiting to be written claims no more: further results would only pile up in its memory. */
const mostUnwritten = 10_000

export interface OutcomesEvents {
  /** The settler has written enough for the worker to claim again, or the end of a job behind a gate, so that another one may pass it. */
  claimable(): void
  /** This worker put off a job itself, for that long. */
  putOff(ms: number): void
}

/** The way of an attempt's outcome: its result encrypted, decided, given to the settler, and told once it is written. */
export class Outcomes {
  readonly #settler: Settler
  readonly #privacy: Privacy
  readonly #meter: Meter
  readonly #report: Report
  readonly #quarantineAfter: number
  readonly #build: string | null
  readonly #events: OutcomesEvents
  #full = false

  constructor(
    settler: Settler,
    privacy: Privacy,
    meter: Meter,
    report: Report,
    { quarantineAfter, build }: { quarantineAfter: number; build: string | null },
    events: OutcomesEvents,
  ) {
    this.#settler = settler
    this.#privacy = privacy
    this.#meter = meter
    this.#report = report
    this.#quarantineAfter = quarantineAfter
    this.#build = build
    this.#events = events
  }

  /** Whether so many results are unwritten that no more jobs should be claimed. */
  get full(): boolean {
    this.#full = this.#settler.unwritten >= mostUnwritten
    return this.#full
  }

  /** Counts how long it had been due, until its slot was free. */
  began({ type, priority, waitedMs = 0, claimedAtMs }: ClaimedJob): void {
    this.#meter.began(type.type, priority, waitedMs + monotonicMs() - claimedAtMs)
  }

  ended(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const { type, encrypt: encrypted } = job.type
    const stored = withResultEncrypted(this.#privacy, outcome, { id: job.id, type, encrypted })
    const settlement = decide(stored, job, job.type.backoff, Math.random, this.#quarantineAfter)
    const endedAtMs = monotonicMs()
    // What is written already is settled like what was tried before: the settle finds it written, and closes the lease.
    const tried = outcome.kind === 'completed' && outcome.written === true
    this.#settler.add({ job, settlement, startedAtMs, endedAtMs, closesLease: undefined, tried })
  }

  /** Not before they are written: until then a cancel may be faster than the result. */
  settled(results: readonly Settling[], lost: ReadonlyMap<string, Otherwise>): void {
    // The settler counts these as written only when this function has returned.
    if (this.#full || results.some(({ job }) => job.gated)) setImmediate(() => this.#events.claimable())
    this.#full = false
    let dueInMs = Number.POSITIVE_INFINITY
    // Most jobs complete and most programs do not listen.
    const nobodyListens = lost.size === 0 && !this.#report.hears('job.completed')
    for (const settling of results) {
      const { job, settlement, startedAtMs, endedAtMs } = settling
      if (lost.size === 0 || !lost.has(job.id)) this.#meter.ended(job.type.type, settlement, startedAtMs, endedAtMs, this.#build)
      if (nobodyListens && settlement.move === 'complete') continue
      this.#report.attemptEnded(settling, lost.get(job.id))
      dueInMs = Math.min(dueInMs, settlement.delayMs ?? dueInMs)
    }
    if (dueInMs < Number.POSITIVE_INFINITY) this.#events.putOff(dueInMs)
  }
}
