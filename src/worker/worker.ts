import type { EventEmitter } from 'node:events'
import { Afterwards } from '../background/afterwards.js'
import { BackgroundGroup } from '../background/group.js'
import { VitalSigns } from '../background/vital-signs.js'
import type { DrainOrder } from '../claim/heartbeat-messages.js'
import { Lanes } from '../claim/lanes.js'
import { LeaseKeeper } from '../claim/lease-keeper.js'
import { ClaimLoop } from '../claim/loop.js'
import type { WorkerEvents } from '../events.js'
import { isOwnType } from '../job/own-types.js'
import { refuseUnknown } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import { Meter } from '../metrics/meter.js'
import type { Privacy } from '../privacy/privacy.js'
import { SlotPools } from '../run/slot-pools.js'
import { Scheduler } from '../schedule/scheduler.js'
import { LogWriter } from '../settle/log-writer.js'
import { Settler } from '../settle/settler.js'
import { Listener, type ListenerEvents, personalNotification, pollsInstead } from '../store/listener.js'
import type { TypeRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { FleetTurn } from '../upkeep/fleet-turn.js'
import { LeaseNews } from '../upkeep/rescue.js'
import { Upkeep } from '../upkeep/upkeep.js'
import type { WakeUpListener } from '../waking/listener.js'
import type { WakeUps } from '../waking/wake-ups.js'
import { attemptServices } from './attempt-services.js'
import { choresOf } from './chores.js'
import { Drain } from './drain.js'
import { groupsOf } from './groups.js'
import { countEach, type Health, Pulse } from './health.js'
import { Hooks } from './hooks.js'
import { Intake } from './intake.js'
import type { Logger } from './logger.js'
import type { WorkerSettings } from './options.js'
import { Outcomes } from './outcomes.js'
import { ProcessGuard } from './process-guard.js'
import { Report } from './report.js'
import { SignOff } from './sign-off.js'
import { slotEvents } from './slot-events.js'

/** What a worker is made of, once it is registered. @internal */
export interface WorkerSetup {
  store: Store
  privacy: Privacy
  wakeUps: WakeUps | undefined
  id: number
  name: string
  handlers: ReadonlyMap<string, AnyJobType>
  known: readonly TypeRow[]
  settings: WorkerSettings
  log: Logger
  warnings: readonly string[]
  /** Where it tells its events, if that is not its own. */
  events?: EventEmitter<WorkerEvents> | undefined
  /** Who told its build to claim no more, and why; null: nobody did. */
  order: [by: string, why: string | null] | null
}

const notListeningPollMs = 200
/** How long the parts that only write something may take for it when the worker stops. */
const writeWithinMs = 5_000
/** A worker that stops waits this long for a claim under way: jobs of a claim that is not answered wait until their lease runs out. */
const lastClaimWithinMs = 60_000

/** The parts of a worker and how they are joined. Each part says in its own file what it does. */
export class Worker {
  /** The number under which the database knows it. */
  readonly id: number
  /** What it is called in history. */
  readonly name: string
  /** What happens to its jobs, its leases and its database. */
  readonly events: EventEmitter<WorkerEvents>
  readonly #setup: WorkerSetup
  readonly #pulse: Pulse
  readonly #pools: SlotPools
  readonly #intake: Intake
  readonly #settler: Settler
  readonly #listener: AnyListener | undefined
  readonly #drain: Drain
  readonly #background: BackgroundGroup
  #stopped: Promise<void> | undefined

  /** A worker whose parts have begun. Rejects where one of them cannot, and none of them runs then. @internal */
  static async start(setup: WorkerSetup): Promise<Worker> {
    const worker = new Worker(setup)
    try {
      worker.#background.start()
    } catch (error) {
      await worker.#background.stop()
      throw error
    }
    const { id, name, handlers, settings, log, warnings } = setup
    const about = { worker: id, workerName: name, types: [...handlers.keys()], concurrency: settings.concurrency }
    log.info(about, 'worker started')
    for (const warning of warnings) log.warn({ worker: id }, warning)
    return worker
  }

  private constructor(setup: WorkerSetup) {
    const { privacy, id, name, handlers, known, settings, log } = setup
    const { leaseMs, heartbeatMs, pollMs } = settings
    const notifications = {
      notified: () => loop.notified(),
      ordered: (what: string) => (what === personalNotification ? loop.notifiedAlone() : leases.beatNow()),
      disconnected: () => loop.wake.signal(),
      unreachable: (why: string | undefined) => {
        if (why) log.warn({ worker: id }, pollsInstead(why))
        // For the check-up alone; one that is not noted is in the log and in the health of this worker.
        setup.store.doctor.wakeUpsSwallowed(id, why !== undefined).catch(() => {})
      },
    }
    const listener = settings.listen ? listenerOf(setup, notifications) : undefined
    // A connection that goes elsewhere for LISTEN is for nothing else.
    const lends = listener instanceof Listener && setup.store.database.listenConfig === undefined
    const store = lends ? setup.store.over(listener.lent) : setup.store
    const types = new Map(known.map((row) => [row.id, handlers.get(row.name) as AnyJobType]))
    // Holdfast's own handlers, some of which may take minutes, never block the event loop.
    const users = [...handlers.values()].filter(({ type }) => !isOwnType(type))
    const longestTimeoutMs = Math.max(0, ...users.map(({ timeoutMs }) => timeoutMs))
    const news = new LeaseNews()
    const meter = new Meter()
    const pulse = new Pulse(settings.unhealthyAfterMs)
    const report = new Report(log, pulse, meter, new Hooks(settings.hooks, handlers, log), setup.events)
    const logWriter = new LogWriter(store.log, report)
    const services = attemptServices(store, id, privacy, logWriter)
    const vitals = new VitalSigns()
    const leases: LeaseKeeper = new LeaseKeeper(
      {
        worker: id,
        intervalMs: heartbeatMs,
        leaseMs,
        patienceMs: longestTimeoutMs + heartbeatMs,
        ...store.database.forThread,
      },
      report,
      {
        renew: (leases, lookedMsAgo) => {
          const connections = store.database.openConnections + (listener instanceof Listener && listener.listening ? 1 : 0)
          return store.leases.renew(id, leases, lookedMsAgo, { ...vitals.take(), connections })
        },
        lost: (lost) => report.tell('lease.lost', { leases: lost.length, jobs: pools.loseLeases(new Set(lost)) }),
        cancelled: (jobs) => pools.cancel(new Set(jobs)),
        ordered: (order) => this.#ordered(order, () => loop.wake.signal()),
      },
    )
    const settler: Settler = new Settler(store, id, (lease) => leases.ended(lease), report, {
      settling: (results) => logWriter.flush(results),
      settled: (results, lost) => outcomes.settled(results, lost),
      moreToCome: () => pools.waiting > 0,
      finished: (finished) => leases.release(finished),
      refused: ({ job }, error) => report.resultRefused(job.id, error),
    })
    const outcomes: Outcomes = new Outcomes(settler, privacy, meter, report, settings, {
      claimable: () => loop.wake.signal(),
      putOff: (ms) => loop.dueIn(ms),
    })
    const pools: SlotPools = new SlotPools(
      settings,
      [...handlers.values()],
      services,
      slotEvents(outcomes, report, () => loop.slotFree()),
    )
    const intake: Intake = new Intake({ store, privacy, types, leases, pools, outcomes, monitor: report })
    const lanes = new Lanes(store, groupsOf(types, pools), leaseMs, (ids) => listener?.listenTo(ids))
    const polls = { notListening: Math.min(notListeningPollMs, pollMs), listening: pollMs }
    const loop: ClaimLoop = new ClaimLoop(store, lanes, { worker: id, pollMs: polls }, report, {
      claimable: (lane) => intake.claimable(lane),
      listening: () => listener?.listening ?? false,
      claimed: (rows, lane) => intake.take(rows, lane),
      claimTook: (ms) => pools.claimTook(ms),
      expiredLeases: (expired, sharing) => news.note(expired, sharing),
      unacknowledged: () => store.releaseUnacknowledged(id, leases.known),
      looked: () => {
        leases.looked()
        pools.answered()
        for (const part of later) part.now()
      },
      dutiesDone: (duties) => report.dutiesDone(duties),
    })
    const turn = new FleetTurn((ms) => store.operate.takeFleetTurn(id, ms))
    const upkeep = new Upkeep(choresOf(store, settings, meter, report, news), report, turn)
    const scheduler = new Scheduler(store.schedules, privacy, id, report, report)
    const later = [upkeep, scheduler].map((part) => new Afterwards(part))
    const guard = new ProcessGuard(settings.handleSignals ? () => this.stop() : undefined)
    const drain = new Drain(pools, settings.drainMs)
    // Each stage works for those after it, and so stops after them: results need the heartbeat that keeps their leases.
    this.#background = new BackgroundGroup(
      [
        [{ part: guard, stopWithinMs: writeWithinMs }],
        [{ part: new SignOff(store, id, meter), stopWithinMs: writeWithinMs }],
        [leases, vitals, logWriter, ...(listener ? [listener] : [])].map((part) => ({ part, stopWithinMs: writeWithinMs })),
        [{ part: settler, stopWithinMs: writeWithinMs }],
        [{ part: drain, stopWithinMs: drain.longestMs }],
        [{ part: loop, stopWithinMs: lastClaimWithinMs }, ...later.map((part) => ({ part, stopWithinMs: writeWithinMs }))],
      ],
      report,
    )
    this.id = id
    this.name = name
    this.events = report.events
    this.#setup = setup
    this.#pulse = pulse
    this.#pools = pools
    this.#intake = intake
    if (setup.order) this.#ordered({ by: setup.order[0], why: setup.order[1] }, () => {})
    this.#settler = settler
    this.#listener = listener
    this.#drain = drain
  }

  /** Whether this worker truly works. */
  health(): Health {
    const { running, troubles, overrunning } = this.#pools
    const { unreachable } = this.#listener ?? {}
    const { failing, ...pulse } = this.#pulse.read()
    const { order } = this.#intake
    const drained = order ? [`it claims nothing: ${orderWords(order)}`] : []
    const warnings = [...this.#setup.warnings, ...(unreachable ? [pollsInstead(unreachable)] : []), ...drained, ...failing]
    const counts = {
      running,
      unwritten: this.#settler.unwritten,
      ...(troubles.length > 0 && { crashing: troubles }),
      ...(overrunning.length > 0 && { overrunning: countEach(overrunning) }),
      ...(warnings.length > 0 && { warnings }),
    }
    return this.#stopped ? { ...pulse, ...counts, status: 'stopping' } : { ...pulse, ...counts }
  }

  /**
   * Stops in good order: no new claims; what ends within the drain time is completed, heartbeats going on; the rest is
   * handed back without spending an attempt. Resolves when nothing of this worker runs any more.
   * With `now`, also while a stop is under way, the drain time is over.
   */
  async stop(options: { now?: boolean } = {}): Promise<void> {
    refuseUnknown(options, ['now'])
    if (options.now) this.#drain.hurry()
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** It finishes what it has and claims no more for as long as that is ordered; what it does for the fleet goes on. */
  #ordered(order: DrainOrder | null, look: () => void): void {
    const { order: before } = this.#intake
    this.#intake.order = order
    if (order && !before)
      this.#setup.log.warn({ worker: this.id, ...order }, 'this worker claims no more, as an operator ordered')
    if (order || !before) return
    this.#setup.log.info({ worker: this.id }, 'this worker claims again')
    look()
  }

  async #stop(): Promise<void> {
    const { log, settings } = this.#setup
    log.info({ worker: this.id, running: this.#pools.running, drainMs: settings.drainMs }, 'worker stopping')
    await this.#background.stop()
    log.info({ worker: this.id }, 'worker stopped')
  }
}

/** What is notified of new jobs: over the database or over a Redis. */
type AnyListener = Listener | WakeUpListener

/** Over a Redis a worker is notified of jobs it can run. Over the database it listens to its lanes, and to a channel of its own. */
function listenerOf({ store, wakeUps, id, known }: WorkerSetup, events: ListenerEvents): AnyListener {
  if (!wakeUps) return new Listener(store.database, id, events)
  return wakeUps.listener(new Set(known.map(({ name }) => name)), events)
}

function orderWords({ by, why }: DrainOrder): string {
  return `${by} told it or its build to drain${why === null ? '' : ` (${why})`}`
}
