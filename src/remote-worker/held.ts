import type { Background, Monitor } from '../background/background.js'
import { monotonicMs } from '../clock.js'
import { isForgotten, type Orders, type WorkerCalls } from './calls.js'

export interface HeldEvents {
  /** These leases are gone; other workers may have their jobs. */
  lost(leases: readonly string[]): void
  /** These jobs were cancelled; told with every heartbeat until their end has been written. */
  cancelled(jobs: readonly string[]): void
  /** An operator has an order for this worker. */
  ordered(orders: Orders): void
}

interface HeldLease {
  /** How many of its jobs have not ended. */
  open: number
  leaseMs: number
  /** Until when it is certainly held, whoever answers or does not. */
  untilMs: number
}

/** How often a lease is looked at that no answer has renewed. */
const looksPerBeat = 4
/** So many leases that were lost are remembered; those before them were rescued long ago. */
const mostRemembered = 100

/**
 * Keeps the leases of a remote worker. The server may be away for longer than a lease lasts, and then gives the jobs to others as soon as it is
 * back; so a lease that no answer has renewed in time counts as lost here too, and its handlers are told to stop.
 */
export class HeldLeases implements Background {
  readonly name = 'heartbeat'
  readonly #calls: WorkerCalls
  readonly #intervalMs: number
  readonly #monitor: Monitor
  readonly #events: HeldEvents
  readonly #leases = new Map<string, HeldLease>()
  /** Those that were lost, in that order. */
  #lost: string[] = []
  #timer: NodeJS.Timeout | undefined
  #beatAtMs = 0
  #failed = false
  #beating: Promise<void> | undefined

  constructor(calls: WorkerCalls, intervalMs: number, monitor: Monitor, events: HeldEvents) {
    this.#calls = calls
    this.#intervalMs = intervalMs
    this.#monitor = monitor
    this.#events = events
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#intervalMs / looksPerBeat)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#beating
  }

  /** One more job under this lease. `askedAtMs`: when the claim was sent, because the lease runs from some moment after that on. */
  hold(lease: string, leaseMs: number, askedAtMs: number): void {
    const open = (this.#leases.get(lease)?.open ?? 0) + 1
    this.#leases.set(lease, { open, leaseMs, untilMs: askedAtMs + leaseMs })
  }

  /**
   * Every lease of a claim that was answered, until its last result is written. Also one that is lost: its handlers have begun, and the server,
   * which may not have noticed yet that it ran out, would take one that is not named for a claim that nobody heard of, and record no attempt.
   */
  get known(): string[] {
    return [...this.#lost, ...this.#leases.keys()]
  }

  /** One attempt under this lease has ended. True when it was the last one. */
  ended(lease: string): boolean {
    const held = this.#leases.get(lease)
    if (!held) return false
    held.open -= 1
    return held.open === 0
  }

  release(leases: readonly string[]): void {
    for (const lease of leases) this.#leases.delete(lease)
  }

  /** The server does not know this worker any more, and whatever it held. */
  loseAll(): void {
    this.#lose([...this.#leases.keys()])
    this.#lost = []
  }

  #look(): void {
    const now = monotonicMs()
    this.#lose([...this.#leases].filter(([, { open, untilMs }]) => open > 0 && untilMs <= now).map(([lease]) => lease))
    // One that failed is made up for also where nothing is held any more, because until then this worker counts as cut off.
    const needed = this.#leases.size > 0 || this.#failed
    if (!needed || now - this.#beatAtMs < this.#intervalMs) return
    this.#beating ??= this.#beat(now).finally(() => {
      this.#beating = undefined
    })
  }

  async #beat(askedAtMs: number): Promise<void> {
    this.#beatAtMs = askedAtMs
    const asked = [...this.#leases.keys()]
    try {
      const answer = await this.#calls.heartbeat({ leases: asked })
      this.#failed = false
      this.#monitor.answered('heartbeats')
      for (const lease of asked) {
        const held = this.#leases.get(lease)
        if (held) held.untilMs = Math.max(held.untilMs, askedAtMs + held.leaseMs)
      }
      this.#lose(answer.lost)
      if (answer.cancelled.length > 0) this.#events.cancelled(answer.cancelled)
      this.#events.ordered(answer)
    } catch (error) {
      this.#failed = true
      this.#monitor.failed('heartbeats', error)
      if (isForgotten(error)) this.loseAll()
    }
  }

  /** Those of which only results are left to be written have nobody to be told; their settle says what became of them. */
  #lose(leases: readonly string[]): void {
    const running = leases.filter((lease) => (this.#leases.get(lease)?.open ?? 0) > 0)
    this.#lost = [...this.#lost, ...leases.filter((lease) => this.#leases.delete(lease))].slice(-mostRemembered)
    if (running.length > 0) this.#events.lost(running)
  }
}
