import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Lane, Lanes } from '../claim/lanes.js'
import { LeaseKeeper } from '../claim/lease-keeper.js'
import { ClaimLoop } from '../claim/loop.js'
import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { WorkerEvent, WorkerEvents } from '../events.js'
import { lanesFromEnvironment } from '../flow/lane-environment.js'
import type { Holdfast } from '../holdfast.js'
import type { Outcome } from '../job/outcome.js'
import type { AnyJobType } from '../job/type.js'
import type { ClaimedJob } from '../run/attempt.js'
import { Slots } from '../run/slots.js'
import { decide } from '../settle/decide.js'
import { Settler, type Settling } from '../settle/settler.js'
import { Listener } from '../store/listener.js'
import type { ClaimedRow, TypeRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { daysChore } from '../upkeep/days.js'
import { rescueChore } from '../upkeep/rescue.js'
import { Upkeep } from '../upkeep/upkeep.js'
import { type Health, Pulse } from './health.js'
import { defaultLogger, type Logger } from './logger.js'
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from './options.js'
import { guardProcess, stopOnSignals } from './process-guard.js'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

const deafPollMs = 200
const rescueEveryMs = 3_000
const writeRestWithinMs = 5_000

/** Starts a worker for these types. Resolves when it is registered and claiming. */
export async function startWorker(
  holdfast: Holdfast,
  types: readonly AnyJobType[],
  options: WorkerOptions = {},
): Promise<Worker> {
  const settings = readWorkerOptions(options)
  const handlers = handlersByName(types)
  const lanes = lanesFromEnvironment(process.env)
  try {
    for (const [lane, fields] of lanes) {
      await holdfast.flow.setLane(lane, fields, { by: 'the environment', create: true, unsafe: options.unsafe ?? false })
    }
    await holdfast.types.update(types)
    const known = await holdfast.store.types([...handlers.keys()])
    const name = settings.name ?? `${hostname()}:${process.pid}`
    const id = await holdfast.store.registerWorker({
      name,
      host: hostname(),
      pid: process.pid,
      version,
      types: known.map((row) => row.id),
    })
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
  readonly #slots: Slots
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
    const lanes = new Lanes(store, [...this.#types.keys()], settings.leaseMs, (ids) => this.#listener?.listenTo(ids))

    this.#slots = new Slots(settings.concurrency, {
      ended: (job, outcome, startedAtMs) => this.#settle(job, outcome, startedAtMs),
      overran: (job) => this.#tell('job.overran', { job: job.id, type: job.type.type, attempt: job.attempt }),
      extendLease: (lease, ms) => store.extendLease(id, lease, ms),
      room: () => this.#loop.wake.signal(),
    })
    this.#leases = new LeaseKeeper(
      { worker: id, intervalMs: Math.min(15_000, settings.leaseMs / 4), connection: store.database.clientConfig },
      {
        beat: () => this.#contact(),
        lost: (leases) => this.#loseLeases(leases),
        cancelled: (jobs) => this.#slots.cancel(new Set(jobs)),
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
      lanes,
      { worker: id, pollMs: { deaf: Math.min(deafPollMs, settings.pollMs), listening: settings.pollMs } },
      {
        room: (lane) => this.#room(lane),
        listening: () => this.#listener?.listening ?? false,
        claimed: (rows, lane) => this.#take(rows, lane),
        polled: () => this.#contact(),
        trouble: (error) => this.#trouble(text(error)),
      },
    )
    const own = { channel: `holdfast_worker_${id}`, onCall: () => this.#leases.beatNow() }
    this.#listener = settings.listen ? new Listener(store.database.clientConfig, own, () => this.#loop.called()) : undefined
    this.#upkeep = new Upkeep(
      [
        rescueChore(store, Math.min(rescueEveryMs, settings.leaseMs), (rows) => {
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
    const counts = { running: this.#slots.running, unwritten: this.#settler.unwritten }
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
    this.#slots.handBackWaiting()
    await this.#drained()
    this.#slots.handBackRunning()
    const written = await this.#settler.finish(writeRestWithinMs)
    if (!written) this.#log.error({ worker: this.id }, 'the database is away; the leases of the unwritten results will run out')
    await Promise.all([this.#leases.stop(), this.#listener?.stop()])
    await this.#store.stayAwake(this.id).catch(ignore)
    await this.#store.workerStopped(this.id).catch(ignore)
    this.#releaseProcess()
    this.#log.info({ worker: this.id }, 'worker stopped')
  }

  async #drained(): Promise<void> {
    const deadline = monotonicMs() + this.#settings.drainMs
    while (this.#slots.running > 0 && monotonicMs() < deadline) await sleep(20)
  }

  #room(lane: Lane | undefined): number {
    const { room } = this.#slots
    return lane ? Math.min(room, Math.max(0, lane.slots - this.#slots.heldOf(lane.reader.lane))) : room
  }

  #take(rows: readonly ClaimedRow[], lane: Lane): void {
    const claimedAtMs = monotonicMs()
    const lease = (rows[0] as ClaimedRow).lease
    this.#leases.hold(lease, rows.length, lane.leaseMs)
    this.#slots.add(
      rows.map((row) => ({
        id: row.id,
        lease,
        lane: lane.reader.lane,
        type: this.#types.get(row.type) as AnyJobType,
        priority: row.priority,
        attempt: row.attempt,
        maxAttempts: row.max ?? row.attempt,
        createdAt: row.created ?? new Date(0),
        payload: row.payload,
        claimedAtMs,
      })),
    )
  }

  #settle(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const settlement = decide(outcome, job, job.type.backoff, Math.random)
    const endedAtMs = monotonicMs()
    const { id: jobId, lease, attempt } = job
    const type = job.type.type
    this.#settler.add({ jobId, type, attempt, lease, settlement, startedAtMs, endedAtMs })
    if (settlement.fellBack) this.#log.warn({ type, problem: settlement.fellBack }, 'the type has a backoff that cannot be used')
  }

  /** Told once it is written: before that, a cancel may still be faster. */
  #tellEnd(
    { jobId: id, type, attempt, settlement, startedAtMs, endedAtMs }: Settling,
    lost: 'cancelled' | 'lost' | undefined,
  ): void {
    const ms = startedAtMs === null ? 0 : endedAtMs - startedAtMs
    const error = settlement.failure?.message ?? ''
    if (lost === 'cancelled') return this.#tell('job.cancelled', { job: id, type, attempt, ms })
    if (lost === 'lost') return this.#tell('settle.late', { job: id })
    switch (settlement.move) {
      case 'complete':
        return this.#tell('job.completed', { job: id, type, attempt, ms })
      case 'retry':
        return this.#tell('job.failed', { job: id, type, attempt, ms, retryInMs: settlement.delayMs ?? 0, error })
      case 'exhaust':
      case 'die':
        return this.#tell('job.dead', {
          job: id,
          type,
          attempt,
          reason: settlement.move === 'die' ? 'fatal' : 'exhausted',
          error,
        })
      case 'snooze':
        return this.#tell('job.snoozed', { job: id, type, attempt, delayMs: settlement.delayMs ?? 0 })
      case 'hand_back':
        return this.#tell('job.handed_back', { job: id, type, attempt })
    }
  }

  #settled(batch: readonly Settling[], lost: ReadonlyMap<string, 'cancelled' | 'lost'>, closed: readonly string[]): void {
    this.#contact()
    if (closed.length > 0) this.#leases.release(closed)
    for (const settling of batch) this.#tellEnd(settling, lost.get(settling.jobId))
    const delays = batch.map(({ settlement }) => settlement.delayMs).filter((delay) => delay !== null)
    if (delays.length > 0) this.#loop.dueIn(Math.min(...delays))
  }

  #loseLeases(leases: readonly string[]): void {
    const jobs = this.#slots.loseLeases(new Set(leases))
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
    try {
      if (this.events.listenerCount(name) > 0) this.events.emit(name, ...([event] as never))
    } catch (error) {
      // What is told here has been written; a listener's mistake must not make it look otherwise.
      this.#log.error({ event: name, error: text(error) }, 'a listener failed')
    }
    if (logged[name]) this.#log[logged[name]](event, name)
  }
}

/** What is worth a line. A failed attempt is in history; a dead job and a lost lease are news. */
const logged: Partial<Record<WorkerEvent, 'info' | 'warn'>> = {
  'job.dead': 'warn',
  'settle.late': 'warn',
  'job.overran': 'warn',
  'lease.lost': 'warn',
  'lease.rescued': 'warn',
  'database.away': 'warn',
  'database.back': 'info',
}

function handlersByName(types: readonly AnyJobType[]): Map<string, AnyJobType> {
  const handlers = new Map<string, AnyJobType>()
  for (const type of types) {
    if (handlers.has(type.type)) throw new HoldfastError('duplicate_handler', `two handlers were given for ${type.type}`)
    if (!type.run) throw new HoldfastError('missing_handler', `${type.type} has no run function, so no worker can run it`)
    handlers.set(type.type, type)
  }
  if (handlers.size === 0) throw new HoldfastError('missing_handler', 'the worker was given no job types')
  return handlers
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function ignore(): void {}
