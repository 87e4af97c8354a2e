import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { LeaseKeeper } from '../claim/lease-keeper.js'
import { ClaimLoop } from '../claim/loop.js'
import { monotonicMs, sleep } from '../clock.js'
import type { WorkerEvent, WorkerEvents } from '../events.js'
import type { Holdfast } from '../holdfast.js'
import type { Outcome } from '../job/outcome.js'
import type { AnyJobType } from '../job/type.js'
import type { ClaimedJob } from '../run/attempt.js'
import { Places } from '../run/places.js'
import { mayBeSuspect, withCrashes } from '../run/suspects.js'
import { decide } from '../settle/decide.js'
import { Settler, type Settling } from '../settle/settler.js'
import { Listener } from '../store/listener.js'
import type { ClaimedRow, TypeRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { daysChore } from '../upkeep/days.js'
import { rescueChore } from '../upkeep/rescue.js'
import { Upkeep } from '../upkeep/upkeep.js'
import { collectHandlers } from './handlers.js'
import { countEach, type Health, Pulse } from './health.js'
import { defaultLogger, type Logger } from './logger.js'
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from './options.js'
import { guardProcess, stopOnSignals } from './process-guard.js'
import { readersFor } from './readers.js'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

const deafPollMs = 200
const rescueEveryMs = 3_000
const writeRestWithinMs = 5_000
/** An isolated handler that is handed back has its type's grace time, 10 minutes at most; then its host is ended. */
const longestGraceMs = 605_000

/** Starts a worker for these types, or for those a file exports. Resolves when it is registered and claiming. */
export async function startWorker(
  holdfast: Holdfast,
  source: readonly AnyJobType[] | URL | string,
  options: WorkerOptions = {},
): Promise<Worker> {
  const read = readWorkerOptions(options)
  const { handlers, module } = await collectHandlers(source, read.module)
  const settings = { ...read, module }
  try {
    await holdfast.types.update([...handlers.values()])
    const known = await holdfast.store.types([...handlers.keys()])
    const name = settings.name ?? `${hostname()}:${process.pid}`
    const id = await holdfast.store.registerWorker({ name, host: hostname(), pid: process.pid, version })
    return new Worker(holdfast.store, id, name, handlers, known, settings, options.logger ?? defaultLogger())
  } catch (error) {
    throw explained(error)
  }
}

/** The parts of a worker and how they are joined. Each part says in its own file what it does. */
export class Worker {
  readonly id: number
  readonly name: string
  readonly events = new EventEmitter<WorkerEvents>()
  readonly #store: Store
  readonly #settings: WorkerSettings
  readonly #log: Logger
  readonly #types: ReadonlyMap<number, AnyJobType>
  readonly #pulse = new Pulse()
  readonly #places: Places
  readonly #settler: Settler
  readonly #leases: LeaseKeeper
  readonly #loop: ClaimLoop
  readonly #listener: Listener | undefined
  readonly #upkeep: Upkeep
  readonly #releaseProcess: () => void
  #stopped: Promise<void> | undefined

  constructor(
    store: Store,
    id: number,
    name: string,
    handlers: ReadonlyMap<string, AnyJobType>,
    known: readonly TypeRow[],
    settings: WorkerSettings,
    log: Logger,
  ) {
    this.id = id
    this.name = name
    this.#store = store
    this.#settings = settings
    this.#log = log
    this.#types = new Map(known.map((row) => [row.id, handlers.get(row.name) as AnyJobType]))
    const lanes = [...new Set(known.map((row) => row.lane))]

    this.#places = new Places(settings, [...handlers.values()], {
      ended: (job, outcome, startedAtMs) => this.#settle(job, outcome, startedAtMs),
      overran: (job) => this.#tell('job.overran', { job: job.id, type: job.type.type, attempt: job.attempt }),
      overrunning: (job) => this.#tell('job.overrunning', { job: job.id, type: job.type.type, attempt: job.attempt }),
      quarantined: ({ id: job, type, attempt, crashes }) =>
        this.#tell('job.quarantined', { job, type: type.type, attempt, crashes: crashes?.length ?? 0 }),
      hostCrashed: (type, reason, inARow, restMs) => this.#tell('host.crashed', { type, reason, inARow, restMs }),
      extendLease: (lease, ms) => store.extendLease(id, lease, ms),
      room: () => this.#loop.wake.signal(),
    })
    this.#leases = new LeaseKeeper(
      { worker: id, intervalMs: Math.min(15_000, settings.leaseMs / 4), connection: store.database.clientConfig },
      {
        beat: () => this.#contact(),
        lost: (leases) => this.#loseLeases(leases),
        trouble: (message) => this.#trouble(message),
      },
    )
    this.#settler = new Settler(store, id, (lease) => this.#leases.ended(lease), {
      settled: (batch, lost, closed) => this.#settled(batch, lost, closed),
      trouble: (error) => this.#trouble(text(error)),
      refused: (settling, error) => log.error({ job: settling.jobId, error: text(error) }, 'a result cannot be written'),
    })
    this.#loop = new ClaimLoop(
      store,
      readersFor(store, this.#places, this.#types, known),
      {
        worker: id,
        leaseMs: settings.leaseMs,
        pollMs: { deaf: Math.min(deafPollMs, settings.pollMs), listening: settings.pollMs },
      },
      {
        listening: () => this.#listener?.listening ?? false,
        claimed: (rows) => this.#take(rows),
        polled: () => this.#contact(),
        trouble: (error) => this.#trouble(text(error)),
      },
    )
    this.#listener = settings.listen ? new Listener(store.database.clientConfig, lanes, () => this.#loop.called()) : undefined
    this.#upkeep = new Upkeep(
      [
        rescueChore(store, { everyMs: Math.min(rescueEveryMs, settings.leaseMs), crashes: settings.quarantineAfter }, (rows) => {
          for (const { id: job, type, attempt, worker, dead } of rows) {
            this.#tell('lease.rescued', { job, type, attempt, worker, dead })
          }
        }),
        daysChore(store, settings, (day) => this.#log.info({ day }, 'an old day was dropped')),
      ],
      (chore, error) => this.#log.warn({ chore, error: text(error) }, 'a chore failed and will come again'),
    )

    this.#releaseProcess = guardProcess()
    this.#leases.start()
    this.#listener?.start()
    this.#loop.start()
    this.#upkeep.start()
    if (settings.handleSignals) stopOnSignals(() => this.stop())
    this.#log.info({ worker: id, name, types: [...handlers.keys()], concurrency: settings.concurrency }, 'worker started')
  }

  /** Whether this worker truly works. */
  health(): Health {
    const { running, troubles, overrunning } = this.#places
    const counts = {
      running,
      unwritten: this.#settler.unwritten,
      ...(troubles.length > 0 && { crashing: troubles }),
      ...(overrunning.length > 0 && { overrunning: countEach(overrunning) }),
    }
    const pulse = this.#pulse.read()
    return this.#stopped ? { ...pulse, ...counts, status: 'stopping' } : { ...pulse, ...counts }
  }

  /**
   * Stops in good order: no new claims; what ends within the drain time is completed, heartbeats going on; the rest is
   * handed back without spending an attempt. Resolves when nothing of this worker runs any more.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#upkeep.stop()])
    this.#places.handBackWaiting()
    await this.#drained(this.#settings.drainMs)
    this.#places.handBackRunning()
    // Isolated handlers have their grace time, and then their hosts are ended; inline ones are let go at once.
    await this.#drained(longestGraceMs)
    await this.#places.stop()
    const written = await this.#settler.finish(writeRestWithinMs)
    if (!written) this.#log.error({ worker: this.id }, 'the database is away; the leases of the unwritten results will run out')
    await Promise.all([this.#leases.stop(), this.#listener?.stop()])
    await this.#store.stayAwake(this.id).catch(ignore)
    await this.#store.workerStopped(this.id).catch(ignore)
    this.#releaseProcess()
    this.#log.info({ worker: this.id }, 'worker stopped')
  }

  async #drained(withinMs: number): Promise<void> {
    const deadline = monotonicMs() + withinMs
    while (this.#places.running > 0 && monotonicMs() < deadline) await sleep(20)
  }

  async #take(rows: readonly ClaimedRow[]): Promise<void> {
    const claimedAtMs = monotonicMs()
    const lease = (rows[0] as ClaimedRow).lease
    this.#leases.hold(lease, rows.length, this.#settings.leaseMs)
    const jobs = rows.map(
      (row): ClaimedJob => ({
        id: row.id,
        lease,
        type: this.#types.get(row.type) as AnyJobType,
        priority: row.priority,
        attempt: row.attempt,
        maxAttempts: row.max ?? row.attempt,
        createdAt: row.created ?? new Date(0),
        payload: row.payload,
        claimedAtMs,
      }),
    )
    const retried = jobs.filter(mayBeSuspect)
    if (retried.length === 0) return this.#places.add(jobs)
    this.#places.add(jobs.filter((job) => !mayBeSuspect(job)))
    try {
      this.#places.add(await withCrashes(this.#store, retried))
    } catch (error) {
      this.#trouble(text(error))
      for (const job of retried) this.#settle(job, { kind: 'handed_back' }, null)
    }
  }

  #settle(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const settlement = decide(outcome, job, job.type.backoff, Math.random, this.#settings.quarantineAfter)
    const endedAtMs = monotonicMs()
    this.#settler.add({ jobId: job.id, lease: job.lease, settlement, startedAtMs, endedAtMs })
    const { id, attempt } = job
    const type = job.type.type
    const ms = startedAtMs === null ? 0 : endedAtMs - startedAtMs
    const error = settlement.failure?.message ?? ''
    if (settlement.fellBack) this.#log.warn({ type, problem: settlement.fellBack }, 'the type has a backoff that cannot be used')
    switch (settlement.move) {
      case 'complete':
        return this.#tell('job.completed', { job: id, type, attempt, ms })
      case 'retry':
        return this.#tell('job.failed', { job: id, type, attempt, ms, retryInMs: settlement.delayMs ?? 0, error })
      case 'exhaust':
      case 'die':
      case 'poison':
        return this.#tell('job.dead', { job: id, type, attempt, reason: reasonOf[settlement.move], error })
      case 'snooze':
        return this.#tell('job.snoozed', { job: id, type, attempt, delayMs: settlement.delayMs ?? 0 })
      case 'hand_back':
        return this.#tell('job.handed_back', { job: id, type, attempt })
    }
  }

  #settled(batch: readonly Settling[], lost: readonly string[], closed: readonly string[]): void {
    this.#contact()
    if (closed.length > 0) this.#leases.release(closed)
    for (const job of lost) this.#tell('settle.late', { job })
    const delays = batch.map(({ settlement }) => settlement.delayMs).filter((delay) => delay !== null)
    if (delays.length > 0) this.#loop.dueIn(Math.min(...delays))
  }

  #loseLeases(leases: readonly string[]): void {
    const jobs = this.#places.loseLeases(new Set(leases))
    this.#tell('lease.lost', { leases: leases.length, jobs })
  }

  #contact(): void {
    const back = this.#pulse.contact()
    if (back) this.#tell('database.back', back)
  }

  #trouble(error: string): void {
    if (this.#pulse.trouble(error)) this.#tell('database.away', { error })
  }

  #tell<Name extends WorkerEvent>(name: Name, event: WorkerEvents[Name][0]): void {
    if (this.events.listenerCount(name) > 0) this.events.emit(name, ...([event] as never))
    if (logged[name]) this.#log[logged[name]](event, name)
  }
}

/** What is worth a line. A failed attempt is in history; a dead job and a lost lease are news. */
const logged: Partial<Record<WorkerEvent, 'info' | 'warn'>> = {
  'job.dead': 'warn',
  'settle.late': 'warn',
  'job.overran': 'warn',
  'job.overrunning': 'warn',
  'job.quarantined': 'warn',
  'host.crashed': 'warn',
  'lease.lost': 'warn',
  'lease.rescued': 'warn',
  'database.away': 'warn',
  'database.back': 'info',
}

const reasonOf = { exhaust: 'exhausted', die: 'fatal', poison: 'poison' } as const

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function ignore(): void {}
