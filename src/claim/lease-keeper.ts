import { Worker as Thread } from 'node:worker_threads'
import type { Background, Monitor } from '../background/background.js'
import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { HeldLease, RenewedRow } from '../store/lease-store.js'
import { type ThreadProgram, threadsFile } from '../threads.js'
import { type DrainOrder, type FromHeartbeat, type HeartbeatSettings, readBeat, type ToHeartbeat } from './heartbeat-messages.js'

export interface LeaseKeeperEvents {
  /** Renews these leases over the worker's own connection. */
  renew(leases: readonly HeldLease[], lookedMsAgo: number | null): Promise<RenewedRow[]>
  /** These leases are gone; other workers may have their jobs. */
  lost(leases: readonly string[]): void
  /** These jobs were cancelled; told with every heartbeat until their end has been written. */
  cancelled(jobs: readonly string[]): void
  /** With every heartbeat: whether this worker is to claim no more. */
  ordered(order: DrainOrder | null): void
}

/** A heartbeat thread that dies is replaced after this: one that cannot run must not be started as fast as it dies. */
const replaceAfterMs = 1_000

/**
 * Keeps the leases of a worker: renews them when the heartbeat thread says that it is time, tells the thread which ones to renew in its
 * place if it cannot, and the worker which ones were lost.
 */
export class LeaseKeeper implements Background {
  readonly name = 'heartbeat'
  readonly #settings: HeartbeatSettings
  readonly #monitor: Monitor
  readonly #events: LeaseKeeperEvents
  /** How many attempts are still open under each lease. */
  readonly #open = new Map<string, number>()
  readonly #leaseMs = new Map<string, number>()
  #thread: Thread | undefined
  #alive: NodeJS.Timeout | undefined
  #stopping = false
  #lookedAt: number | undefined
  #renewing: Promise<boolean> | undefined

  constructor(settings: HeartbeatSettings, monitor: Monitor, events: LeaseKeeperEvents) {
    this.#settings = settings
    this.#monitor = monitor
    this.#events = events
  }

  start(): void {
    if (this.#alive) return
    // Nobody asks for a heartbeat; from now on the thread owes them.
    this.#monitor.asking('heartbeats')
    this.#startThread()
    this.#alive = setInterval(() => this.#sayAlive(), this.#settings.intervalMs).unref()
  }

  #startThread(): void {
    const thread = startThread(this.#settings)
    thread.on('message', (message: FromHeartbeat) => this.#hear(message))
    // The thread may die of a bug or of memory; the leases live on in a new one.
    thread.on('error', (error) => this.#monitor.failed('heartbeats', `the heartbeat thread failed: ${error.message}`))
    thread.on('exit', () => this.#replace(thread))
    this.#thread = thread
    for (const [lease, leaseMs] of this.#leaseMs) this.#tell({ kind: 'hold', lease, leaseMs })
  }

  /** The database answered a claim. Other workers and operators see it in the next heartbeat but one. */
  looked(): void {
    const first = this.#lookedAt === undefined
    this.#lookedAt = monotonicMs()
    if (first) this.#sayAlive()
  }

  hold(lease: string, jobs: number, leaseMs: number): void {
    this.#open.set(lease, jobs)
    this.#leaseMs.set(lease, leaseMs)
    this.#tell({ kind: 'hold', lease, leaseMs })
  }

  /** Every lease of a claim that was answered, until it is closed. */
  get known(): string[] {
    return [...this.#leaseMs.keys()]
  }

  /** One attempt under this lease has ended. True when it was the last one. */
  ended(lease: string): boolean {
    const left = (this.#open.get(lease) ?? 0) - 1
    if (left > 0) {
      this.#open.set(lease, left)
      return false
    }
    return this.#open.delete(lease)
  }

  /** These leases have been closed in the database and need no more renewing. */
  release(leases: readonly string[]): void {
    for (const lease of leases) this.#leaseMs.delete(lease)
    this.#tell({ kind: 'release', leases })
  }

  /** A notification for this worker alone: one of its jobs was cancelled, which the next heartbeat says. */
  beatNow(): void {
    // One that is under way may have looked before the job was cancelled.
    void (this.#renewing ?? Promise.resolve()).then(() => this.#stopping || this.#renew())
  }

  /** Resolves when the thread has gone; one that does not go by itself in half of the time is ended. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping = true
    clearInterval(this.#alive)
    const thread = this.#thread
    if (!thread) return
    await new Promise<void>((resolve) => {
      thread.once('exit', () => resolve())
      this.#tell({ kind: 'stop' })
      setTimeout(() => void thread.terminate(), withinMs / 2).unref()
    })
    this.#thread = undefined
  }

  #hear(message: FromHeartbeat): void {
    switch (message.kind) {
      case 'due':
        return void this.#renew().then((ok) => this.#tell({ kind: 'renewed', ok }))
      case 'beat':
        return this.#answered()
      case 'trouble':
        return this.#monitor.failed('heartbeats', message.message)
      case 'lost':
        return this.#lose(message.leases)
      case 'cancelled':
        return this.#events.cancelled(message.jobs)
      case 'stopped':
        return
    }
  }

  #renew(): Promise<boolean> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewOnce(): Promise<boolean> {
    const asked = [...this.#leaseMs]
    try {
      const rows = await this.#events.renew(asked, this.#lookedMsAgo())
      this.#answered()
      const { lost, cancelled, order } = readBeat(asked, rows, this.#leaseMs)
      if (lost.length > 0) {
        this.#tell({ kind: 'release', leases: lost })
        this.#lose(lost)
      }
      if (cancelled.length > 0) this.#events.cancelled(cancelled)
      this.#events.ordered(order)
      return true
    } catch (error) {
      if (!this.#stopping) this.#monitor.failed('heartbeats', error)
      return false
    }
  }

  #answered(): void {
    this.#monitor.answered('heartbeats')
    this.#monitor.asking('heartbeats')
  }

  #lose(leases: readonly string[]): void {
    const lost = leases.filter((lease) => this.#open.has(lease))
    for (const lease of leases) {
      this.#leaseMs.delete(lease)
      this.#open.delete(lease)
    }
    if (lost.length > 0) this.#events.lost(lost)
  }

  #replace(thread: Thread): void {
    if (this.#stopping || this.#thread !== thread) return
    this.#thread = undefined
    setTimeout(() => this.#stopping || this.#startThread(), replaceAfterMs).unref()
  }

  #sayAlive(): void {
    this.#tell({ kind: 'alive', lookedMsAgo: this.#lookedMsAgo() })
  }

  #lookedMsAgo(): number | null {
    return this.#lookedAt === undefined ? null : monotonicMs() - this.#lookedAt
  }

  #tell(message: ToHeartbeat): void {
    this.#thread?.postMessage(message)
  }
}

function startThread(settings: HeartbeatSettings): Thread {
  try {
    return new Thread(threadsFile(), {
      argv: ['holdfast:heartbeat' satisfies ThreadProgram],
      workerData: settings,
      name: 'holdfast heartbeat',
    })
  } catch (cause) {
    if ((cause as Error).name !== 'DataCloneError') throw cause
    const message = 'heartbeats come from a thread, which cannot be handed a function: no function as password or inside ssl'
    throw new HoldfastError('invalid_configuration', message, { field: 'pool', cause })
  }
}
