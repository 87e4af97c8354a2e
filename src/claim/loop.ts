import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { Doze } from './doze.js'
import type { Lane, Lanes } from './lanes.js'
import { Wake } from './wake.js'

export interface ClaimLoopSettings {
  worker: number
  /** How often to look when no call can be heard, and the longest rest when one can; the lanes may ask for less. */
  pollMs: { deaf: number; listening: number }
}

export interface ClaimLoopEvents {
  /** How many jobs can be taken now, in all or from one lane. */
  room(lane?: Lane): number
  /** Whether wake-up calls can be heard right now. */
  listening(): boolean
  claimed(rows: readonly ClaimedRow[], lane: Lane): void
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
  readonly #lanes: Lanes
  readonly #settings: ClaimLoopSettings
  readonly #events: ClaimLoopEvents
  readonly #doze: Doze
  #stopping = false
  #running: Promise<void> | undefined
  #turn = 0
  #nextDueAt = 0
  #promotedTo = distantPast
  #rereadAt = 0

  constructor(store: Store, lanes: Lanes, settings: ClaimLoopSettings, events: ClaimLoopEvents) {
    this.#store = store
    this.#lanes = lanes
    this.#settings = settings
    this.#events = events
    this.#doze = new Doze(store, settings.worker, () => lanes.ids)
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
        await this.#lanes.refresh()
        await this.#promoteWhatIsDue()
        const claimed = await this.#claimRound()
        this.#events.polled()
        pause = pauseMs.first
        if (claimed > 0) this.#doze.worked()
        await this.#doze.review()
        if (this.#events.room() === 0) await this.#waitForRoom()
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

  /** Asks each lane in turn, a different one first each time, until there is no room. A full lane is passed over. */
  async #claimRound(): Promise<number> {
    const lanes = this.#lanes.enabled
    let claimed = 0
    for (let i = 0; i < lanes.length && !this.#stopping; i++) {
      const lane = lanes[(this.#turn + i) % lanes.length] as Lane
      const limit = Math.min(mostPerClaim, this.#events.room(lane))
      if (limit === 0) continue
      const rows = await lane.reader.claim(this.#settings.worker, limit, lane.leaseMs)
      if (rows.length > 0) this.#events.claimed(rows, lane)
      claimed += rows.length
    }
    this.#turn += 1
    return claimed
  }

  async #waitForRoom(): Promise<void> {
    await this.wake.wait(fullForMs)
    if (this.#events.room() > 0 || this.#stopping) return
    await this.#doze.wakeUp()
    await this.wake.wait(this.#settings.pollMs.listening)
  }

  async #rest(): Promise<void> {
    const { deaf, listening } = this.#settings.pollMs
    const pollMs = this.#events.listening() ? Math.min(listening, this.#lanes.pollMs) : deaf
    const restMs = await this.#doze.rest(pollMs)
    const dueInMs = Math.max(0, this.#nextDueAt - monotonicMs())
    if (restMs > 0) await this.wake.wait(Math.min(restMs, dueInMs))
  }
}
