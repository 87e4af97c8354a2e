import { getHeapStatistics } from 'node:v8'
import { HoldfastError } from '../../errors.js'
import type { ClaimedJob } from '../../job/claimed.js'
import { describeFailure } from '../../job/failure.js'
import type { Outcome } from '../../job/outcome.js'
import { type AnyJobType, underEveryName } from '../../job/type.js'
import { telemetry } from '../../tracing/telemetry.js'
import { Attempt, attemptInProgress } from '../attempt.js'
import { type AttemptServices, type ServiceName, servicesAcross } from '../services.js'
import { loadModule } from './load-types.js'
import type { FromHost, GiveUp, JobAcross, ToHost } from './messages.js'

type Answer = ToHost & { kind: 'answer' }

export interface Port {
  send(message: FromHost): void
  listen(hear: (message: ToHost) => void): void
}

/** Known by name, because the handlers may load another copy of this package. */
const mark = Symbol.for('holdfast.host')

/** Whether this code runs where isolated handlers run. No worker may start there: it would start hosts of its own. */
export function insideHost(): boolean {
  return mark in globalThis
}

export function enterHost(): void {
  Object.defineProperty(globalThis, mark, { value: true })
}

/** The message of Node's error when the system gives a Buffer no memory; the error has no code. */
const noMemory = 'Array buffer allocation failed'

/** The inner side of a thread or process: loads the handlers and runs one attempt after the other, as the worker says. */
export async function serve(module: string, port: Port): Promise<void> {
  enterHost()
  const types = new Map<string, AnyJobType>()
  try {
    for (const type of (await loadModule(module)).types.flatMap(underEveryName)) types.set(type.type, type)
  } catch (error) {
    return port.send({ kind: 'broken', failure: describeFailure(error) })
  }
  new Host(types, port)
  port.send({ kind: 'ready' })
}

class Host {
  readonly #types: ReadonlyMap<string, AnyJobType>
  readonly #port: Port
  readonly #services: AttemptServices
  readonly #calls = new Map<number, (answer: Answer) => void>()
  #attempt: Attempt | undefined
  #givenUp = false
  #cancelled = false
  #clean = true
  #lastCall = 0

  constructor(types: ReadonlyMap<string, AnyJobType>, port: Port) {
    this.#types = types
    this.#port = port
    this.#services = servicesAcross(
      (service, argument) => this.#call(service, argument),
      (service, argument) => port.send({ kind: 'call', call: null, service, argument }),
    )
    port.listen((message) => this.#hear(message))
    process.on('unhandledRejection', (error) => this.#escaped(error))
    process.on('uncaughtException', (error) => this.#escaped(error))
  }

  #hear(message: ToHost): void {
    switch (message.kind) {
      case 'run':
        return this.#run(message.job)
      case 'giveUp':
        return this.#giveUp(message.why)
      case 'answer':
        this.#calls.get(message.call)?.(message)
        this.#calls.delete(message.call)
    }
  }

  #run(across: JobAcross): void {
    const type = this.#types.get(across.type)
    if (!type) {
      const failure = { name: 'HoldfastError', message: `the file has no handler for ${across.type}`, code: 'missing_handler' }
      return this.#tellEnd({ kind: 'failed', failure, fatal: false })
    }
    this.#givenUp = false
    this.#cancelled = false
    const job: ClaimedJob = { ...across, type, claimedAtMs: 0 }
    const attempt = new Attempt(job, this.#services, {
      // The worker settles an attempt that it gave up; it only waits to hear that the handler has returned.
      ended: (_, outcome) => this.#ended(outcome),
      overran: () => this.#givenUp && this.#tellReturn(),
      escaped: () => {
        this.#clean = false
      },
    })
    this.#attempt = attempt
    const traced = telemetry()
    if (traced) traced.inside(across.traceparent, () => attempt.start())
    else attempt.start()
  }

  #giveUp(why: GiveUp): void {
    this.#givenUp = true
    this.#cancelled = why === 'cancelled'
    if (why === 'timed_out') this.#attempt?.timeOut()
    else if (why === 'handed_back') this.#attempt?.handBack()
    else if (why === 'cancelled') this.#attempt?.cancel()
    else this.#attempt?.loseLease()
  }

  /** A cancelled attempt ends with its handler, the others end when they are given up and their handlers come later. */
  #ended(outcome: Outcome): void {
    if (!this.#givenUp) this.#tellEnd(outcome)
    else if (this.#cancelled) this.#tellReturn()
  }

  #tellReturn(): void {
    this.#port.send({ kind: 'returned', clean: this.#clean, memoryMb: usedMb() })
  }

  async #call(service: ServiceName, argument: unknown): Promise<unknown> {
    const call = ++this.#lastCall
    const answered = new Promise<Answer>((resolve) => this.#calls.set(call, resolve))
    this.#port.send({ kind: 'call', call, service, argument })
    const { value, problem } = await answered
    if (problem !== undefined) throw new HoldfastError('database_unavailable', problem)
    return value
  }

  /** A rejection or throw that no handler caught. It ends its attempt, and the host after it, because something of it may still run. */
  #escaped(error: unknown): void {
    this.#clean = false
    const attempt = attemptInProgress() ?? this.#attempt
    attempt?.fail(error)
  }

  #tellEnd(outcome: Outcome): void {
    const noRoom = outcome.kind === 'failed' && outcome.failure.message.startsWith(noMemory)
    const told: Outcome = noRoom ? { kind: 'out_of_memory', failure: outcome.failure } : outcome
    this.#port.send({ kind: 'ended', outcome: told, clean: this.#clean, memoryMb: usedMb() })
  }
}

function usedMb(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return (heap + external) / 1_048_576
}
