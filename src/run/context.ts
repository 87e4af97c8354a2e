import { HoldfastError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import { toMilliseconds } from '../job/duration.js'
import { type LogEntry, type LogLevel, logLine, progress } from '../job/log-entry.js'
import type { Outcome } from '../job/outcome.js'
import { decodePayload, encodePayload } from '../job/payload.js'
import { type CompleteWith, type JobInHand, type RunContext, Snooze } from '../job/run-context.js'
import type { Completion } from './completion.js'
import type { AttemptServices, TaskInHand } from './services.js'
import type { Steps } from './steps.js'

/** What the context uses of the attempt. */
export interface Reachable {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  readonly services: AttemptServices
  /** The end of the job in a transaction of the handler's. */
  readonly completion: Completion
  readonly steps: Steps
  /** What the handler logs from then on is dropped. */
  readonly ended: boolean
  /** Ends the attempt because its handler sleeps or waits; no attempt is spent. */
  suspend(outcome: Outcome): void
  /** Makes a call that is the lease holder's to make. Rejects where the attempt has ended, its job was cancelled, or the call says no. */
  asHolder(call: () => Promise<boolean>): Promise<void>
}

/**
 * What a handler gets as its second argument. The worker makes one for every attempt, and most handlers use little of it, so each part is
 * made when the handler reads it. The getters are on the class: on each object they would cost more than the rest of a short attempt.
 */
export class AttemptContext implements RunContext {
  readonly job: JobInHand
  readonly #attempt: Reachable
  #read: Promise<TaskInHand | null> | undefined

  constructor(attempt: Reachable) {
    const { id, type, priority, attempt: number, maxAttempts, createdAtMs } = attempt.job
    this.job = { id, type: type.type, priority, attempt: number, maxAttempts, createdAt: new Date(createdAtMs) }
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get scheduledFor(): Date | undefined {
    const { scheduledForMs } = this.#attempt.job
    return typeof scheduledForMs === 'number' ? new Date(scheduledForMs) : undefined
  }

  get fence(): bigint {
    return BigInt(this.#attempt.job.lease)
  }

  // Functions that need no `this`, because handlers take them out of the context by name.

  get extendLease(): RunContext['extendLease'] {
    return async (duration) => {
      const ms = toMilliseconds(duration, 'the duration given to extendLease')
      const { services, job } = this.#attempt
      await this.#attempt.asHolder(() => services.extendLease(job, ms))
    }
  }

  get progress(): RunContext['progress'] {
    return (fraction, note) => this.#log(progress(fraction, note))
  }

  get log(): RunContext['log'] {
    const at = (level: LogLevel) => (line: string) => this.#log(logLine(line, level))
    return Object.assign(at('info'), { info: at('info'), warn: at('warn'), error: at('error') })
  }

  get checkpoint(): RunContext['checkpoint'] {
    return async (value) => {
      const json = encodePayload(value, 'checkpoint')
      const { services, job } = this.#attempt
      await this.#attempt.asHolder(() => services.saveCheckpoint(job, json))
    }
  }

  get lastCheckpoint(): RunContext['lastCheckpoint'] {
    return async () => {
      const { services, job } = this.#attempt
      const json = await services.readCheckpoint(job)
      return json === null ? undefined : decodePayload(json)
    }
  }

  get completeWith(): RunContext['completeWith'] {
    return ((given: never, result: unknown) => this.#attempt.completion.with(given, result)) as CompleteWith
  }

  get step(): RunContext['step'] {
    const { steps } = this.#attempt
    return (name, run, options) => steps.step(name, run, options)
  }

  get once(): RunContext['once'] {
    const { steps } = this.#attempt
    return (name, run, options) => steps.once(name, run, options)
  }

  get sleep(): RunContext['sleep'] {
    const { steps } = this.#attempt
    return (duration, name = 'sleep') => steps.sleep(duration, name)
  }

  get waitFor(): RunContext['waitFor'] {
    const { steps } = this.#attempt
    return (name, options = {}) => steps.waitFor(name, options) as Promise<never>
  }

  get snooze(): RunContext['snooze'] {
    return (duration) => new Snooze(toMilliseconds(duration, 'the duration given to snooze'))
  }

  get stop(): RunContext['stop'] {
    return (duration, what) => new Snooze(toMilliseconds(duration, 'the duration given to stop'), what)
  }

  get parents(): RunContext['parents'] {
    return async () => {
      const { parents = {} } = (await this.#task()) ?? {}
      return Object.fromEntries(
        Object.entries(parents).map(([name, json]) => [name, json === null ? undefined : decodePayload(json)]),
      )
    }
  }

  get execution(): RunContext['execution'] {
    return async () => {
      const task = await this.#task()
      if (task === null) throw new HoldfastError('not_found', `job ${this.job.id} belongs to no execution`)
      const { execution, workflow, name, item, input } = task
      return { id: execution, workflow, task: name, item, input: decodePayload(input) }
    }
  }

  /** Read once: what the parents returned does not change any more. */
  #task(): Promise<TaskInHand | null> {
    const { services, job } = this.#attempt
    this.#read ??= services.readTask(job)
    return this.#read
  }

  #log(entry: LogEntry): void {
    const { ended, services, job } = this.#attempt
    if (!ended) services.log(job, entry)
  }
}
