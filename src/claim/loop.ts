import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { Doze } from './doze.js'
import type { LaneReader } from './lane-reader.js'
import { Wake } from './wake.js'

export interface ClaimLoopSettings {
  worker: number
  leaseMs: number
  /** How often to look when no call can be heard, and the longest rest when one can. */
  pollMs: { deaf: number; listening: number }
}

export interface ClaimLoopEvents {
  /** Whether wake-up calls can be heard right now. */
  listening(): boolean
  /** The loop goes on when the jobs are where they run. */
  claimed(rows: readonly ClaimedRow[]): Promise<void>
  /** The database was asked and answered. */
  polled(): void
  trouble(error: unknown): void
}

const mostPerClaim = 500
const promoteAtOnce = 1_000
const distantPast = '1970-01-01T00:00:00Z'
/** Reading the waiting jobs from the start may cost this share of the time, no more. */
const rereadShare = 1 / 20
const soonestMs = 10
/** Full for this long: calls could not be answered, so they are not asked for. */
const fullForMs = 1_000
const pauseMs = { first: 100, most: 5_000 }

/** Stop 2 of a job's way: promote what is due, claim what there is room for, rest when there is nothing. Never gives up. */
export class ClaimLoop {
  readonly wake = new Wake()
  readonly #store: Store
  readonly #lanes: readonly LaneReader[]
  readonly #settings: ClaimLoopSettings
  readonly #events: ClaimLoopEvents
  readonly #doze: Doze
  #stopping = false
  #running: Promise<void> | undefined
  #turn = 0
  #nextDueAt = 0
  #promotedTo = distantPast
  #rereadAt = 0

  constructor(store: Store, lanes: readonly LaneReader[], settings: ClaimLoopSettings, events: ClaimLoopEvents) {
    this.#store = store
    this.#lanes = lanes
    this.#settings = settings
    this.#events = events
    const laneIds = [...new Set(lanes.map((lane) => lane.lane))]
    this.#doze = new Doze(store, settings.worker, laneIds)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Resolves when no claim is on its way any more. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.wake.signal()
    await this.#running
  }

  /** A producer called, or a connection came back. */
  called(): void {
    this.#doze.called()
    // A job that is due in a moment calls too, so the next due time is no longer what it was.
    this.#nextDueAt = 0
    this.wake.signal()
  }

  /** This worker put off a job itself and need not be told when it is due. */
  dueIn(ms: number): void {
    this.#nextDueAt = Math.min(this.#nextDueAt, monotonicMs() + ms)
    this.wake.signal()
  }

  async #run(): Promise<void> {
    let pause = pauseMs.first
    while (!this.#stopping) {
      try {
        await this.#promoteWhatIsDue()
        const claimed = await this.#claimRound()
        this.#events.polled()
        pause = pauseMs.first
        if (claimed > 0) this.#doze.worked()
        await this.#doze.review()
        if (!this.#hasRoom()) await this.#waitForRoom()
        else if (claimed === 0) await this.#rest()
      } catch (error) {
        this.#events.trouble(error)
        this.#doze.forget()
        this.#nextDueAt = 0
        await this.wake.wait(pause * (0.5 + Math.random()))
        pause = Math.min(pause * 2, pauseMs.most)
      }
    }
  }

  async #promoteWhatIsDue(): Promise<void> {
    const now = monotonicMs()
    if (now < this.#nextDueAt) return
    // A job committed late may be due behind the mark; reading from the start finds it.
    const fromStart = now >= this.#rereadAt
    if (fromStart) this.#promotedTo = distantPast
    const { promoted, readTo, nextInMs } = await this.#store.promoteDue(promoteAtOnce, this.#promotedTo)
    if (readTo !== null) this.#promotedTo = readTo
    if (fromStart) this.#rereadAt = monotonicMs() + (monotonicMs() - now) / rereadShare
    const inMs = Math.min(nextInMs ?? Number.POSITIVE_INFINITY, this.#settings.pollMs.listening)
    this.#nextDueAt = monotonicMs() + (promoted === promoteAtOnce ? 0 : Math.max(soonestMs, inMs))
  }

  /** Asks each lane in turn, a different one first each time, until there is no room. */
  async #claimRound(): Promise<number> {
    let claimed = 0
    for (let i = 0; i < this.#lanes.length && !this.#stopping; i++) {
      const lane = this.#lanes[(this.#turn + i) % this.#lanes.length] as LaneReader
      const limit = Math.min(mostPerClaim, lane.room)
      if (limit === 0) continue
      const rows = await lane.claim(this.#settings.worker, limit, this.#settings.leaseMs)
      if (rows.length > 0) await this.#events.claimed(rows)
      claimed += rows.length
    }
    this.#turn += 1
    return claimed
  }

  #hasRoom(): boolean {
    return this.#lanes.some((lane) => lane.room > 0)
  }

  async #waitForRoom(): Promise<void> {
    await this.wake.wait(fullForMs)
    if (this.#hasRoom() || this.#stopping) return
    await this.#doze.wakeUp()
    await this.wake.wait(this.#settings.pollMs.listening)
  }

  async #rest(): Promise<void> {
    const pollMs = this.#events.listening() ? this.#settings.pollMs.listening : this.#settings.pollMs.deaf
    const restMs = await this.#doze.rest(pollMs)
    const dueInMs = Math.max(0, this.#nextDueAt - monotonicMs())
    if (restMs > 0) await this.wake.wait(Math.min(restMs, dueInMs))
  }
}
