import { availableParallelism } from 'node:os'
import type { ClaimedJob } from '../job/claimed.js'
import type { AnyJobType } from '../job/type.js'
import { Chunks } from './chunks.js'
import { openProcess, ThreadSupervisor } from './isolate/channels.js'
import { HostPool, type PoolTrouble } from './isolate/host-pool.js'
import { IsolatedAttempt } from './isolate/isolated-attempt.js'
import { ClaimTime } from './prefetch.js'
import type { AttemptServices } from './services.js'
import type { SlotShares } from './shared-slots.js'
import { Slots, type SlotsEvents } from './slots.js'
import { Strands } from './strands.js'

export interface SlotPoolsSettings {
  concurrency: number
  /** The file with the handlers, from which threads and processes load them. */
  module: string | null
  /** A job during which its host died this often runs alone, in a process of its own. */
  quarantineAfter: number
  /** Where several workers of the process share all slots. */
  shares?: SlotShares
}

export interface SlotPoolsEvents extends SlotsEvents {
  quarantined(job: ClaimedJob): void
  hostCrashed(type: string, reason: string, inARow: number, restMs: number): void
}

/** A quarantined job waits this long for its slot before it is handed back: in any other worker it would have to wait as well. */
const quarantineWaitMs = 60_000
const quarantinedAtOnce = 1

/**
 * All slots of a worker. Inline types share one pool; a type that is isolated, or has `atOnce` or `chunk`, has a pool of its own; jobs that
 * may have crashed their hosts run in quarantine. No pool waits for a slot of another.
 */
export class SlotPools {
  readonly #shared: Slots
  readonly #own = new Map<string, Slots>()
  readonly #strands = new Strands()
  readonly #claimTime = new ClaimTime()
  readonly #quarantine: Slots
  readonly #pools = new Map<string, HostPool>()
  readonly #quarantinePools = new Map<string, HostPool>()
  readonly #supervisors: ThreadSupervisor[] = []
  readonly #chunks: Chunks[] = []
  #closed = false
  readonly #settings: SlotPoolsSettings
  readonly #services: AttemptServices
  readonly #events: SlotPoolsEvents

  constructor(settings: SlotPoolsSettings, types: readonly AnyJobType[], services: AttemptServices, events: SlotPoolsEvents) {
    this.#settings = settings
    this.#services = services
    this.#events = events
    const { concurrency, shares } = settings
    const shared = shares?.of('', concurrency)
    this.#shared = new Slots({ concurrency, shared, claimTime: this.#claimTime }, services, events, this.#strands)
    for (const type of types.filter(hasOwnSlots)) this.#own.set(type.type, this.#ownSlots(type))
    this.#quarantine = new Slots(
      {
        concurrency: quarantinedAtOnce,
        longestWaitMs: quarantineWaitMs,
        begin: (job, ...served) => {
          const quarantine = this.#quarantineOf(job.type)
          const { memoryMb, graceMs } = job.type.isolation
          return new IsolatedAttempt(job, { kind: 'process', memoryMb, graceMs, pool: quarantine, quarantine }, ...served)
        },
      },
      services,
      events,
      this.#strands,
    )
  }

  get running(): number {
    return this.#all().reduce((sum, slots) => sum + slots.running, 0)
  }

  /** How many claimed jobs wait for a slot. */
  get waiting(): number {
    return this.#all().reduce((sum, slots) => sum + slots.waiting, 0)
  }

  get overrunning(): string[] {
    return this.#all().flatMap((slots) => slots.overrunning)
  }

  /** The types whose hosts die one after the other. */
  get troubles(): (PoolTrouble & { type: string })[] {
    const found: (PoolTrouble & { type: string })[] = []
    for (const [type, pool] of this.#pools) if (pool.trouble) found.push({ type, ...pool.trouble })
    return found
  }

  get sharedClaimable(): number {
    return this.#shared.claimable
  }

  get sharedAtOnce(): number {
    return this.#shared.atOnce
  }

  get sharedInARow(): number {
    return this.#shared.inARow
  }

  /** The worker would claim jobs of the shared slots, or of a type with slots of its own, and none is free. */
  wanted(type?: string): void {
    const slots = type === undefined ? this.#shared : this.#own.get(type)
    slots?.share?.want()
  }

  /** A claim that found jobs took so long to be answered. */
  claimTook(ms: number): void {
    this.#claimTime.took(ms)
  }

  /** The claims of the worker were answered. */
  answered(): void {
    for (const slots of this.#all()) slots.share?.answered()
  }

  ownAtOnce(type: string): number {
    return this.#own.get(type)?.atOnce ?? 0
  }

  ownInARow(type: string): number {
    return this.#own.get(type)?.inARow ?? 1
  }

  ownClaimable(type: string): number {
    return this.#own.get(type)?.claimable ?? 0
  }

  add(jobs: readonly ClaimedJob[]): void {
    if (this.#closed) {
      for (const job of jobs) this.#events.ended(job, { kind: 'handed_back' }, null)
      return
    }
    if (this.#own.size === 0 && jobs.every((job) => job.crashes === undefined)) return this.#shared.add(jobs)
    const bySlots = new Map<Slots, ClaimedJob[]>()
    for (const job of jobs) {
      const slots = this.#slotsOf(job)
      const there = bySlots.get(slots)
      if (there) there.push(job)
      else bySlots.set(slots, [job])
    }
    for (const [slots, some] of bySlots) slots.add(some)
  }

  /** How many jobs of one lane run here or wait for a slot. */
  heldOf(lane: number): number {
    return this.#all().reduce((sum, slots) => sum + slots.heldOf(lane), 0)
  }

  cancel(jobs: ReadonlySet<string>): void {
    for (const slots of this.#all()) slots.cancel(jobs)
  }

  loseLeases(leases: ReadonlySet<string>): number {
    return this.#all().reduce((sum, slots) => sum + slots.loseLeases(leases), 0)
  }

  /** Hands back every job that has not begun: those that wait for a slot, and from now on whatever is still added. */
  close(): void {
    this.#closed = true
    for (const slots of this.#all()) slots.handBackWaiting()
    for (const chunks of this.#chunks) chunks.close()
  }

  handBackRunning(): void {
    for (const slots of this.#all()) slots.handBackRunning()
  }

  /** Ends every thread and process. Resolves when they are gone. */
  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#quarantinePools.values()].map((pool) => pool.stop()))
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.gone()))
  }

  #all(): Slots[] {
    return [this.#shared, ...this.#own.values(), this.#quarantine]
  }

  #slotsOf(job: ClaimedJob): Slots {
    // Where the file with the handlers is not known, no process can run the job: it stays in its pool, and its attempts are the only limit.
    if (this.#settings.module !== null && (job.crashes?.length ?? 0) >= this.#settings.quarantineAfter) {
      this.#events.quarantined(job)
      return this.#quarantine
    }
    return this.#own.get(job.type.type) ?? this.#shared
  }

  #ownSlots(type: AnyJobType): Slots {
    const { kind, memoryMb, atOnce, graceMs, recycle } = type.isolation
    const concurrency = atOnce ?? availableParallelism()
    const sharing = (slots: number) => ({
      concurrency: slots,
      shared: this.#settings.shares?.of(type.type, slots),
      claimTime: this.#claimTime,
    })
    if (type.chunk) {
      const chunks = new Chunks(type.chunk, concurrency)
      this.#chunks.push(chunks)
      const settings = { ...sharing(chunks.jobsAtOnce), open: () => chunks.open, begin: chunks.begin }
      return new Slots(settings, this.#services, this.#events, this.#strands)
    }
    if (kind === 'inline') return new Slots(sharing(concurrency), this.#services, this.#events, this.#strands)
    const module = this.#settings.module as string
    const supervisor = kind === 'thread' ? new ThreadSupervisor(module, memoryMb as number, concurrency) : undefined
    if (supervisor) this.#supervisors.push(supervisor)
    const pool: HostPool = new HostPool({
      open: (events) => supervisor?.open(events) ?? openProcess(module, memoryMb, events),
      recycle,
      rests: true,
      onCrash: (reason, inARow, restMs) => this.#events.hostCrashed(type.type, reason, inARow, restMs),
      onRested: () => this.#events.slotFree(),
    })
    this.#pools.set(type.type, pool)
    return new Slots(
      {
        ...sharing(concurrency),
        open: () => pool.restMs === 0,
        begin: (job, ...served) =>
          new IsolatedAttempt(job, { kind, memoryMb, graceMs, pool, quarantine: this.#quarantineOf(type) }, ...served),
      },
      this.#services,
      this.#events,
      this.#strands,
    )
  }

  #quarantineOf(type: AnyJobType): HostPool {
    const made = this.#quarantinePools.get(type.type)
    if (made) return made
    const { memoryMb } = type.isolation
    const pool = new HostPool({
      open: (events) => openProcess(this.#settings.module as string, memoryMb, events),
      recycle: { jobs: 1, memoryMb: 0 },
      // Crashes are expected in quarantine, so that one does not delay the next job.
      rests: false,
      onCrash: (reason, inARow, restMs) => this.#events.hostCrashed(type.type, reason, inARow, restMs),
      onRested: () => {},
    })
    this.#quarantinePools.set(type.type, pool)
    return pool
  }
}

export function hasOwnSlots(type: AnyJobType): boolean {
  return type.isolation.kind !== 'inline' || type.isolation.atOnce !== null
}
