import { EventEmitter } from 'node:events'
import type { Monitor } from '../background/background.js'
import { monotonicMs } from '../clock.js'
import type { WorkerEvent, WorkerEvents } from '../events.js'
import type { ClaimedJob } from '../job/claimed.js'
import { describeFailure } from '../job/failure.js'
import type { Meter } from '../metrics/meter.js'
import type { Otherwise, Settling } from '../settle/settler.js'
import type { TroubleRow } from '../store/alert-store.js'
import type { DutyRow } from '../store/duty-rows.js'
import { explained, isConnectionTrouble } from '../store/sqlstate.js'
import { isNeed, type Need, type Pulse } from './health.js'
import type { Hooks } from './hooks.js'
import type { Logger } from './logger.js'

/** What is worth a line, and how loud. Thousands of jobs a second complete, so that is said only to a log that wants it. */
const logged: Partial<Record<WorkerEvent, 'debug' | 'info' | 'warn'>> = {
  'job.completed': 'debug',
  'job.failed': 'warn',
  'job.snoozed': 'debug',
  'job.cancelled': 'info',
  'job.handed_back': 'info',
  'job.dead': 'warn',
  'settle.late': 'warn',
  'job.overran': 'warn',
  'job.escaped': 'warn',
  'job.overrunning': 'warn',
  'job.quarantined': 'warn',
  'host.crashed': 'warn',
  'lease.lost': 'warn',
  'lease.rescued': 'warn',
  'drift.repaired': 'warn',
  'duty.failed': 'warn',
  'schedule.dropped': 'warn',
  'schedule.failed': 'warn',
  'database.away': 'warn',
  'database.back': 'info',
}

/** What is done for each need, as `duty.failed` calls it. */
const dutyOf: Record<Need, string> = { claims: 'claim', heartbeats: 'heartbeat', results: 'settle', duties: 'promote' }
/** The same failure is said again after this, and not with every try. */
const sayAgainMs = 60_000

/** Tells what happens in a worker: to the listeners of its events, to the log, and to its health. */
export class Report implements Monitor {
  readonly events: EventEmitter<WorkerEvents>
  readonly #log: Logger
  readonly #logsDebug: boolean
  readonly #pulse: Pulse
  readonly #meter: Meter
  readonly #hooks: Hooks | undefined
  /** What failed, and when that was last said. */
  readonly #failures = new Map<string, { error: string; saidAt: number }>()

  constructor(log: Logger, pulse: Pulse, meter: Meter, hooks?: Hooks, events = new EventEmitter<WorkerEvents>()) {
    this.events = events
    this.#hooks = hooks
    this.#log = log
    this.#logsDebug = log.debug !== undefined && (log.isLevelEnabled?.('debug') ?? true)
    this.#pulse = pulse
    this.#meter = meter
  }

  tell<Name extends WorkerEvent>(name: Name, event: WorkerEvents[Name][0]): void {
    const level = logged[name]
    if (level && (level !== 'debug' || this.#logsDebug)) this.#log[level]?.(event, name)
    try {
      if (this.events.listenerCount(name) > 0) this.events.emit(name, ...([event] as never))
    } catch (error) {
      // A listener is a spectator: its failure must not become that of a job, a settlement or the heartbeat.
      this.#log.error({ event: name, error: describeFailure(error).message }, 'a listener of this worker threw')
    }
    this.#hooks?.call(name, event)
  }

  /** Whether it is worth telling. */
  hears(name: WorkerEvent): boolean {
    return (
      this.events.listenerCount(name) > 0 || this.#hooks?.hear(name) === true || (logged[name] === 'debug' && this.#logsDebug)
    )
  }

  asking(what: string): void {
    if (isNeed(what)) this.#pulse.asking(what)
  }

  answered(what: string): void {
    if (isNeed(what)) this.#needAnswered(what)
    else this.#pulse.recovered(what)
  }

  failed(what: string, error: unknown): void {
    if (isNeed(what)) return this.#needFailed(what, error)
    this.#pulse.failing(what, textOf(error))
    this.#log.warn({ part: what, error: textOf(error) }, `the ${what} failed and tries again`)
  }

  gaveUp(what: string, error: unknown): void {
    this.#pulse.failing(what, textOf(error))
    this.#log.error({ part: what, error: textOf(error) }, `the ${what} failed`)
  }

  #needAnswered(need: Need): void {
    this.#failures.delete(dutyOf[need])
    const back = this.#pulse.answered(need)
    if (back) this.tell('database.back', back)
  }

  /** The database did not answer, which is said once until it does; or it refused, and that is another matter. */
  #needFailed(need: Need, error: unknown): void {
    if (typeof error !== 'string' && !isConnectionTrouble(error)) {
      const text = textOf(explained(error))
      this.#pulse.refused(need, text)
      this.#meter.duty({ duty: dutyOf[need], ms: 0, failures: 1 })
      this.#dutyFailed({ duty: dutyOf[need], error: text })
    } else if (this.#pulse.unanswered(need, textOf(error))) this.tell('database.away', { error: textOf(error) })
  }

  /** What is due was done, and so these duties went that had something to do. */
  dutiesDone(rows: readonly DutyRow[]): void {
    for (const { duty, ms, failed } of rows) {
      this.#meter.duty({ duty, ms, failures: failed.length })
      for (const one of failed) this.#dutyFailed({ duty, ...one })
    }
  }

  #dutyFailed(failure: WorkerEvents['duty.failed'][0]): void {
    const { duty, of, error } = failure
    const subject = of === undefined ? duty : `${duty} ${of}`
    const said = this.#failures.get(subject)
    if (said?.error === error && monotonicMs() - said.saidAt < sayAgainMs) return
    // A single job that was set aside is tried again after minutes, so it is not remembered; a duty as a whole fails with every tick.
    if (of === undefined) this.#failures.set(subject, { error, saidAt: monotonicMs() })
    this.tell('duty.failed', failure)
  }

  /** `lost`: it was not written as it ended, and why. */
  attemptEnded({ job, settlement, startedAtMs, endedAtMs }: Settling, lost: Otherwise | undefined): void {
    if (lost === 'lost') return this.late(job)
    const about = { job: job.id, type: job.type.type, attempt: job.attempt }
    const ms = startedAtMs === null ? 0 : endedAtMs - startedAtMs
    if (lost === 'cancelled') return this.tell('job.cancelled', { ...about, ms })
    if (lost === 'ended') return this.tell('job.dead', { ...about, reason: 'fatal', error: wentRound(settlement.move) })
    const error = settlement.failure?.message ?? ''
    if (settlement.fellBack) {
      this.#log.warn({ type: about.type, problem: settlement.fellBack }, 'the type has a backoff that cannot be used')
    }
    switch (settlement.move) {
      case 'complete':
        return this.tell('job.completed', { ...about, ms })
      case 'retry':
        return this.tell('job.failed', { ...about, ms, retryInMs: settlement.delayMs ?? 0, error })
      case 'exhaust':
        return this.tell('job.dead', { ...about, reason: 'exhausted', error })
      case 'die':
        return this.tell('job.dead', { ...about, reason: 'fatal', error })
      case 'poison':
        return this.tell('job.dead', { ...about, reason: 'poison', error })
      case 'snooze':
        return this.tell('job.snoozed', { ...about, delayMs: settlement.delayMs ?? 0 })
      case 'hand_back':
        return this.tell('job.handed_back', about)
    }
  }

  /** A handler came to its end after its attempt had ended without it. */
  overran(job: ClaimedJob, leaseLost: boolean): void {
    if (leaseLost) this.late(job)
    else this.tell('job.overran', { job: job.id, type: job.type.type, attempt: job.attempt })
  }

  /** A result came after its lease was gone. */
  late({ id: job, type: { type } }: ClaimedJob): void {
    this.#meter.cameLate(type)
    this.tell('settle.late', { job, type })
  }

  /** A rule found trouble, or it is over. */
  alert(trouble: TroubleRow): void {
    this.#log[trouble.state === 'firing' ? 'warn' : 'info'](trouble, 'alert')
  }

  partitionDropped(day: string): void {
    this.#log.info({ day }, 'an old day was dropped')
  }

  resultRefused(job: string, error: unknown): void {
    this.#log.error({ job, error: textOf(error) }, 'a result cannot be written')
  }
}

function wentRound(move: string): string {
  return move === 'snooze'
    ? 'its handler has put it off as often as the setting max_snoozes allows'
    : 'workers have handed it back as often as the setting max_hand_backs allows'
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message || String((error as { code?: unknown }).code ?? error.name) : String(error)
}
