import { EventEmitter } from 'node:events'
import { monotonicMs, sleep } from '../clock.js'
import type { WorkerEvents } from '../events.js'
import { refuseUnknown } from '../job/refused.js'
import type { Holdfasts } from '../members/holdfasts.js'
import { SlotShares } from '../run/shared-slots.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import type { Health } from './health.js'
import { defaultLogger, type Logger } from './logger.js'
import { readWorkerOptions, type WorkerOptions } from './options.js'
import { beginWorker, type HandlerSource } from './start.js'
import type { Worker } from './worker.js'

/** The events of a worker, each with the member that it is of. */
export type MemberWorkerEvents = { [Name in keyof WorkerEvents]: [WorkerEvents[Name][0] & { member: string }] }

/** The health of all members, and that of each. It is unhealthy where no member can be worked for. */
export interface WorkersHealth extends Health {
  members: Record<string, Health>
}

const pauseMs = { first: 500, most: 30_000 }
/** A member that neither refuses nor answers keeps the start of the others waiting for no longer than this. */
const startWithinMs = 10_000

/**
 * Starts a worker for several databases in one process. They share its slots: none is reserved for a member, and of those that have jobs none goes
 * without. A member that is away is tried again and again, by itself. Resolves when jobs of at least one are claimed.
 * @example
 * import { startWorkers } from 'holdfast/worker'
 *
 * const workers = await startWorkers(holdfasts, [sendEmail], { concurrency: 20, handleSignals: true })
 * workers.events.on('job.dead', ({ member, job, error }) => console.error(member, job, error))
 */
export async function startWorkers(holdfasts: Holdfasts, source: HandlerSource, options: WorkerOptions = {}): Promise<Workers> {
  readWorkerOptions(options)
  const workers = new Workers(holdfasts, source, options)
  await workers.begin()
  return workers
}

/** The workers of one process, one for each member. */
export class Workers {
  /** What happens to their jobs, their leases and their databases. */
  readonly events = new EventEmitter<MemberWorkerEvents>()
  readonly #holdfasts: Holdfasts
  readonly #source: HandlerSource
  readonly #options: WorkerOptions
  readonly #log: Logger
  readonly #shares = new SlotShares()
  readonly #workers = new Map<string, Worker>()
  /** Members whose worker has not started, and why. */
  readonly #missing = new Map<string, string>()
  readonly #starting = new Map<string, Promise<void>>()
  readonly #begunAt = monotonicMs()
  readonly #stop = new AbortController()
  #stopped: Promise<void> | undefined

  /** @internal */
  constructor(holdfasts: Holdfasts, source: HandlerSource, options: WorkerOptions) {
    this.#holdfasts = holdfasts
    this.#source = source
    this.#options = options
    this.#log = options.logger ?? defaultLogger()
  }

  /** @internal */
  async begin(): Promise<void> {
    const first = this.#holdfasts.names.map(async (name) => {
      this.#missing.set(name, 'it has not answered yet')
      const tried = this.#begin(name)
      this.#starting.set(name, this.#goOn(name, tried))
      await Promise.race([tried, sleep(startWithinMs, { unref: true })])
    })
    const failed = (await Promise.allSettled(first)).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    const refused = failed.find((error) => !isConnectionTrouble(error))
    if (refused === undefined && this.#workers.size > 0) return
    await this.stop({ now: true })
    throw refused ?? failed[0] ?? new Error('no member answered')
  }

  /** The worker of one member; undefined while it has not started. */
  member(name: string): Worker | undefined {
    this.#holdfasts.member(name)
    return this.#workers.get(name)
  }

  /** Whether the workers truly work, and which member does not. */
  health(): WorkersHealth {
    const members = Object.fromEntries(this.#holdfasts.names.map((name) => [name, this.#healthOf(name)]))
    const all = Object.entries(members)
    const sum = (of: (health: Health) => number) => all.reduce((total, [, health]) => total + of(health), 0)
    const troubles = all.flatMap(([name, { status, reason }]) => (status === 'unhealthy' ? [`${name}: ${reason}`] : []))
    const counts = {
      running: sum(({ running }) => running),
      unwritten: sum(({ unwritten }) => unwritten),
      lastContactMs: Math.min(...all.map(([, { lastContactMs }]) => lastContactMs)),
    }
    if (this.#stopped) return { status: 'stopping', ...counts, members }
    if (troubles.length === all.length) return { status: 'unhealthy', reason: troubles.join('; '), ...counts, members }
    return { status: 'ok', ...counts, ...(troubles.length > 0 && { warnings: troubles }), members }
  }

  /** Stops all of them in good order, as `stop` of a worker does. */
  async stop(options: { now?: boolean } = {}): Promise<void> {
    refuseUnknown(options, ['now'])
    this.#stop.abort()
    if (options.now) for (const worker of this.#workers.values()) void worker.stop(options)
    this.#stopped ??= this.#end(options)
    return this.#stopped
  }

  async #end(options: { now?: boolean }): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop(options)))
    // One that was on its way in found that the others stop, and has stopped too.
    await Promise.all(this.#starting.values())
  }

  #healthOf(name: string): Health {
    const worker = this.#workers.get(name)
    if (worker) return worker.health()
    const reason = this.#missing.get(name) ?? ''
    return { status: 'unhealthy', reason, running: 0, unwritten: 0, lastContactMs: Math.round(monotonicMs() - this.#begunAt) }
  }

  async #begin(name: string): Promise<void> {
    await this.#holdfasts.claimName(name)
    const worker = await beginWorker(
      this.#holdfasts.member(name),
      this.#source,
      { ...this.#options, logger: loggerOf(this.#log, name) },
      { shares: this.#shares, events: eventsOf(name, this.events) },
    )
    this.#workers.set(name, worker)
    this.#missing.delete(name)
    if (this.#stop.signal.aborted) await worker.stop({ now: true })
  }

  /** Tries again until it has started, each time after a longer pause; also where its schema has yet to be migrated. */
  async #goOn(name: string, tried: Promise<void>): Promise<void> {
    let attempt = tried
    for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
      try {
        return await attempt
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        this.#missing.set(name, `its worker could not start: ${reason}`)
        if (this.#stop.signal.aborted) return
        this.#log.warn({ member: name, error: reason }, 'the worker of a member could not start and tries again')
      }
      await sleep(pause * (0.5 + Math.random()), { signal: this.#stop.signal })
      if (this.#stop.signal.aborted) return
      attempt = this.#begin(name)
    }
  }
}

/** The events of one worker, told as those of all with its member. */
function eventsOf(member: string, all: EventEmitter<MemberWorkerEvents>): EventEmitter<WorkerEvents> {
  const own = new EventEmitter()
  const [tell, count] = [own.emit.bind(own), own.listenerCount.bind(own)]
  const others = all as EventEmitter
  own.emit = (name, event) => [tell(name, event), others.emit(name, { ...event, member })].includes(true)
  own.listenerCount = (name) => count(name) + others.listenerCount(name)
  return own as EventEmitter<WorkerEvents>
}

/** Each line says which member it is about. */
function loggerOf(log: Logger, member: string): Logger {
  const { debug, isLevelEnabled } = log
  return {
    info: (fields, message) => log.info({ ...fields, member }, message),
    warn: (fields, message) => log.warn({ ...fields, member }, message),
    error: (fields, message) => log.error({ ...fields, member }, message),
    ...(debug && { debug: (fields: object, message: string) => log.debug?.({ ...fields, member }, message) }),
    ...(isLevelEnabled && { isLevelEnabled: (level: string) => log.isLevelEnabled?.(level) ?? false }),
  }
}
