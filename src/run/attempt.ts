import { AsyncLocalStorage } from 'node:async_hooks'
import { monotonicMs } from '../clock.js'
import { FatalError, HoldfastError, LeaseLostError, RetryableError } from '../errors.js'
import type { Crash } from '../job/crash.js'
import { toMilliseconds } from '../job/duration.js'
import { describeFailure } from '../job/failure.js'
import type { Outcome } from '../job/outcome.js'
import { decodePayload } from '../job/payload.js'
import { type RunContext, Snooze } from '../job/run-context.js'
import type { AnyJobType } from '../job/type.js'

/** A job in this worker's hands: claimed, under a lease. */
export interface ClaimedJob {
  readonly id: string
  readonly lease: string
  readonly type: AnyJobType
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly createdAt: Date
  readonly payload: string | null
  readonly claimedAtMs: number
  /** Every time a host died under it; left out where none did. */
  readonly crashes?: readonly Crash[]
}

/** One try at one job, wherever it runs. */
export interface RunningAttempt {
  readonly job: ClaimedJob
  /** Null: its handler has not begun. */
  readonly startedAtMs: number | null
  readonly deadlineMs: number
  start(): void
  /** Called again and again from the deadline on, until the attempt ends. */
  timeOut(): void
  handBack(): void
  loseLease(): void
}

export interface AttemptEvents {
  /** The attempt has ended, once, however many ways it tries to. */
  ended(attempt: RunningAttempt, outcome: Outcome): void
  /** A handler came to its end after its attempt had been ended without it. */
  overran(attempt: RunningAttempt): void
  extendLease(attempt: RunningAttempt, ms: number): Promise<boolean>
}

/** Which attempt the code that is running belongs to, through every await and timer it starts. */
const currentAttempt = new AsyncLocalStorage<Attempt>()

export function attemptInProgress(): Attempt | undefined {
  return currentAttempt.getStore()
}

/** One try at one job: begin, perform, end. Ends exactly once, by its handler or by whoever is faster. */
export class Attempt implements RunningAttempt {
  readonly job: ClaimedJob
  readonly startedAtMs: number = monotonicMs()
  readonly deadlineMs: number
  readonly #events: AttemptEvents
  #controller: AbortController | undefined
  #ended = false

  constructor(job: ClaimedJob, events: AttemptEvents) {
    this.job = job
    this.#events = events
    this.deadlineMs = this.startedAtMs + job.type.timeoutMs
  }

  /** Begins the handler. Never throws: whatever goes wrong is an outcome. */
  start(): void {
    void currentAttempt.run(this, () => this.#perform())
  }

  timeOut(): void {
    const timeout = this.job.type.timeoutMs
    const error = new Error(`the attempt took longer than its timeout of ${timeout} ms`)
    error.name = 'TimeoutError'
    this.#giveUp({ kind: 'timed_out', failure: { name: error.name, message: error.message } }, error)
  }

  /** Ends the attempt without spending it, so that another worker can take the job at once. */
  handBack(): void {
    const error = new Error('the worker is shutting down; the job is handed back')
    error.name = 'ShutdownError'
    this.#giveUp({ kind: 'handed_back' }, error)
  }

  /** The lease is gone. Nothing is left to settle; the handler is only told to stop. */
  loseLease(): void {
    this.#ended = true
    this.#controller?.abort(new LeaseLostError(this.job.id))
    this.#controller ??= aborted(new LeaseLostError(this.job.id))
  }

  /** Ends the attempt by an error that escaped its handler: a rejection nobody waited for, a throw in a timer. */
  fail(error: unknown): void {
    this.#giveUp({ kind: 'failed', failure: describeFailure(error), fatal: error instanceof FatalError }, error)
  }

  async #perform(): Promise<void> {
    let outcome: Outcome
    try {
      const payload = await this.#payload()
      const answer = await this.job.type.run?.(payload, this.#context())
      outcome = answer instanceof Snooze ? { kind: 'snoozed', delayMs: answer.delayMs } : { kind: 'completed' }
    } catch (error) {
      outcome = failed(error)
    }
    if (this.#ended) this.#events.overran(this)
    else this.#end(outcome)
  }

  async #payload(): Promise<unknown> {
    if (this.job.payload === null) throw new FatalError('the body of this job is missing from the database')
    const payload = decodePayload(this.job.payload)
    const { schema } = this.job.type
    if (!schema) return payload
    const checked = schema['~standard'].validate(payload)
    const result = checked instanceof Promise ? await checked : checked
    if (!result.issues) return result.value
    const problems = result.issues.map((issue) => issue.message).join('; ')
    throw new FatalError(`the payload does not fit today's schema of ${this.job.type.type}: ${problems}`)
  }

  #context(): RunContext {
    const attempt = this
    const { id, type, priority, attempt: number, maxAttempts, createdAt, lease } = this.job
    return {
      job: { id, type: type.type, priority, attempt: number, maxAttempts, createdAt },
      // Made when first asked for: most short handlers never look at it.
      get signal() {
        attempt.#controller ??= new AbortController()
        return attempt.#controller.signal
      },
      fence: BigInt(lease),
      async extendLease(duration) {
        const ms = toMilliseconds(duration, 'the duration given to extendLease')
        if (attempt.#ended || !(await attempt.#events.extendLease(attempt, ms))) throw new LeaseLostError(id)
      },
      snooze: (duration) => new Snooze(toMilliseconds(duration, 'the duration given to snooze')),
    }
  }

  #giveUp(outcome: Outcome, reason: unknown): void {
    if (this.#ended) return
    this.#end(outcome)
    if (this.#controller) this.#controller.abort(reason)
    else this.#controller = aborted(reason)
  }

  #end(outcome: Outcome): void {
    this.#ended = true
    this.#events.ended(this, outcome)
  }
}

function failed(error: unknown): Outcome {
  const failure = describeFailure(error)
  if (!(error instanceof RetryableError) || error.after === undefined) {
    return { kind: 'failed', failure, fatal: error instanceof FatalError }
  }
  try {
    return { kind: 'failed', failure, fatal: false, retryAfterMs: toMilliseconds(error.after, 'after') }
  } catch (problem) {
    if (!(problem instanceof HoldfastError)) throw problem
    return { kind: 'failed', failure: { ...failure, message: `${failure.message}\n(${problem.message})` }, fatal: false }
  }
}

function aborted(reason: unknown): AbortController {
  const controller = new AbortController()
  controller.abort(reason)
  return controller
}
