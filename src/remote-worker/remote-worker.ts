import type { EventEmitter } from 'node:events'
import type { Background, Monitor } from '../background/background.js'
import { BackgroundGroup } from '../background/group.js'
import type { VitalSigns } from '../background/vital-signs.js'
import { monotonicMs } from '../clock.js'
import type { WorkerEvents } from '../events.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import { refuseUnknown } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import { Meter } from '../metrics/meter.js'
import { hasOwnSlots, SlotPools } from '../run/slot-pools.js'
import { decide } from '../settle/decide.js'
import { LogWriter } from '../settle/log-writer.js'
import { Settler } from '../settle/settler.js'
import { Drain } from '../worker/drain.js'
import { countEach, type Health, Pulse } from '../worker/health.js'
import { Hooks } from '../worker/hooks.js'
import type { Logger } from '../worker/logger.js'
import type { WorkerSettings } from '../worker/options.js'
import { ProcessGuard } from '../worker/process-guard.js'
import { Report } from '../worker/report.js'
import { slotEvents } from '../worker/slot-events.js'
import { isAway, type Orders, type RemoteJob, type WorkerCalls } from './calls.js'
import { RemoteClaimLoop } from './claims.js'
import { HeldLeases } from './held.js'
import { isRefusedResult, reportRemotely, settleRemotely } from './results.js'
import { remoteServices } from './services.js'

/** What a remote worker is made of, once it is registered. @internal */
export interface RemoteSetup {
  calls: WorkerCalls
  id: number
  name: string
  handlers: ReadonlyMap<string, AnyJobType>
  settings: WorkerSettings
  log: Logger
  vitals: VitalSigns
  register(): Promise<number>
}

const stopWithinMs = 5_000
/** People who cancel a job wait for a heartbeat, since nobody can call a remote worker. */
const slowestBeatMs = 5_000
/** With so many results that the server has not taken, no more jobs are claimed. */
const mostUnwritten = 10_000

/** A worker over HTTP. Its slots, attempts and results are those of every worker; its claims, leases and writes are requests. */
export class RemoteWorker {
  /** The number under which the server knows it. */
  id: number
  /** What it is called in history. */
  readonly name: string
  /** What happens to its jobs and leases; `database.away` and `database.back` are the server. */
  readonly events: EventEmitter<WorkerEvents>
  readonly #setup: RemoteSetup
  readonly #pulse: Pulse
  readonly #pools: SlotPools
  readonly #settler: Settler
  readonly #drain: Drain
  readonly #background: BackgroundGroup
  /** What this worker holds: the lease of each job. */
  readonly #held = new Map<string, string>()
  readonly #checkpoints = new Map<string, string>()
  readonly #leases: HeldLeases
  readonly #stopping: Promise<void>
  #stop: (() => void) | undefined

  /** @internal */
  static start(setup: RemoteSetup): RemoteWorker {
    const worker = new RemoteWorker(setup)
    worker.#background.start()
    const { id, name, handlers, settings, log } = setup
    log.info({ worker: id, workerName: name, types: [...handlers.keys()], concurrency: settings.concurrency }, 'worker started')
    return worker
  }

  private constructor(setup: RemoteSetup) {
    const { calls, handlers, settings, log } = setup
    const pulse = new Pulse(settings.unhealthyAfterMs, 'the server')
    const report = new Report(log, pulse, new Meter(), new Hooks(settings.hooks, handlers, log))
    const monitor = telling(report)
    const logWriter = new LogWriter({ write: (rows) => reportRemotely(calls, (job) => this.#held.get(job), rows) }, monitor)
    const services = remoteServices(calls, logWriter, this.#checkpoints)
    const ordered = ({ drain }: Orders) => {
      if (!drain || this.#background.stopping) return
      log.info({ worker: this.id, why: drain.why }, 'an operator has ordered this worker to finish')
      void this.stop()
    }
    const leases = new HeldLeases(calls, Math.min(slowestBeatMs, settings.heartbeatMs), monitor, {
      lost: (lost) => {
        const gone = new Set(lost)
        report.tell('lease.lost', { leases: lost.length, jobs: pools.loseLeases(gone) })
        for (const [job, lease] of this.#held) if (gone.has(lease)) this.#release(job)
      },
      cancelled: (jobs) => pools.cancel(new Set(jobs)),
      ordered,
    })
    const settler: Settler = new Settler(
      { settle: (_, ended) => settleRemotely(calls, ended) },
      setup.id,
      (lease) => leases.ended(lease),
      monitor,
      {
        settling: (results) => logWriter.flush(results),
        settled: (results, lost) => {
          for (const settling of results) {
            report.attemptEnded(settling, lost.get(settling.job.id))
            if (this.#held.get(settling.job.id) === settling.job.lease) this.#release(settling.job.id)
          }
          loop.slotFree()
        },
        moreToCome: () => pools.waiting > 0,
        finished: (finished) => leases.release(finished),
        refused: ({ job }, error) => report.resultRefused(job.id, error),
      },
      isRefusedResult,
    )
    const pools: SlotPools = new SlotPools(
      settings,
      [...handlers.values()],
      services,
      slotEvents({ began: () => {}, ended: (job, outcome, at) => this.#ended(job, outcome, at) }, report, () => loop.slotFree()),
    )
    const room = (claimable: () => number) => () => (settler.unwritten < mostUnwritten ? claimable() : 0)
    const apart = [...handlers.values()].filter(hasOwnSlots)
    const shared = [...handlers.values()].filter((type) => !hasOwnSlots(type)).map(({ type }) => type)
    const groups = [
      ...(shared.length > 0 ? [{ types: shared, claimable: room(() => pools.sharedClaimable) }] : []),
      ...apart.map(({ type }) => ({ types: [type], claimable: room(() => pools.ownClaimable(type)) })),
    ]
    const loop = new RemoteClaimLoop(calls, groups, settings.leaseMs, monitor, {
      claimed: (jobs, askedAtMs) => this.#take(jobs, askedAtMs),
      ordered,
      forgotten: async () => {
        leases.loseAll()
        this.id = await setup.register()
      },
      known: () => leases.known,
    })
    const { vitals } = setup
    const signOff: Background = { name: 'sign-off', start() {}, stop: () => calls.signOff() }
    const guard = new ProcessGuard(settings.handleSignals ? () => this.stop() : undefined)
    const drain = new Drain(pools, settings.drainMs)
    const within = (part: Background) => ({ part, stopWithinMs })
    // As in a worker: each stage works for those after it, and so stops after them.
    this.#background = new BackgroundGroup(
      [
        [guard].map(within),
        [signOff].map(within),
        [leases, vitals, logWriter].map(within),
        [settler].map(within),
        [{ part: drain, stopWithinMs: drain.longestMs }],
        [loop].map(within),
      ],
      report,
    )
    this.id = setup.id
    this.name = setup.name
    this.events = report.events
    this.#setup = setup
    this.#pulse = pulse
    this.#pools = pools
    this.#settler = settler
    this.#drain = drain
    this.#leases = leases
    this.#stopping = new Promise<void>((resolve) => {
      this.#stop = resolve
    }).then(() => this.#stopAll())
  }

  /** Resolves when this worker has stopped, whoever stopped it: an operator can order a remote worker to. */
  get stopped(): Promise<void> {
    return this.#stopping
  }

  /** Whether this worker truly works. */
  health(): Health {
    const { running, troubles, overrunning } = this.#pools
    const { failing, ...pulse } = this.#pulse.read()
    const counts = {
      running,
      unwritten: this.#settler.unwritten,
      ...(troubles.length > 0 && { crashing: troubles }),
      ...(overrunning.length > 0 && { overrunning: countEach(overrunning) }),
      ...(failing.length > 0 && { warnings: failing }),
    }
    return this.#background.stopping ? { ...pulse, ...counts, status: 'stopping' } : { ...pulse, ...counts }
  }

  /**
   * Stops in good order: no new claims; what ends within the drain time is completed, heartbeats going on; the rest is handed back without
   * spending an attempt. With `now`, also while a stop is under way, the drain time is over.
   */
  async stop(options: { now?: boolean } = {}): Promise<void> {
    refuseUnknown(options, ['now'])
    if (options.now) this.#drain.hurry()
    this.#stop?.()
    return this.#stopping
  }

  async #stopAll(): Promise<void> {
    const { log, settings } = this.#setup
    log.info({ worker: this.id, running: this.#pools.running, drainMs: settings.drainMs }, 'worker stopping')
    await this.#background.stop()
    log.info({ worker: this.id }, 'worker stopped')
  }

  #take(claimed: readonly RemoteJob[], askedAtMs: number): void {
    for (const { lease, lease_ms } of claimed) this.#leases.hold(lease, lease_ms, askedAtMs)
    this.#pools.add(claimed.map((job) => this.#claimedJob(job)))
  }

  #claimedJob(job: RemoteJob): ClaimedJob {
    this.#held.set(job.id, job.lease)
    if (job.checkpoint !== undefined) this.#checkpoints.set(job.id, JSON.stringify(job.checkpoint))
    return {
      ...{ id: job.id, lease: job.lease, lane: 0, priority: job.priority, attempt: job.attempt, version: job.version },
      waits: job.waits ?? false,
      type: this.#setup.handlers.get(job.type) as AnyJobType,
      maxAttempts: job.max_attempts,
      createdAtMs: Date.parse(job.created_at),
      payload: JSON.stringify(job.payload),
      traceparent: job.traceparent ?? null,
      scheduledForMs: job.scheduled_for === undefined ? null : Date.parse(job.scheduled_for),
      claimedAtMs: monotonicMs(),
    }
  }

  #ended(job: ClaimedJob, outcome: Outcome, startedAtMs: number | null): void {
    const settlement = decide(outcome, job, job.type.backoff, Math.random, this.#setup.settings.quarantineAfter)
    this.#settler.add({ job, settlement, startedAtMs, endedAtMs: monotonicMs(), closesLease: undefined, tried: false })
  }

  #release(job: string): void {
    this.#held.delete(job)
    this.#checkpoints.delete(job)
  }
}

/** A server that is away is told of once, and not with every request that fails. */
function telling(report: Report): Monitor {
  return {
    asking: () => {},
    answered: (what) => report.answered(what),
    failed: (what, error) => report.failed(what, isAway(error) ? (error as Error).message : error),
    gaveUp: (what, error) => report.gaveUp(what, error),
  }
}
