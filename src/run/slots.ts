import { monotonicMs } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Failure } from '../job/failure.js'
import type { Outcome } from '../job/outcome.js'
import { failureWithoutSecrets, withoutSecrets } from '../privacy/privacy.js'
import { type AttemptTrace, telemetry } from '../tracing/telemetry.js'
import { Attempt, type AttemptEvents, type RunningAttempt } from './attempt.js'
import { Line } from './line.js'
import { Overruns } from './overruns.js'
import { ClaimTime, Prefetch } from './prefetch.js'
import type { AttemptServices } from './services.js'
import type { Share, SharedSlots } from './shared-slots.js'
import { Strands } from './strands.js'

export interface SlotsEvents {
  /** It has a slot, and its attempt begins. */
  began(job: ClaimedJob): void
  ended(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void
  overran(job: ClaimedJob, leaseLost: boolean): void
  /** Its handler goes on although the attempt is over and its signal has fired. */
  overrunning(job: ClaimedJob): void
  escaped(job: ClaimedJob, failure: Failure): void
  /** A slot became free, so that another claim is worth a statement. */
  slotFree(): void
}

export type BeginAttempt = (job: ClaimedJob, services: AttemptServices, events: AttemptEvents) => RunningAttempt

export interface SlotsSettings {
  concurrency: number
  /** A job that has waited this long for a slot is handed back, because another worker may have a free one. */
  longestWaitMs?: number
  /** Makes an attempt; where it is left out, the handler runs inline. */
  begin?: BeginAttempt
  /** False while no job should be claimed for these slots. */
  open?(): boolean
  /** The slots are those of several workers of this process; `concurrency` of them in all. */
  shared?: SharedSlots | undefined
  /** How long the claims of the worker take; left out where nobody measures. */
  claimTime?: ClaimTime
}

const longestWaitMs = 1_000
const watchEveryMs = 50

const inline: BeginAttempt = (job, services, events) => new Attempt(job, services, events)

/**
 * The slots in which handlers run, and the line of claimed jobs that wait for one. Where handlers take a millisecond, a worker that claims
 * one job at a time spends its time on round trips; where they take minutes, one that prefetches keeps jobs from other workers. So the
 * line may be as long as Prefetch says, by how long handlers and claims take.
 */
export class Slots {
  /** Its part of slots that several workers of this process share. */
  readonly share: Share | undefined
  readonly #settings: SlotsSettings
  readonly #services: AttemptServices
  readonly #events: SlotsEvents
  readonly #attemptEvents: AttemptEvents
  readonly #running = new Set<RunningAttempt>()
  readonly #line = new Line<ClaimedJob>()
  readonly #overruns = new Overruns()
  readonly #strands: Strands
  /** Jobs that wait until another one of their key has ended, and those that need not wait any more. */
  readonly #parked = new Set<ClaimedJob>()
  readonly #resumed = new Line<ClaimedJob>()
  /** Empty where nobody traces. */
  readonly #traces = new Map<RunningAttempt, AttemptTrace>()
  readonly #prefetch: Prefetch
  #filling = false
  #watch: NodeJS.Timeout | undefined

  constructor(settings: SlotsSettings, services: AttemptServices, events: SlotsEvents, strands = new Strands()) {
    this.#settings = settings
    this.#services = services
    this.#events = events
    this.#strands = strands
    this.#prefetch = new Prefetch(settings.claimTime ?? new ClaimTime())
    this.share = settings.shared?.join({
      ready: () => this.#line.length + this.#resumed.length,
      fill: () => this.#fill(),
      offered: () => events.slotFree(),
    })
    this.#attemptEvents = {
      ended: (attempt, went) => {
        const outcome = attempt.job.secrets ? withoutSecrets(went, attempt.job.secrets) : went
        const trace = this.#traces.size > 0 ? this.#traces.get(attempt) : undefined
        if (!trace) return this.#ended(attempt, outcome)
        this.#traces.delete(attempt)
        trace.end(outcome, () => this.#ended(attempt, outcome))
      },
      overran: (attempt, leaseLost) => {
        // A handler that returned soon after its signal fired obeyed it: only its result comes too late, and nobody is told.
        const ignored = this.#overruns.returned(attempt)
        if (leaseLost || ignored) events.overran(attempt.job, leaseLost)
      },
      escaped: ({ job }, failure) => {
        events.escaped(job, job.secrets ? failureWithoutSecrets(failure, job.secrets) : failure)
      },
    }
  }

  get atOnce(): number {
    return this.#settings.concurrency
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#line.length + this.#resumed.length + this.#parked.size
  }

  /** How many jobs run one after the other within the moment that a prefetched one may wait. */
  get inARow(): number {
    return this.#prefetch.inARow
  }

  /** The types of handlers that ignore that they were told to stop, each as often as it does. */
  get overrunning(): string[] {
    return this.#overruns.types
  }

  /** How many jobs of one lane are held here, running or in line. */
  heldOf(lane: number): number {
    let held = this.#line.count((job) => job.lane === lane) + this.#resumed.count((job) => job.lane === lane)
    for (const job of this.#parked) if (job.lane === lane) held += 1
    for (const { job } of this.#running) if (job.lane === lane) held += 1
    return held
  }

  /** How many jobs may be claimed now: for the free slots, and to prefetch. Zero until that is worth a statement. */
  get claimable(): number {
    if (this.#settings.open?.() === false) return 0
    const atOnce = this.#running.size + this.#free
    const held = this.#running.size + this.waiting
    const prefetch = this.#prefetch.jobs(this.#settings.concurrency)
    const more = atOnce + prefetch - held
    return held < atOnce || more >= Math.max(1, prefetch / 2) ? Math.max(0, more) : 0
  }

  add(jobs: readonly ClaimedJob[]): void {
    this.#prefetch.came(jobs)
    if (jobs.some((job) => job.rated)) {
      this.#line.join(jobs.filter((job) => !job.rated))
      this.#line.jump(jobs.filter((job) => job.rated))
    } else this.#line.join(jobs)
    this.#fill()
  }

  /** Other workers may have the jobs of these leases: drops those that wait, and fires the signals of those that run. Returns how many they were. */
  loseLeases(leases: ReadonlySet<string>): number {
    let lost = this.#takeWaiting((job) => leases.has(job.lease)).length
    for (const attempt of this.#running) {
      if (!leases.has(attempt.job.lease)) continue
      attempt.loseLease()
      this.#running.delete(attempt)
      this.#strands.leave(attempt.job)
      this.#traces.get(attempt)?.lost()
      this.#traces.delete(attempt)
      this.#expectReturn(attempt)
      this.share?.give()
      lost += 1
    }
    this.#fill()
    if (this.claimable > 0) this.#events.slotFree()
    return lost
  }

  /** The jobs were cancelled: drops those that wait, and fires the signals of those that run, which keep their slots until they return. */
  cancel(jobs: ReadonlySet<string>): void {
    for (const job of this.#takeWaiting((job) => jobs.has(job.id))) this.#events.ended(job, { kind: 'handed_back' }, null)
    for (const attempt of [...this.#running]) if (jobs.has(attempt.job.id)) attempt.cancel()
  }

  /** Hands back jobs that wait for a slot. No attempt was begun. */
  handBackWaiting(which?: (job: ClaimedJob) => boolean): void {
    for (const job of this.#takeWaiting(which)) this.#events.ended(job, { kind: 'handed_back' }, null)
  }

  /** Hands back jobs that are running, without spending their attempts. */
  handBackRunning(): void {
    for (const attempt of [...this.#running]) attempt.handBack()
  }

  /** What resumed has its turn among those of its key already, and gives it to the next. */
  #takeWaiting(which: (job: ClaimedJob) => boolean = () => true): ClaimedJob[] {
    const parked = this.#strands.takeOut((job) => this.#parked.has(job) && which(job))
    for (const job of parked) this.#parked.delete(job)
    const resumed = this.#resumed.takeOut(which)
    for (const job of resumed) this.#strands.leave(job)
    return [...resumed, ...parked, ...this.#line.takeOut(which)]
  }

  #next(): ClaimedJob | undefined {
    const resumed = this.#resumed.takeFirst()
    if (resumed) return resumed
    for (;;) {
      const job = this.#line.takeFirst()
      if (job === undefined || !job.strand || this.#strands.enter(job, this.#resume)) return job
      this.#parked.add(job)
    }
  }

  readonly #resume = (job: ClaimedJob): void => {
    this.#parked.delete(job)
    this.#resumed.join([job])
    this.#fill()
  }

  /** How many more jobs may begin now. */
  get #free(): number {
    return this.share ? this.share.free : this.#settings.concurrency - this.#running.size
  }

  #fill(): void {
    // An attempt that cannot even begin ends inside of start(), and its end calls this again: the loop that is running takes the next job.
    if (this.#filling) return
    this.#filling = true
    while (this.#free > 0) {
      const job = this.#next()
      if (job === undefined) break
      this.share?.take()
      const trace = telemetry()?.attempt(job)
      const attempt = this.#begin(trace ? { ...job, traceparent: trace.traceparent } : job)
      this.#running.add(attempt)
      this.#events.began(job)
      if (trace) {
        this.#traces.set(attempt, trace)
        trace.run(() => attempt.start())
      } else attempt.start()
    }
    this.#filling = false
    if (this.#running.size > 0) this.#watchTime()
  }

  #begin(job: ClaimedJob): RunningAttempt {
    const begin = this.#settings.begin ?? inline
    return begin(job, this.#services, this.#attemptEvents)
  }

  #ended(attempt: RunningAttempt, outcome: Outcome): void {
    this.#running.delete(attempt)
    this.#strands.leave(attempt.job)
    if (attempt.startedAtMs !== null) {
      this.#prefetch.took(monotonicMs() - attempt.startedAtMs)
    }
    this.#events.ended(attempt.job, outcome, attempt.startedAtMs)
    this.share?.give()
    this.#fill()
    if (this.claimable > 0) this.#events.slotFree()
  }

  /** One timer for all deadlines: a timer for each job would cost more than most jobs. */
  #watchTime(): void {
    this.#watch ??= setTimeout(() => {
      this.#watch = undefined
      const now = monotonicMs()
      for (const attempt of [...this.#running]) if (now >= attempt.deadlineMs) this.#timeOut(attempt)
      const first = this.#longestWaiting()
      if (first?.rated && now - first.claimedAtMs > (this.#settings.longestWaitMs ?? Prefetch.soonMs)) {
        // A rate counts the job as started from its claim on, so that it must not wait here: it is handed back to its gate.
        this.handBackWaiting((job) => job.rated === true)
      } else if (first && now - first.claimedAtMs > (this.#settings.longestWaitMs ?? longestWaitMs)) {
        // Handlers take longer than was measured, so the line is emptied and the worker hardly prefetches until they are fast again.
        this.#prefetch.expect(longestWaitMs)
        this.handBackWaiting()
      }
      const more = this.#overruns.tell(now, ({ job }) => this.#events.overrunning(job))
      if (more || this.#running.size > 0) this.#watchTime()
    }, watchEveryMs)
  }

  #longestWaiting(): ClaimedJob | undefined {
    let first = this.#resumed.first ?? this.#line.first
    for (const job of this.#parked) if (first === undefined || job.claimedAtMs < first.claimedAtMs) first = job
    return first
  }

  #timeOut(attempt: RunningAttempt): void {
    attempt.timeOut()
    if (!this.#running.has(attempt)) this.#expectReturn(attempt)
  }

  /** Waits for the handler of an attempt that was given up. Only for inline ones: the host of an isolated one is killed after its grace time. */
  #expectReturn(attempt: RunningAttempt): void {
    if (attempt instanceof Attempt && attempt.startedAtMs !== null) this.#overruns.expect(attempt)
    this.#watchTime()
  }
}
