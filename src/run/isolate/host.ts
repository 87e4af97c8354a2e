import type { Failure } from '../../job/failure.js'
import type { Outcome } from '../../job/outcome.js'
import type { ServiceName } from '../services.js'
import type { FromHost, GiveUp, HostEnd, JobAcross, ToHost } from './messages.js'

/** How messages reach a thread or process. */
export interface Channel {
  send(message: ToHost): void
  kill(): void
}

export interface ChannelEvents {
  message(message: FromHost): void
  /** It is gone. Comes once. */
  ended(end: HostEnd): void
  /** Whether a job runs there now. */
  busy(): boolean
}

export type OpenChannel = (events: ChannelEvents) => Channel

/** Calls a service of the worker for the handler that runs in a host. */
export type CallService = (service: ServiceName, argument: unknown) => unknown

/** How a run in a host went: to its end, given up and then returned, or the host died first. */
export type RunEnd =
  | { kind: 'ended'; outcome: Outcome; clean: boolean }
  | { kind: 'returned'; clean: boolean }
  | { kind: 'died'; end: HostEnd }

/** The host could not load the handlers, or did not start at all. */
export class HostBroken extends Error {
  readonly failure: Failure
  /** The supervisor died while this host was starting, so another host may have killed it. */
  readonly fell: boolean

  constructor(failure: Failure, fell = false) {
    super(failure.message)
    this.failure = failure
    this.fell = fell
  }
}

const startWithinMs = 60_000

/** The worker's side of one thread or process that runs one job at a time. */
export class Host {
  /** Resolves when the handlers are loaded; rejects with HostBroken. */
  readonly ready: Promise<void>
  /** Resolves when it is gone. */
  readonly gone: Promise<void>
  jobs = 0
  memoryMb = 0
  readonly #channel: Channel
  #end: HostEnd | undefined
  #becomeReady!: () => void
  #break!: (broken: HostBroken) => void
  #go!: () => void
  #finish: ((end: RunEnd) => void) | undefined
  #callService: CallService | undefined

  constructor(open: OpenChannel) {
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve
      this.#break = reject
    })
    this.gone = new Promise((resolve) => {
      this.#go = resolve
    })
    this.ready.catch(() => {})
    this.#channel = open({
      message: (message) => this.#hear(message),
      ended: (end) => this.#die(end),
      busy: () => this.#finish !== undefined,
    })
    const late = setTimeout(() => {
      this.#break(new HostBroken({ name: 'HostFailed', message: `did not start within ${startWithinMs / 1_000} s` }))
      this.kill()
    }, startWithinMs)
    void this.ready.catch(() => {}).finally(() => clearTimeout(late))
  }

  get alive(): boolean {
    return this.#end === undefined
  }

  /** Runs one job. Never rejects: a host that dies is an answer too. */
  run(job: JobAcross, callService: CallService): Promise<RunEnd> {
    this.jobs += 1
    if (this.#end) return Promise.resolve({ kind: 'died', end: this.#end })
    this.#callService = callService
    return new Promise((resolve) => {
      this.#finish = (end) => {
        this.#finish = undefined
        resolve(end)
      }
      this.#channel.send({ kind: 'run', job })
    })
  }

  giveUp(why: GiveUp): void {
    this.#channel.send({ kind: 'giveUp', why })
  }

  kill(): void {
    if (this.alive) this.#channel.kill()
  }

  #hear(message: FromHost): void {
    switch (message.kind) {
      case 'ready':
        return this.#becomeReady()
      case 'broken':
        this.#break(new HostBroken(message.failure))
        return this.kill()
      case 'ended':
        this.memoryMb = message.memoryMb
        return this.#finish?.({ kind: 'ended', outcome: message.outcome, clean: message.clean })
      case 'returned':
        this.memoryMb = message.memoryMb
        return this.#finish?.({ kind: 'returned', clean: message.clean })
      case 'call':
        return void this.#answer(message)
    }
  }

  async #answer({ call, service, argument }: FromHost & { kind: 'call' }): Promise<void> {
    const answer: { value: unknown; problem?: string } = { value: null }
    try {
      answer.value = (await this.#callService?.(service, argument)) ?? null
    } catch (error) {
      answer.problem = error instanceof Error ? error.message : String(error)
    }
    if (call !== null) this.#channel.send({ kind: 'answer', call, ...answer })
  }

  #die(end: HostEnd): void {
    this.#end = end
    this.#break(new HostBroken(failureOf(end), end.how === 'supervisor_died'))
    this.#finish?.({ kind: 'died', end })
    this.#go()
  }
}

/** For a host that died before it was ready. */
function failureOf(end: HostEnd): Failure {
  switch (end.how) {
    case 'failed':
      return end.failure
    case 'supervisor_died':
      return failureOf(end.end)
    case 'out_of_memory':
      return { name: 'OutOfMemoryError', message: `out of memory while loading the handlers: ${end.detail}` }
    case 'exited':
      return { name: 'HostExited', message: `ended with exit code ${end.code} while loading the handlers` }
    case 'signalled':
      return { name: 'HostKilled', message: `was ended by ${end.signal} while loading the handlers` }
  }
}
