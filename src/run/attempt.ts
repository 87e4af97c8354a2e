import { AsyncLocalStorage } from 'node:async_hooks'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { monotonicMs } from '../clock.js'
import { FatalError, JobCancelledError, LeaseLostError, RetryableError } from '../errors.js'
import { issuesOf, issuesText } from '../job/check-payload.js'
import type { ClaimedJob } from '../job/claimed.js'
import { toMilliseconds } from '../job/duration.js'
import { describeFailure, type Failure } from '../job/failure.js'
import type { Outcome } from '../job/outcome.js'
import { decodePayload } from '../job/payload.js'
import { completedWith } from '../job/result.js'
import { Snooze } from '../job/run-context.js'
import type { AnyJobType } from '../job/type.js'
import { Completion } from './completion.js'
import { AttemptContext } from './context.js'
import type { AttemptServices } from './services.js'
import { Steps } from './steps.js'

/** One try at one job, wherever it runs. */
export interface RunningAttempt {
  readonly job: ClaimedJob
  /** Null while its handler has not begun. */
  readonly startedAtMs: number | null
  readonly deadlineMs: number
  start(): void
  /** Called again and again from the deadline on, until the attempt ends. */
  timeOut(): void
  handBack(): void
  cancel(): void
  loseLease(): void
}

export interface AttemptEvents {
  /** The attempt has ended. Comes once, although the handler, the timeout and a shutdown may all want to end it. */
  ended(attempt: RunningAttempt, outcome: Outcome): void
  /** A handler came to its end after its attempt had been ended without it, or after its lease was lost. */
  overran(attempt: RunningAttempt, leaseLost: boolean): void
  /** Something the handler started has failed after its attempt had ended. */
  escaped(attempt: RunningAttempt, failure: Failure): void
}

/** What fails by an error that escapes: an attempt, or all of a call with several jobs. */
export interface Failable {
  fail(error: unknown): void
}

const completed: Outcome = { kind: 'completed' }

/** Which attempt the code that is running belongs to, through every await and timer it starts. */
const currentAttempt = new AsyncLocalStorage<Failable | undefined>()

export function attemptInProgress(): Failable | undefined {
  return currentAttempt.getStore()
}

/** Runs code that belongs to it, through every await and timer it starts. */
export function inNameOf<Answer>(owner: Failable, run: () => Answer): Answer {
  return currentAttempt.run(owner, run)
}

/** One try at one job in this process. It ends exactly once: by its handler, its timeout, a cancel, a lost lease or a shutdown, whichever is first. */
export class Attempt implements RunningAttempt, Failable {
  job: ClaimedJob
  startedAtMs: number | null
  deadlineMs: number
  readonly services: AttemptServices
  readonly #events: AttemptEvents
  #controller: AbortController | undefined
  #ended = false
  #leaseLost = false
  #cancelled = false
  #givenUp = false
  #completion: Completion | undefined
  #steps: Steps | undefined

  constructor(job: ClaimedJob, services: AttemptServices, events: AttemptEvents) {
    this.job = job
    this.services = services
    this.#events = events
    const now = monotonicMs()
    this.startedAtMs = now
    this.deadlineMs = now + job.type.timeoutMs
  }

  /** Made when the handler first reads it, because most short handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  get completion(): Completion {
    this.#completion ??= new Completion(this)
    return this.#completion
  }

  get steps(): Steps {
    this.#steps ??= new Steps(this)
    return this.#steps
  }

  /** Whether its handler called a step, or is to come to one again. */
  get usesSteps(): boolean {
    return this.#steps !== undefined || this.job.waits === true
  }

  get ended(): boolean {
    return this.#ended
  }

  async asHolder(call: () => Promise<boolean>): Promise<void> {
    if (this.#cancelled) throw new JobCancelledError(this.job.id)
    if (this.#ended || !(await call())) throw new LeaseLostError(this.job.id)
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

  suspend(outcome: Outcome): void {
    const error = new Error('the handler sleeps or waits for a signal; the job goes on in another attempt')
    error.name = 'SuspendedError'
    this.#giveUp(outcome, error)
  }

  /** The job has ended as cancelled. The attempt ends with its handler, as the job's slots are kept for as long as that runs. */
  cancel(): void {
    if (this.#ended || this.#cancelled) return
    this.#cancelled = true
    this.#abort(new JobCancelledError(this.job.id))
  }

  /** The lease is gone. Nothing is left to settle; the handler is only told to stop. */
  loseLease(): void {
    this.#ended = true
    this.#leaseLost = true
    this.#abort(new LeaseLostError(this.job.id))
  }

  /** Ends the attempt by an error that escaped its handler: a rejection nobody waited for, a throw in a timer. */
  fail(error: unknown): void {
    if (this.#ended) this.#events.escaped(this, describeFailure(error))
    else this.#giveUp(failed(error), error)
  }

  protected call(payload: unknown): unknown {
    return this.job.type.run?.(payload, new AttemptContext(this))
  }

  async #perform(): Promise<void> {
    let outcome: Outcome
    try {
      const read = this.#payload()
      const payload = read instanceof Promise ? await read : read
      const answer = await this.call(payload)
      outcome = answer === undefined ? completed : returned(answer, this.job.type)
      if (outcome.kind === 'completed' && this.usesSteps && !this.#ended) await this.steps.finish()
    } catch (error) {
      outcome = failed(error)
      if (this.#completion?.written) this.#events.escaped(this, describeFailure(error))
    }
    if (this.#completion && !this.#ended) outcome = await this.#completion.outcome(outcome)
    if (this.#ended) this.#events.overran(this, this.#leaseLost)
    else this.#end(outcome)
  }

  /** A promise only where the schema returns one, because one more promise for each job costs throughput at thousands of jobs a second. */
  #payload(): unknown {
    if (this.job.unreadable !== undefined) throw new FatalError(this.job.unreadable)
    if (this.job.payload === null) throw new FatalError('the body of this job is missing from the database')
    const payload = decodePayload(this.job.payload)
    const { version = 1, type } = this.job
    return version === type.version
      ? this.#checked(payload)
      : upToDate(payload, version, type).then((today) => this.#checked(today))
  }

  #checked(payload: unknown): unknown {
    const checked = this.job.type.schema?.['~standard'].validate(payload)
    if (checked === undefined) return payload
    return checked instanceof Promise ? checked.then((result) => this.#accepted(result)) : this.#accepted(checked)
  }

  #accepted(result: StandardSchemaV1.Result<unknown>): unknown {
    if (!result.issues) return result.value
    const problems = issuesText(issuesOf(result.issues, 'payload'))
    throw new FatalError(`the payload does not fit today's schema of ${this.job.type.type}: ${problems}`)
  }

  #giveUp(outcome: Outcome, reason: unknown): void {
    if (this.#ended || this.#givenUp) return
    if (this.#completion?.open) {
      // Not settled before its transaction has ended: the settle would wait for that, and with it the results of other jobs.
      this.#givenUp = true
      void this.#completion.outcome(outcome).then((became) => {
        if (!this.#ended) this.#end(became)
      })
    } else this.#end(this.#completion?.written ? { kind: 'completed', written: true } : outcome)
    this.#abort(reason)
  }

  /** Leaves the attempt's async context, so that a connection the worker opens from here does not count as the handler's. */
  #end(outcome: Outcome): void {
    this.#ended = true
    currentAttempt.run(undefined, () => this.#events.ended(this, outcome))
  }

  /** Stays in the attempt's async context, so that an error thrown by a listener of the signal counts as the handler's. */
  #abort(reason: unknown): void {
    this.#controller ??= new AbortController()
    currentAttempt.run(this, () => this.#controller?.abort(reason))
  }
}

/** What a payload of an older version is today. */
export async function upToDate(
  payload: unknown,
  version: number,
  { type, version: today, upcast }: AnyJobType,
): Promise<unknown> {
  let brought = payload
  for (let from = version; from < today; from++) {
    const next = upcast[from]
    if (!next) throw new FatalError(`the payload is of version ${from}, and the upcast of ${type} has no function for it`)
    brought = await next(brought as never)
  }
  return brought
}

function returned(answer: unknown, { maxResultBytes }: AnyJobType): Outcome {
  return answer instanceof Snooze ? snoozed(answer) : completedWith(answer, maxResultBytes)
}

function snoozed({ delayMs, stop }: Snooze): Outcome {
  return stop ? { kind: 'snoozed', delayMs, stop } : { kind: 'snoozed', delayMs }
}

function failed(error: unknown): Outcome {
  const failure = describeFailure(error)
  if (!isA(error, RetryableError)) return { kind: 'failed', failure, fatal: isA(error, FatalError) }
  try {
    const retryAfterMs = error.after === undefined ? {} : { retryAfterMs: toMilliseconds(error.after, 'after') }
    return { kind: 'failed', failure, fatal: false, ...retryAfterMs }
  } catch (problem) {
    const message = `${failure.message}\n(${describeFailure(problem).message})`
    return { kind: 'failed', failure: { ...failure, message }, fatal: false }
  }
}

/** Like instanceof, but false where the thrown value is a Proxy that throws when it is asked. */
function isA<Type>(thrown: unknown, type: new (...args: never[]) => Type): thrown is Type {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}
