import type { EventEmitter } from 'node:events'
import { LaneReader } from '../claim/lane-reader.js'
import { LeaseKeeper } from '../claim/lease-keeper.js'
import { ClaimLoop } from '../claim/loop.js'
import { monotonicMs, sleep } from '../clock.js'
import type { WorkerEvents } from '../events.js'
import type { Outcome } from '../job/outcome.js'
import type { AnyJobType } from '../job/type.js'
import type { ClaimedJob } from '../run/attempt.js'
import { Slots } from '../run/slots.js'
import { decide } from '../settle/decide.js'
import { Settler, type Settling } from '../settle/settler.js'
import { Listener } from '../store/listener.js'
import type { ClaimedRow, TypeRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { daysChore } from '../upkeep/days.js'
import { rescueChore } from '../upkeep/rescue.js'
import { sleepersChore } from '../upkeep/sleepers.js'
import { Upkeep } from '../upkeep/upkeep.js'
import { type Health, Pulse } from './health.js'
import type { Logger } from './logger.js'
import type { WorkerSettings } from './options.js'
import { guardProcess, stopOnSignals } from './process-guard.js'
import { Report } from './report.js'

const deafPollMs = 200
const rescueEveryMs = 3_000
const writeRestWithinMs = 5_000
/** With this many results waiting to be written, more work would only pile up in memory. */
const mostUnwritten = 10_000

/** The parts of a worker and how they are joined. Each part says in its own file what it does. */
export class Worker {
  readonly id: number
  readonly name: string
  readonly events: EventEmitter<WorkerEvents>
  readonly #store: Store
  readonly #settings: WorkerSettings
  readonly #log: Logger
  readonly #warnings: readonly string[]
  readonly #types: ReadonlyMap<number, AnyJobType>
  readonly #pulse: Pulse
  readonly #report: Report
  readonly #slots: Slots
  readonly #settler: Settler
  readonly #leases: LeaseKeeper
  readonly #loop: ClaimLoop
  readonly #listener: Listener | undefined
  readonly #upkeep: Upkeep
  readonly #releaseProcess: () => void
  readonly #releaseSignals: () => void
  #stopped: Promise<void> | undefined
  #heldBack = false
  #inAHurry = false

  constructor(
    store: Store,
    id: number,
    name: string,
    handlers: ReadonlyMap<string, AnyJobType>,
    known: readonly TypeRow[],
    settings: WorkerSettings,
    log: Logger,
    warnings: readonly string[],
  ) {
    this.id = id
    this.name = name
    this.#store = store
    this.#settings = settings
    this.#log = log
    this.#warnings = warnings
    this.#pulse = new Pulse(settings.unhealthyAfterMs)
    this.#report = new Report(log, this.#pulse)
    this.events = this.#report.events
    this.#types = new Map(known.map((row) => [row.id, handlers.get(row.name) as AnyJobType]))
    const lanes = [...new Set(known.map((row) => row.lane))]

    this.#slots = new Slots(settings.concurrency, {
      ended: (job, outcome, startedAtMs) => this.#settle(job, outcome, startedAtMs),
      overran: (job, leaseLost) => {
        if (leaseLost) this.#report.tell('settle.late', { job: job.id })
        else this.#report.tell('job.overran', { job: job.id, type: job.type.type, attempt: job.attempt })
      },
      escaped: (job, { message: error }) => {
        this.#report.tell('job.escaped', { job: job.id, type: job.type.type, attempt: job.attempt, error })
      },
      extendLease: (lease, ms) => store.extendLease(id, lease, ms),
      room: () => this.#loop.wake.signal(),
    })
    const patienceMs = Math.max(0, ...[...handlers.values()].map(({ timeoutMs }) => timeoutMs)) + settings.heartbeatMs
    this.#leases = new LeaseKeeper(
      { worker: id, intervalMs: settings.heartbeatMs, patienceMs, connection: store.database.clientConfig },
      {
        beat: () => this.#beat(),
        lost: (leases) => this.#loseLeases(leases),
        trouble: (message) => this.#report.trouble('heartbeats', message),
      },
    )
    this.#settler = new Settler(store, id, (lease) => this.#leases.ended(lease), {
      settled: (batch, lost) => this.#settled(batch, lost),
      finished: (leases) => this.#leases.release(leases),
      trouble: (error) => this.#report.trouble('results', error),
      refused: (settling, error) => {
        this.#report.answered('results')
        this.#report.resultRefused(settling.jobId, error)
      },
    })
    this.#loop = new ClaimLoop(
      store,
      lanes.map(
        (lane) =>
          new LaneReader(
            store,
            lane,
            known.filter((row) => row.lane === lane).map((row) => row.id),
          ),
      ),
      {
        worker: id,
        leaseMs: settings.leaseMs,
        pollMs: { deaf: Math.min(deafPollMs, settings.pollMs), listening: settings.pollMs },
      },
      {
        room: () => this.#room(),
        listening: () => this.#listener?.listening ?? false,
        claimed: (rows) => this.#take(rows),
        unheard: () => store.handBackUnheard(id, this.#leases.known),
        asking: () => this.#pulse.asking('claims'),
        answered: () => this.#report.answered('claims'),
        trouble: (error) => this.#report.trouble('claims', error),
      },
    )
    this.#listener = settings.listen
      ? new Listener(store.database.clientConfig, lanes, {
          called: () => this.#loop.called(),
          deaf: () => this.#loop.wake.signal(),
        })
      : undefined
    this.#upkeep = new Upkeep(
      [
        rescueChore(store, { everyMs: Math.min(rescueEveryMs, settings.leaseMs), leaseMs: settings.leaseMs }, (rows) => {
          for (const { id: job, type, attempt, worker, dead } of rows) {
            this.#report.tell('lease.rescued', { job, type, attempt, worker, dead })
          }
        }),
        sleepersChore(store),
        daysChore(store, settings, (day) => this.#log.info({ day }, 'an old day was dropped')),
      ],
      (chore, error) => this.#report.choreFailed(chore, error),
    )

    this.#pulse.asking('heartbeats')
    this.#leases.start()
    this.#releaseProcess = guardProcess()
    this.#listener?.start()
    this.#loop.start()
    this.#upkeep.start()
    this.#releaseSignals = settings.handleSignals ? stopOnSignals(() => this.stop()) : ignore
    this.#log.info({ worker: id, name, types: [...handlers.keys()], concurrency: settings.concurrency }, 'worker started')
    for (const warning of warnings) this.#log.warn({ worker: id }, warning)
  }

  /** Whether this worker truly works. */
  health(): Health {
    const counts = { running: this.#slots.running, unwritten: this.#settler.unwritten }
    const warnings = this.#warnings.length > 0 ? { warnings: this.#warnings } : {}
    const pulse = { ...this.#pulse.read(), ...counts, ...warnings }
    return this.#stopped ? { ...pulse, status: 'stopping' } : pulse
  }

  /**
   * Stops in good order: no new claims; what ends within the drain time is completed, heartbeats going on; the rest is
   * handed back without spending an attempt. Resolves when nothing of this worker runs any more.
   * With `now`, also while a stop is under way, the drain time is over.
   */
  stop({ now = false }: { now?: boolean } = {}): Promise<void> {
    this.#inAHurry ||= now
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    // A chore that the database leaves unanswered is not waited for: nothing depends on it.
    await Promise.all([this.#loop.stop(), Promise.race([this.#upkeep.stop(), sleep(writeRestWithinMs, { unref: true })])])
    this.#slots.handBackWaiting()
    await this.#drained()
    this.#slots.handBackRunning()
    const written = await this.#settler.finish(writeRestWithinMs)
    if (!written) this.#log.error({ worker: this.id }, 'the database is away; the leases of the unwritten results will run out')
    await Promise.all([this.#leases.stop(), this.#listener?.stop()])
    await Promise.race([this.#signOff(), sleep(writeRestWithinMs, { unref: true })])
    this.#releaseProcess()
    this.#releaseSignals()
    this.#log.info({ worker: this.id }, 'worker stopped')
  }

  /** Only good manners: a worker that does not sign off is found out by its silence. */
  async #signOff(): Promise<void> {
    await this.#store.stayAwake(this.id).catch(ignore)
    await this.#store.workerStopped(this.id).catch(ignore)
  }

  async #drained(): Promise<void> {
    const deadline = monotonicMs() + this.#settings.drainMs
    while (this.#slots.running > 0 && monotonicMs() < deadline && !this.#inAHurry) await sleep(20)
  }

  #room(): number {
    this.#heldBack = this.#settler.unwritten >= mostUnwritten
    return this.#heldBack ? 0 : this.#slots.room
  }

  #take(rows: readonly ClaimedRow[]): void {
    const claimedAtMs = monotonicMs()
    const lease = (rows[0] as ClaimedRow).lease
    this.#leases.hold(lease, rows.length, this.#settings.leaseMs)
    this.#slots.add(
      rows.map((row) => ({
        id: row.id,
        lease,
        type: this.#types.get(row.type) as AnyJobType,
        priority: row.priority,
        attempt: row.attempt,
        maxAttempts: row.max ?? row.attempt,
        createdAt: new Date(row.created ?? 0),
        payload: row.payload,
        claimedAtMs,
      })),
    )
  }

  #settle(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const settlement = decide(outcome, job, job.type.backoff, Math.random)
    const endedAtMs = monotonicMs()
    this.#settler.add({ jobId: job.id, lease: job.lease, settlement, startedAtMs, endedAtMs, closesLease: undefined })
    this.#pulse.asking('results')
    this.#report.attemptEnded(job, settlement, startedAtMs === null ? 0 : endedAtMs - startedAtMs)
  }

  #settled(batch: readonly Settling[], lost: readonly string[]): void {
    this.#report.answered('results')
    // Not before this batch is counted as written.
    if (this.#heldBack) setImmediate(() => this.#loop.wake.signal())
    this.#heldBack = false
    for (const job of lost) this.#report.tell('settle.late', { job })
    const delays = batch.map(({ settlement }) => settlement.delayMs).filter((delay) => delay !== null)
    if (delays.length > 0) this.#loop.dueIn(Math.min(...delays))
  }

  #loseLeases(leases: readonly string[]): void {
    const jobs = this.#slots.loseLeases(new Set(leases))
    this.#report.tell('lease.lost', { leases: leases.length, jobs })
  }

  #beat(): void {
    this.#report.answered('heartbeats')
    // Nobody asks for the next one; it is owed from now on.
    this.#pulse.asking('heartbeats')
  }
}

function ignore(): void {}
