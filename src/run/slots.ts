import { monotonicMs } from '../clock.js'
import type { Outcome } from '../job/outcome.js'
import { Attempt, type AttemptEvents, type ClaimedJob, type RunningAttempt } from './attempt.js'

export interface SlotsEvents {
  ended(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void
  overran(job: ClaimedJob): void
  /** Its attempt is over, it was told to stop, and it goes on. */
  overrunning(job: ClaimedJob): void
  extendLease(lease: string, ms: number): Promise<boolean>
  /** There is room for another claim. */
  room(): void
}

export interface SlotsSettings {
  concurrency: number
  /** A job that waited this long for its slot goes back: another worker may be free. */
  longestWaitMs?: number
  /** How an attempt is made; by default inline. */
  begin?(job: ClaimedJob, events: AttemptEvents): RunningAttempt
  /** Whether jobs can be taken at all right now. */
  open?(): boolean
}

/** How long a job claimed ahead may expect to wait for its slot. */
const claimAheadMs = 50
const longestWaitMs = 1_000
/** A handler that was told to stop has this long before it is said to ignore it. */
const returnsWithinMs = 2_000
const mostAhead = 1_000
const watchEveryMs = 50
const told = Number.POSITIVE_INFINITY

/**
 * The places in which handlers run, and the short line of claimed jobs in front of them. When handlers take a
 * millisecond, claiming one job at a time would spend all time on round trips; when they take minutes, claiming ahead
 * would keep jobs from other workers. So the line is as long as what is measured to run within a moment.
 */
export class Slots {
  readonly #concurrency: number
  readonly #events: SlotsEvents
  readonly #settings: SlotsSettings
  readonly #running = new Set<RunningAttempt>()
  /** Inline handlers that go on after their attempt was given up, and when to say so. */
  readonly #overrunning = new Map<RunningAttempt, number>()
  #line: ClaimedJob[] = []
  #averageMs: number | undefined
  #watch: NodeJS.Timeout | undefined

  constructor(settings: SlotsSettings, events: SlotsEvents) {
    this.#settings = settings
    this.#concurrency = settings.concurrency
    this.#events = events
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#line.length
  }

  /** The types of handlers that ignore that they were told to stop, each as often as it does. */
  get overrunning(): string[] {
    return [...this.#overrunning].filter(([, tellAt]) => tellAt === told).map(([attempt]) => attempt.job.type.type)
  }

  /** How many jobs may be claimed now. Zero until it is worth a statement. */
  get room(): number {
    if (this.#settings.open?.() === false) return 0
    const held = this.#running.size + this.#line.length
    const ahead = this.#ahead()
    const room = this.#concurrency + ahead - held
    return held < this.#concurrency || room >= Math.max(1, ahead / 2) ? Math.max(0, room) : 0
  }

  add(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs) this.#line.push(job)
    this.#fill()
  }

  /** The leases are gone: what waits under them is forgotten, what runs is told. Returns how many jobs that were. */
  loseLeases(leases: ReadonlySet<string>): number {
    const before = this.#line.length + this.#running.size
    this.#line = this.#line.filter((job) => !leases.has(job.lease))
    for (const attempt of this.#running) {
      if (!leases.has(attempt.job.lease)) continue
      attempt.loseLease()
      this.#running.delete(attempt)
      this.#expectReturn(attempt)
    }
    this.#fill()
    return before - this.#line.length - this.#running.size
  }

  /** Gives back what waits in line; no attempt was begun. */
  handBackWaiting(): void {
    const line = this.#line
    this.#line = []
    for (const job of line) this.#events.ended(job, { kind: 'handed_back' }, null)
  }

  /** Gives back what is still running, without spending the attempts. */
  handBackRunning(): void {
    for (const attempt of [...this.#running]) attempt.handBack()
  }

  #ahead(): number {
    if (this.#averageMs === undefined) return 0
    return Math.min(mostAhead, Math.floor((this.#concurrency * claimAheadMs) / Math.max(this.#averageMs, 0.01)))
  }

  #fill(): void {
    let next = 0
    while (this.#running.size < this.#concurrency && next < this.#line.length) {
      const job = this.#line[next++] as ClaimedJob
      const attempt = this.#settings.begin?.(job, this.#attemptEvents) ?? new Attempt(job, this.#attemptEvents)
      this.#running.add(attempt)
      attempt.start()
    }
    if (next > 0) this.#line.splice(0, next)
    if (this.#running.size > 0 && this.#watch === undefined) this.#watchTime()
  }

  readonly #attemptEvents: AttemptEvents = {
    ended: (attempt, outcome) => this.#ended(attempt, outcome),
    overran: (attempt) => {
      this.#overrunning.delete(attempt)
      this.#events.overran(attempt.job)
    },
    extendLease: (attempt, ms) => this.#events.extendLease(attempt.job.lease, ms),
  }

  #ended(attempt: RunningAttempt, outcome: Outcome): void {
    this.#running.delete(attempt)
    if (attempt.startedAtMs !== null) {
      const took = monotonicMs() - attempt.startedAtMs
      this.#averageMs = this.#averageMs === undefined ? took : this.#averageMs + (took - this.#averageMs) * 0.05
    }
    this.#events.ended(attempt.job, outcome, attempt.startedAtMs)
    this.#fill()
    if (this.room > 0) this.#events.room()
  }

  /** One timer for all deadlines: a timer for each job would cost more than most jobs. */
  #watchTime(): void {
    this.#watch = setTimeout(() => {
      this.#watch = undefined
      const now = monotonicMs()
      for (const attempt of [...this.#running]) if (now >= attempt.deadlineMs) this.#timeOut(attempt)
      const first = this.#line[0]
      if (first && now - first.claimedAtMs > (this.#settings.longestWaitMs ?? longestWaitMs)) this.handBackWaiting()
      if (this.#sayWhatOverruns(now) || this.#running.size > 0) this.#watchTime()
    }, watchEveryMs)
  }

  #timeOut(attempt: RunningAttempt): void {
    attempt.timeOut()
    if (!this.#running.has(attempt)) this.#expectReturn(attempt)
  }

  #expectReturn(attempt: RunningAttempt): void {
    // An isolated one is ended for good after its grace time; an inline one can only be waited for.
    if (attempt instanceof Attempt) this.#overrunning.set(attempt, monotonicMs() + returnsWithinMs)
    if (this.#watch === undefined) this.#watchTime()
  }

  /** True while there may be more to say. */
  #sayWhatOverruns(now: number): boolean {
    let more = false
    for (const [attempt, tellAt] of this.#overrunning) {
      if (now < tellAt) {
        more ||= tellAt !== told
        continue
      }
      this.#overrunning.set(attempt, told)
      this.#events.overrunning(attempt.job)
    }
    return more
  }
}
