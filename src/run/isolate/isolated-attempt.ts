import { monotonicMs } from '../../clock.js'
import type { ClaimedJob } from '../../job/claimed.js'
import type { Failure } from '../../job/failure.js'
import type { Outcome } from '../../job/outcome.js'
import type { AttemptEvents, RunningAttempt } from '../attempt.js'
import { type AttemptServices, callService } from '../services.js'
import { outcomeOf, outOfMemory } from './ending.js'
import { type Host, HostBroken } from './host.js'
import type { HostPool } from './host-pool.js'
import type { GiveUp, HostEnd } from './messages.js'

export interface IsolatedSettings {
  kind: 'thread' | 'process'
  memoryMb: number | null
  graceMs: number
  /** The hosts of this type. */
  pool: HostPool
  /** Processes that run one job and end: for a job that has crashed its host before, or whose supervisor died while several jobs ran in it. */
  quarantine: HostPool
}

/**
 * One try at one job in a thread or process. An attempt that is given up has its signal fire, and after the grace time its host is killed.
 * It ends when nothing of it runs any more, so its slot is free only when the work has truly stopped.
 */
export class IsolatedAttempt implements RunningAttempt {
  readonly job: ClaimedJob
  startedAtMs: number | null = null
  /** Set when the handler starts: the time its host takes to start does not count. */
  deadlineMs = Number.POSITIVE_INFINITY
  readonly #settings: IsolatedSettings
  readonly #services: AttemptServices
  readonly #events: AttemptEvents
  #host: Host | undefined
  #givenUp: { outcome: Outcome | null } | undefined
  #ended = false
  #grace: NodeJS.Timeout | undefined

  constructor(job: ClaimedJob, settings: IsolatedSettings, services: AttemptServices, events: AttemptEvents) {
    this.job = job
    this.#settings = settings
    this.#services = services
    this.#events = events
  }

  start(): void {
    void this.#perform()
  }

  timeOut(): void {
    const message = `the attempt took longer than its timeout of ${this.job.type.timeoutMs} ms`
    this.#giveUp('timed_out', { kind: 'timed_out', failure: { name: 'TimeoutError', message } })
  }

  handBack(): void {
    this.#giveUp('handed_back', { kind: 'handed_back' })
  }

  /** The job has ended as cancelled already; the attempt ends when its handler has, and frees its slot. */
  cancel(): void {
    this.#giveUp('cancelled', { kind: 'handed_back' })
  }

  loseLease(): void {
    this.#giveUp('lease_lost', null)
  }

  async #perform(): Promise<void> {
    const { pool, quarantine } = this.#settings
    const alone = pool === quarantine
    // The slots start attempts in a loop and rely on none of them ending inside of start().
    await Promise.resolve()
    if (this.#ended) return
    // The hosts of this type die one after the other, so the job is handed back: another worker may be able to run it.
    if (pool.restMs > 0) return this.#end({ kind: 'handed_back' })
    let end = await this.#runIn(pool, alone || this.#settings.kind === 'process')
    if (end === 'again') end = await this.#runIn(quarantine, true)
    clearTimeout(this.#grace)
    if (this.#ended) return
    if (this.#givenUp === undefined) return this.#end(end as Outcome)
    if (this.#givenUp.outcome) this.#end(this.#givenUp.outcome)
  }

  /** One run. `again`: the supervisor died while several jobs ran in it, so the job runs once more alone, to find out which of them did it. */
  async #runIn(pool: HostPool, alone: boolean): Promise<Outcome | 'again'> {
    let host: Host
    try {
      host = await pool.take()
    } catch (error) {
      // What has no start counts as never tried and is not recorded; this uses up an attempt.
      this.startedAtMs ??= monotonicMs()
      return { kind: 'failed', failure: this.#notStarted(error), fatal: false }
    }
    if (this.#givenUp) {
      pool.giveBack(host, true)
      return { kind: 'handed_back' }
    }
    this.#host = host
    this.startedAtMs ??= monotonicMs()
    this.deadlineMs = monotonicMs() + this.job.type.timeoutMs
    const { type, claimedAtMs: _, crashes: __, secrets: ___, ...job } = this.job
    const run = await host.run({ ...job, type: type.type }, (service, argument) =>
      callService(this.#services, this.job, service, argument),
    )
    this.#host = undefined
    if (run.kind === 'died') return this.#died(run.end, pool, alone)
    pool.giveBack(host, run.clean)
    if (run.kind === 'returned') return { kind: 'handed_back' }
    if (run.outcome.kind !== 'out_of_memory') return run.outcome
    return { kind: 'out_of_memory', failure: outOfMemory(run.outcome.failure.message, this.#settings.memoryMb) }
  }

  #died(end: HostEnd, pool: HostPool, alone: boolean): Outcome | 'again' {
    const kind = alone ? 'process' : this.#settings.kind
    const outcome = outcomeOf(end, { kind, memoryMb: this.#settings.memoryMb, alone })
    // The worker killed the host, after the grace time: that is no crash.
    if (this.#givenUp) return outcome
    if (end.how === 'supervisor_died') return 'again'
    if (outcome.kind === 'crashed') pool.crashed(outcome.failure.message)
    return outcome
  }

  #notStarted(error: unknown): Failure {
    const { name, message, ...rest } = error instanceof HostBroken ? error.failure : { name: 'Error', message: String(error) }
    return { ...rest, name, message: `no ${this.#settings.kind} for ${this.job.type.type} could be started: ${message}` }
  }

  #giveUp(why: GiveUp, outcome: Outcome | null): void {
    if (this.#givenUp || this.#ended) return
    this.#givenUp = { outcome }
    const host = this.#host
    // No handler has begun. The host that is starting will run the next job.
    if (!host) return outcome ? this.#end(outcome) : undefined
    host.giveUp(why)
    this.#grace = setTimeout(() => host.kill(), this.#settings.graceMs)
  }

  #end(outcome: Outcome): void {
    this.#ended = true
    this.#events.ended(this, outcome)
  }
}
