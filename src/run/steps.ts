import { AsyncLocalStorage } from 'node:async_hooks'
import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { decodePayload } from '../job/payload.js'
import { refused, refuseUnknown } from '../job/refused.js'
import {
  type StepInHand,
  type StepKind,
  type StepOptions,
  type StepPosition,
  type StepWait,
  type StoredStep,
  stepName,
} from '../job/steps.js'
import type { Reachable } from './context.js'
import { encodeStepResult, readStepOptions, runStep } from './step.js'

/** How long a step waits for those to be called that earlier attempts had called before it. Parallel branches do so within moments. */
const calledWithinMs = 5_000
/** What the answer of a sleep or wait is while it is not over. */
const open = Symbol('open')
/** The step whose function the code that is running belongs to, through every await. */
const insideOf = new AsyncLocalStorage<string>()
/** What a suspended handler awaits: nothing comes any more in this attempt. */
const never = () => new Promise<never>(() => {})

interface Call {
  name: string
  kind: StepKind
  after: number | null
}

/**
 * The steps of one attempt. What an earlier attempt stored is answered from there; what is new runs, and is stored before the handler goes on.
 * A sleep or a wait suspends the attempt once no step runs any more.
 */
export class Steps {
  readonly #attempt: Reachable
  readonly #times = new Map<string, number>()
  /** What earlier attempts have left and this one has not called yet. */
  readonly #uncalled = new Map<string, StoredStep>()
  #stored: Promise<ReadonlyMap<string, StoredStep>> | undefined
  /** Fires when a step is called, and is then replaced. */
  #called = new AbortController()
  #position = 0
  #completed = 0
  #failed = false
  /** The step that was called last. */
  #last: string | undefined
  #running = 0
  #suspended = false
  /** The sleeps and waits that are not over, and how long each still takes. */
  readonly #waits: { kind: StepKind; left: number | null }[] = []

  constructor(attempt: Reachable) {
    this.#attempt = attempt
  }

  step<Result>(name: string, run: (step: StepInHand) => Result | Promise<Result>, options?: StepOptions): Promise<Result> {
    return this.#perform('step', name, (_, step) => run(step), options)
  }

  once<Result>(
    name: string,
    run: (key: string, step: StepInHand) => Result | Promise<Result>,
    options?: StepOptions,
  ): Promise<Result> {
    return this.#perform('once', name, (call, step) => run(`${this.#attempt.job.id}:${call}`, step), options)
  }

  async sleep(duration: Duration, name: string): Promise<void> {
    await this.#wait('sleep', name, toMilliseconds(duration, 'the duration given to sleep'))
  }

  async waitFor(name: string, options: { timeout?: Duration }): Promise<unknown> {
    refuseUnknown(options, ['timeout'])
    const { timeout } = options
    const result = await this.#wait('signal', name, timeout === undefined ? null : toMilliseconds(timeout, 'timeout'))
    return result === null ? undefined : decodePayload(result)
  }

  /**
   * Rejects where the handler has come to its end and has not called the sleep or wait that the job stood in: with that, the deploy has taken
   * away what was to come behind it.
   */
  async finish(): Promise<void> {
    if (this.#failed || !(this.#stored || this.#attempt.job.waits)) return
    this.#stored ??= this.#read()
    await this.#stored
    const missing = [...this.#uncalled.values()].find(({ state, after }) => state === 'waiting' && after !== null)
    if (!missing) return
    const end = this.#last === undefined ? 'ended without any step' : `ended behind "${this.#last}"`
    throw changed(
      `"${missing.name}" is a ${waitNames[missing.kind]} that the job stood in, and this attempt ${end} and has not called it`,
    )
  }

  async #perform<Result>(
    kind: StepKind,
    given: string,
    run: (call: string, step: StepInHand) => Result | Promise<Result>,
    options?: StepOptions,
  ): Promise<Result> {
    const call = this.#call(given, kind)
    const settings = readStepOptions(call.name, options)
    return this.#during(async () => {
      const stored = await this.#arrive(call)
      // A step that returned nothing is one whose type says so.
      if (stored) return this.#complete((stored.result === null ? undefined : decodePayload(stored.result)) as Result)
      const within = (step: StepInHand) => insideOf.run(call.name, () => run(call.name, step))
      const value = await runStep(call.name, within, settings, this.#attempt.signal)
      const step = { ...this.#positionOf(call), result: encodeStepResult(call.name, value) }
      const { services, job } = this.#attempt
      await this.#attempt.asHolder(() => services.saveStep(job, step))
      return this.#complete(value)
    })
  }

  async #wait(kind: 'sleep' | 'signal', given: string, ms: number | null): Promise<string | null> {
    if (this.#attempt.job.type.chunk) throw inAChunk(kind)
    const call = this.#call(given, kind)
    return this.#during(async () => {
      const stored = await this.#arrive(call)
      if (stored?.state === 'completed') return this.#complete(stored.result)
      const step = { ...this.#positionOf(call, stored), ms }
      const { services, job } = this.#attempt
      let wait: StepWait | undefined
      await this.#attempt.asHolder(async () => {
        wait = await services.waitStep(job, step)
        return wait.held
      })
      if (wait?.state === 'completed') return this.#complete(wait.result)
      this.#waits.push({ kind, left: wait?.left ?? null })
      return open
    })
  }

  /** Names and counts the call before anything is awaited, so that the order is that of the handler. */
  #call(given: string, kind: StepKind): Call {
    const name = stepName(given, kind === 'signal' ? 'the name of the signal' : 'the name of the step')
    const around = insideOf.getStore()
    if (around !== undefined) throw nested(name, kind, around)
    const times = (this.#times.get(name) ?? 0) + 1
    this.#times.set(name, times)
    this.#last = times === 1 ? name : `${name}#${times}`
    return { name: this.#last, kind, after: this.#failed ? null : this.#completed }
  }

  #positionOf({ name, kind, after }: Call, stored?: StoredStep): StepPosition {
    if (!stored) this.#position += 1
    return { name, kind, after, position: stored?.position ?? this.#position, done: this.#completed + 1 }
  }

  #complete<Value>(value: Value): Value {
    this.#completed += 1
    return value
  }

  /** Runs one call to its end, or until it is known to wait. */
  async #during<Value>(run: () => Promise<Value | typeof open>): Promise<Value> {
    if (this.#suspended) return never()
    this.#running += 1
    let value: Value | typeof open
    try {
      value = await run()
    } catch (error) {
      if (this.#suspended) return never()
      this.#failed = true
      throw error
    } finally {
      this.#running -= 1
      // The handler may call another step with what it was just given; only then is it known that it waits.
      if (this.#running === 0 && this.#waits.length > 0) setImmediate(() => this.#suspend())
    }
    return value === open || this.#suspended ? never() : value
  }

  #suspend(): void {
    if (this.#running > 0 || this.#suspended) return
    this.#suspended = true
    const left = this.#waits.flatMap((wait) => wait.left ?? [])
    const delayMs = left.length === 0 ? null : Math.ceil(Math.min(...left))
    const blocked = delayMs === null || this.#waits.some(({ kind }) => kind === 'signal')
    this.#attempt.suspend(blocked ? { kind: 'blocked', delayMs } : { kind: 'snoozed', delayMs })
  }

  /** What earlier attempts stored for this call. Waits for the steps that came before it to be called, and refuses where they are not. */
  async #arrive(call: Call): Promise<StoredStep | undefined> {
    this.#stored ??= this.#read()
    const stored = (await this.#stored).get(call.name)
    this.#uncalled.delete(call.name)
    this.#called.abort()
    this.#called = new AbortController()
    if (stored && stored.kind !== call.kind) {
      throw changed(`"${call.name}" is called as a ${call.kind} and was stored as a ${stored.kind}`)
    }
    const giveUpAt = monotonicMs() + calledWithinMs
    for (;;) {
      const missing = [...this.#uncalled.values()].find((other) => comesBefore(other, call, stored))
      if (!missing) return stored
      const left = giveUpAt - monotonicMs()
      const which = stored ? 'was stored after' : 'is new, and was called before'
      if (left <= 0) throw changed(`"${call.name}" ${which} the stored step "${missing.name}", which this attempt has not called`)
      await sleep(left, { signal: this.#called.signal, unref: true })
    }
  }

  async #read(): Promise<ReadonlyMap<string, StoredStep>> {
    const { services, job } = this.#attempt
    const rows = await services.readSteps(job)
    for (const row of rows) {
      this.#uncalled.set(row.name, row)
      this.#position = Math.max(this.#position, row.position)
    }
    return new Map(rows.map((row) => [row.name, row]))
  }
}

const waitNames: Record<StepKind, string> = { sleep: 'sleep', signal: 'wait for a signal', step: 'step', once: 'step' }

/** Whether an attempt that does what the stored ones did has called `other` before this call, whichever of its branches is faster. */
function comesBefore(other: StoredStep, call: Call, stored: StoredStep | undefined): boolean {
  if (other.after === null || (stored ? stored.after : call.after) === null) return false
  if (stored) return other.done !== null && other.done <= (stored.after as number)
  return other.after <= (call.after as number)
}

function inAChunk(kind: 'sleep' | 'signal'): HoldfastError {
  const what = kind === 'sleep' ? 'sleep' : 'wait for a signal'
  const instead = 'return ctx.snooze(…) for it instead'
  return refused([], `a job of a chunk cannot ${what}, because its call goes on for the others; ${instead}`)
}

/** The next attempt is given the result of the outer one and never comes to the inner one; and nobody can sleep while a step is at work. */
function nested(name: string, kind: StepKind, around: string): HoldfastError {
  const what = { step: 'step', once: 'step', sleep: 'sleep', signal: 'wait for the signal' }[kind]
  const instead = 'call it before or after that, or beside it with Promise.all'
  return refused([], `the ${what} "${name}" is called inside of the step "${around}"; ${instead}`)
}

function changed(problem: string): HoldfastError {
  const help = 'the handler was changed under a job that had begun; deploy the steps it began with, or replay it with its payload'
  return new HoldfastError('step_changed', `step ${problem}: ${help}`)
}
