import type { ClaimedJob } from '../job/claimed.js'
import { toMilliseconds } from '../job/duration.js'
import { type LogEntry, type LogLevel, logLine, progress } from '../job/log-entry.js'
import { decodePayload, encodePayload } from '../job/payload.js'
import { type JobInHand, type RunContext, Snooze } from '../job/run-context.js'

/** The attempt, as far as its handler may reach into it. */
export interface Reachable {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  /** Rejects with LeaseLostError where the attempt no longer holds the lease. */
  extendLease(ms: number): Promise<void>
  log(entry: LogEntry): void
  /** Rejects with LeaseLostError where the attempt no longer holds the lease. */
  saveCheckpoint(json: string): Promise<void>
  readCheckpoint(): Promise<string | null>
}

/**
 * One is made for every attempt and most handlers look at little of it. So what costs something is made when it is asked
 * for, by getters that stand on the class: a getter on each object would cost more than all the rest of a short attempt.
 */
export class AttemptContext implements RunContext {
  readonly job: JobInHand
  readonly #attempt: Reachable

  constructor(attempt: Reachable) {
    const { id, type, priority, attempt: number, maxAttempts, createdAtMs } = attempt.job
    this.job = { id, type: type.type, priority, attempt: number, maxAttempts, createdAt: new Date(createdAtMs) }
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get fence(): bigint {
    return BigInt(this.#attempt.job.lease)
  }

  // Functions that need no `this`, because handlers take them out of the context by name.

  get extendLease(): RunContext['extendLease'] {
    return async (duration) => this.#attempt.extendLease(toMilliseconds(duration, 'the duration given to extendLease'))
  }

  get progress(): RunContext['progress'] {
    return (fraction, note) => this.#attempt.log(progress(fraction, note))
  }

  get log(): RunContext['log'] {
    const at = (level: LogLevel) => (line: string) => this.#attempt.log(logLine(line, level))
    return Object.assign(at('info'), { info: at('info'), warn: at('warn'), error: at('error') })
  }

  get checkpoint(): RunContext['checkpoint'] {
    return async (value) => this.#attempt.saveCheckpoint(encodePayload(value, 'checkpoint'))
  }

  get lastCheckpoint(): RunContext['lastCheckpoint'] {
    return async () => {
      const json = await this.#attempt.readCheckpoint()
      return json === null ? undefined : decodePayload(json)
    }
  }

  get snooze(): RunContext['snooze'] {
    return (duration) => new Snooze(toMilliseconds(duration, 'the duration given to snooze'))
  }

  get stop(): RunContext['stop'] {
    return (duration, what) => new Snooze(toMilliseconds(duration, 'the duration given to stop'), what)
  }
}
