import type { EventEmitter } from 'node:events'
import { type Lane, Lanes } from '../claim/lanes.js'
import { LeaseKeeper } from '../claim/lease-keeper.js'
import { ClaimLoop } from '../claim/loop.js'
import { monotonicMs, sleep } from '../clock.js'
import type { WorkerEvents } from '../events.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import type { AnyJobType } from '../job/type.js'
import { Meter } from '../metrics/meter.js'
import { type Privacy, withResultEncrypted } from '../privacy/privacy.js'
import { SlotPools } from '../run/slot-pools.js'
import { mayBeSuspect, withCrashes } from '../run/suspects.js'
import { decide } from '../settle/decide.js'
import { LogWriter } from '../settle/log-writer.js'
import { Settler, type Settling } from '../settle/settler.js'
import { Listener, swallowedCalls } from '../store/listener.js'
import type { ClaimedRow, TypeRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { LeaseNews } from '../upkeep/rescue.js'
import { Upkeep } from '../upkeep/upkeep.js'
import { attemptServices } from './attempt-services.js'
import { choresOf } from './chores.js'
import { claimedJob } from './claimed-job.js'
import { groupsOf } from './groups.js'
import { countEach, type Health, inWords, Pulse } from './health.js'
import type { Logger } from './logger.js'
import type { WorkerSettings } from './options.js'
import { guardProcess, stopOnSignals } from './process-guard.js'
import { Report } from './report.js'

const notListeningPollMs = 200
const writeRestWithinMs = 5_000
/** With this many results waiting to be written, more work would only pile up in memory. */
const mostUnwritten = 10_000
/** An isolated handler that is handed back has its type's grace time, 10 minutes at most; then its host is ended. */
const longestGraceMs = 605_000

/** The parts of a worker and how they are joined. Each part says in its own file what it does. */
export class Worker {
  readonly id: number
  readonly name: string
  readonly events: EventEmitter<WorkerEvents>
  readonly #store: Store
  readonly #privacy: Privacy
  readonly #settings: WorkerSettings
  readonly #log: Logger
  readonly #warnings: readonly string[]
  readonly #types: ReadonlyMap<number, AnyJobType>
  readonly #pulse: Pulse
  readonly #report: Report
  readonly #meter = new Meter()
  readonly #pools: SlotPools
  readonly #logWriter: LogWriter
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
    privacy: Privacy,
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
    this.#privacy = privacy
    this.#settings = settings
    this.#log = log
    this.#warnings = warnings
    this.#pulse = new Pulse(settings.unhealthyAfterMs)
    this.#report = new Report(log, this.#pulse, this.#meter)
    this.events = this.#report.events
    this.#types = new Map(known.map((row) => [row.id, handlers.get(row.name) as AnyJobType]))
    this.#logWriter = new LogWriter(store.log, (error) => this.#report.logFailed(error))
    const services = attemptServices(store, id, privacy, this.#logWriter)
    this.#pools = new SlotPools(settings, [...handlers.values()], services, {
      ended: (job, outcome, startedAtMs) => this.#settle(job, outcome, startedAtMs),
      overran: (job, leaseLost) => this.#report.overran(job, leaseLost),
      overrunning: (job) => this.#report.tell('job.overrunning', { job: job.id, type: job.type.type, attempt: job.attempt }),
      escaped: (job, { message: error }) => {
        this.#report.tell('job.escaped', { job: job.id, type: job.type.type, attempt: job.attempt, error })
      },
      quarantined: ({ id: job, type, attempt, crashes }) =>
        this.#report.tell('job.quarantined', { job, type: type.type, attempt, crashes: crashes?.length ?? 0 }),
      hostCrashed: (type, reason, inARow, restMs) => this.#report.tell('host.crashed', { type, reason, inARow, restMs }),
      room: () => this.#loop.roomAgain(),
    })
    const { leaseMs } = settings
    const lanes = new Lanes(store, groupsOf(this.#types, this.#pools), leaseMs, (ids) => this.#listener?.listenTo(ids))
    const patienceMs = Math.max(0, ...[...handlers.values()].map(({ timeoutMs }) => timeoutMs)) + settings.heartbeatMs
    this.#leases = new LeaseKeeper(
      { worker: id, intervalMs: settings.heartbeatMs, leaseMs, patienceMs, ...store.database.forThread },
      {
        beat: () => this.#beat(),
        lost: (leases) => this.#loseLeases(leases),
        cancelled: (jobs) => this.#pools.cancel(new Set(jobs)),
        trouble: (message) => this.#report.trouble('heartbeats', message),
      },
    )
    this.#settler = new Settler(store, id, (lease) => this.#leases.ended(lease), {
      settling: (batch) => this.#logWriter.flush(batch),
      settled: (batch, lost) => this.#settled(batch, lost),
      finished: (leases) => this.#leases.release(leases),
      trouble: (error) => this.#report.trouble('results', error),
      refused: (settling, error) => {
        this.#report.answered('results')
        this.#report.resultRefused(settling.job.id, error)
      },
    })
    const news = new LeaseNews()
    this.#loop = new ClaimLoop(
      store,
      lanes,
      { worker: id, pollMs: { notListening: Math.min(notListeningPollMs, settings.pollMs), listening: settings.pollMs } },
      {
        room: (lane) => this.#room(lane),
        listening: () => this.#listener?.listening ?? false,
        claimed: (rows, lane) => this.#take(rows, lane),
        heardOfLeases: (expired, sharing) => news.heard(expired, sharing),
        unacknowledged: () => store.releaseUnacknowledged(id, this.#leases.known),
        asking: () => this.#pulse.asking('claims'),
        answered: () => {
          this.#report.answered('claims')
          this.#leases.looked()
        },
        trouble: (error) => this.#report.trouble('claims', error),
        dutiesAsked: () => this.#pulse.asking('duties'),
        dutiesDone: (duties) => this.#report.dutiesDone(duties),
        dutiesFailed: (error) => this.#report.trouble('duties', error),
      },
    )
    this.#listener = settings.listen
      ? new Listener(store.database, id, {
          notified: () => this.#loop.notified(),
          ordered: () => this.#leases.beatNow(),
          disconnected: () => this.#loop.wake.signal(),
          swallowed: () => this.#log.warn({ worker: id }, swallowedCalls),
        })
      : undefined
    this.#upkeep = new Upkeep(choresOf(store, settings, this.#meter, this.#report, news), (chore, error) =>
      this.#report.choreFailed(chore, error),
    )

    this.#pulse.asking('heartbeats')
    this.#leases.start()
    this.#releaseProcess = guardProcess()
    this.#listener?.start()
    this.#loop.start()
    this.#upkeep.start()
    this.#releaseSignals = settings.handleSignals ? stopOnSignals(() => this.stop()) : ignore
    this.#log.info(
      { worker: id, workerName: name, types: [...handlers.keys()], concurrency: settings.concurrency },
      'worker started',
    )
    for (const warning of warnings) this.#log.warn({ worker: id }, warning)
  }

  /** Whether this worker truly works. */
  health(): Health {
    const { running, troubles, overrunning } = this.#pools
    const swallowed = this.#listener?.swallowed ? [swallowedCalls] : []
    const warnings = [...this.#warnings, ...swallowed, ...this.#upkeep.failing.map(inWords)]
    const counts = {
      running,
      unwritten: this.#settler.unwritten,
      ...(troubles.length > 0 && { crashing: troubles }),
      ...(overrunning.length > 0 && { overrunning: countEach(overrunning) }),
      ...(warnings.length > 0 && { warnings }),
    }
    const pulse = this.#pulse.read()
    return this.#stopped ? { ...pulse, ...counts, status: 'stopping' } : { ...pulse, ...counts }
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
    this.#log.info({ worker: this.id, running: this.#pools.running, drainMs: this.#settings.drainMs }, 'worker stopping')
    // A chore that the database leaves unanswered is not waited for: nothing depends on it.
    await Promise.all([this.#loop.stop(), Promise.race([this.#upkeep.stop(), sleep(writeRestWithinMs, { unref: true })])])
    this.#pools.handBackWaiting()
    await this.#drained(this.#settings.drainMs)
    this.#pools.handBackRunning()
    // Isolated handlers have their grace time, and then their hosts are ended; inline ones are let go at once.
    await this.#drained(longestGraceMs)
    await this.#pools.stop()
    const written = await this.#settler.finish(writeRestWithinMs)
    if (!written) this.#log.error({ worker: this.id }, 'the database is away; the leases of the unwritten results will run out')
    await Promise.all([this.#logWriter.stop(writeRestWithinMs), this.#leases.stop(), this.#listener?.stop()])
    await Promise.race([this.#signOff(), sleep(writeRestWithinMs, { unref: true })])
    this.#releaseProcess()
    this.#releaseSignals()
    this.#log.info({ worker: this.id }, 'worker stopped')
  }

  /** Only good manners: a worker that does not sign off is found out by its silence. */
  async #signOff(): Promise<void> {
    await this.#meter.note(this.#store.metrics).catch(ignore)
    await this.#store.unsubscribeIdle(this.id).catch(ignore)
    await this.#store.workerStopped(this.id).catch(ignore)
  }

  async #drained(withinMs: number): Promise<void> {
    const deadline = monotonicMs() + withinMs
    while (this.#pools.running > 0 && monotonicMs() < deadline && !this.#inAHurry) await sleep(20)
  }

  #room(lane: Lane): number {
    this.#heldBack = this.#settler.unwritten >= mostUnwritten
    if (this.#heldBack) return 0
    const room = lane.group.room()
    if (lane.slots === Number.POSITIVE_INFINITY) return room
    return Math.min(room, Math.max(0, lane.slots - this.#pools.heldOf(lane.reader.lane)))
  }

  async #take(rows: readonly ClaimedRow[], lane: Lane): Promise<void> {
    const claimedAtMs = monotonicMs()
    const lease = (rows[0] as ClaimedRow).lease
    this.#leases.hold(lease, rows.length, lane.leaseMs)
    const jobs = rows.map((row) =>
      claimedJob(row, this.#types.get(row.type) as AnyJobType, lane.reader.lane, claimedAtMs, this.#privacy),
    )
    const retried = jobs.filter(mayBeSuspect)
    if (retried.length === 0) return this.#pools.add(jobs)
    this.#pools.add(jobs.filter((job) => !mayBeSuspect(job)))
    try {
      this.#pools.add(await withCrashes(this.#store, retried))
    } catch (error) {
      this.#report.trouble('claims', error)
      for (const job of retried) this.#settle(job, { kind: 'handed_back' }, null)
    }
  }

  #settle(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const { type, encrypt: encrypted } = job.type
    const stored = withResultEncrypted(this.#privacy, outcome, { id: job.id, type, encrypted })
    const settlement = decide(stored, job, job.type.backoff, Math.random, this.#settings.quarantineAfter)
    const endedAtMs = monotonicMs()
    this.#settler.add({ job, settlement, startedAtMs, endedAtMs, closesLease: undefined, tried: false })
    this.#pulse.asking('results')
  }

  #settled(batch: readonly Settling[], lost: ReadonlyMap<string, 'cancelled' | 'lost'>): void {
    this.#report.answered('results')
    // Not before this batch is counted as written.
    if (this.#heldBack) setImmediate(() => this.#loop.wake.signal())
    this.#heldBack = false
    // Told once it is written: before that, a cancel may still be faster.
    let dueInMs = Number.POSITIVE_INFINITY
    // Most jobs complete and most programs do not listen.
    const nobodyListens = lost.size === 0 && !this.#report.hears('job.completed')
    for (const settling of batch) {
      const { job, settlement, startedAtMs, endedAtMs } = settling
      if (lost.size === 0 || !lost.has(job.id)) this.#meter.ended(job.type.type, settlement.outcome, startedAtMs, endedAtMs)
      if (nobodyListens && settlement.move === 'complete') continue
      this.#report.attemptEnded(settling, lost.get(job.id))
      dueInMs = Math.min(dueInMs, settlement.delayMs ?? dueInMs)
    }
    if (dueInMs < Number.POSITIVE_INFINITY) this.#loop.dueIn(dueInMs)
  }

  #loseLeases(leases: readonly string[]): void {
    const jobs = this.#pools.loseLeases(new Set(leases))
    this.#report.tell('lease.lost', { leases: leases.length, jobs })
  }

  #beat(): void {
    this.#report.answered('heartbeats')
    // Nobody asks for the next one; it is owed from now on.
    this.#pulse.asking('heartbeats')
  }
}

function ignore(): void {}
