import { monotonicMs, sleep } from '../clock.js'
import { encodeFailure } from '../job/failure.js'
import { mayPass } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { Settlement } from './decide.js'

/** A decided attempt on its way to the database. */
export interface Settling {
  jobId: string
  type: string
  attempt: number
  lease: string
  settlement: Settlement
  /** Monotonic milliseconds; null where the handler never started. */
  startedAtMs: number | null
  endedAtMs: number
}

export interface SettlerEvents {
  /** Written. `lost` are the jobs whose lease was gone, and why: for them nothing was changed. */
  settled(batch: readonly Settling[], lost: ReadonlyMap<string, 'cancelled' | 'lost'>, closedLeases: readonly string[]): void
  /** The database did not take the batch; it is kept and tried again. */
  trouble(error: unknown, waiting: number): void
  /** One settlement can never be written; its lease will run out and say so in history. */
  refused(settling: Settling, error: unknown): void
}

const mostAtOnce = 1_000
const pauseMs = { first: 50, most: 2_000 }

/**
 * Writes how attempts ended. While one batch is on its way the next one gathers, so that under load many go together and
 * alone one goes at once. Through an outage everything is kept and tried again, in smaller batches if they time out.
 */
export class Settler {
  readonly #store: Store
  readonly #worker: number
  readonly #events: SettlerEvents
  /** Notes that an attempt ended; true when it was the last one under its lease. */
  readonly #lastOfLease: (lease: string) => boolean
  #gathering: Settling[] = []
  #writing: Promise<void> | undefined
  #atOnce = mostAtOnce
  #abandoned = false

  constructor(store: Store, worker: number, lastOfLease: (lease: string) => boolean, events: SettlerEvents) {
    this.#store = store
    this.#worker = worker
    this.#lastOfLease = lastOfLease
    this.#events = events
  }

  /** How many results are kept here and not yet in the database. */
  get unwritten(): number {
    return this.#gathering.length
  }

  add(settling: Settling): void {
    this.#gathering.push(settling)
    this.#writing ??= this.#write()
  }

  /** Resolves when everything is written, or after that time. False: something is left; its leases will run out. */
  async finish(withinMs: number): Promise<boolean> {
    if (this.#writing) await Promise.race([this.#writing, sleep(withinMs)])
    this.#abandoned = true
    return this.#gathering.length === 0
  }

  async #write(): Promise<void> {
    // Lets the handlers that end in this very turn join the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve))
    let pause = pauseMs.first
    while (this.#gathering.length > 0 && !this.#abandoned) {
      const batch = this.#gathering.slice(0, this.#atOnce)
      try {
        await this.#writeBatch(batch)
        this.#gathering.splice(0, batch.length)
        this.#atOnce = Math.min(mostAtOnce, this.#atOnce * 2)
        pause = pauseMs.first
      } catch (error) {
        this.#events.trouble(error, this.#gathering.length)
        this.#atOnce = Math.max(1, Math.ceil(batch.length / 2))
        await sleep(pause * (0.5 + Math.random()))
        pause = Math.min(pause * 2, pauseMs.most)
      }
    }
    this.#writing = undefined
  }

  /** Resolves when each of the batch is written or refused for good; rejects when all of it may pass later. */
  async #writeBatch(batch: readonly Settling[]): Promise<void> {
    try {
      await this.#settle(batch)
    } catch (error) {
      if (mayPass(error)) throw error
      // One of them cannot be written. The others must not wait for it.
      if (batch.length === 1) return this.#events.refused(batch[0] as Settling, error)
      const half = Math.ceil(batch.length / 2)
      await this.#writeBatch(batch.slice(0, half))
      await this.#writeBatch(batch.slice(half))
    }
  }

  async #settle(batch: readonly Settling[]): Promise<void> {
    const now = monotonicMs()
    const closed = this.#closedBy(batch)
    const again = new Set(batch.filter((settling) => this.#tried.has(settling)).map((settling) => settling.jobId))
    for (const settling of batch) this.#tried.add(settling)
    const rows = await this.#store.settle(
      this.#worker,
      batch.map(({ jobId, lease, settlement, startedAtMs, endedAtMs }) => ({
        jobId,
        lease,
        settlement,
        error: settlement.failure ? encodeFailure(settlement.failure) : null,
        startedAgoMs: startedAtMs === null ? null : now - startedAtMs,
        endedAgoMs: now - endedAtMs,
      })),
      closed,
    )
    // A try whose connection broke may have been written nevertheless; then the next one finds its own work done.
    const lost = new Map<string, 'cancelled' | 'lost'>()
    for (const { id, why } of rows) if (why !== 'written' || !again.has(id)) lost.set(id, why === 'cancelled' ? why : 'lost')
    this.#events.settled(batch, lost, closed)
  }

  /** Those that were sent to the database before, whatever came of it. */
  readonly #tried = new WeakSet<Settling>()

  /** Counted once per attempt, also when the batch has to be written again. */
  readonly #counted = new WeakSet<Settling>()
  readonly #closes = new WeakMap<Settling, string>()

  #closedBy(batch: readonly Settling[]): string[] {
    const closed: string[] = []
    for (const settling of batch) {
      if (!this.#counted.has(settling)) {
        this.#counted.add(settling)
        if (this.#lastOfLease(settling.lease)) this.#closes.set(settling, settling.lease)
      }
      const lease = this.#closes.get(settling)
      if (lease !== undefined) closed.push(lease)
    }
    return closed
  }
}
