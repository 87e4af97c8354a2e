import { monotonicMs, sleep } from '../clock.js'
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
  /** How many jobs can be taken now from one lane. */
  room(lane: Lane): number
  /** Whether wake-up calls can be heard right now. */
  listening(): boolean
  /** The loop goes on when the jobs are where they run. */
  claimed(rows: readonly ClaimedRow[], lane: Lane): Promise<void>
  /** A claim went out and its answer never came: jobs may be held in this worker's name that it does not know of. */
  unheard(): Promise<unknown>
  /** The database is about to be asked. */
  asking(): void
  /** Everything that was asked was answered. */
  answered(): void
  trouble(error: unknown): void
}

const mostPerClaim = 500
const promoteAtOnce = 1_000
const distantPast = '1970-01-01T00:00:00Z'
/** Reading the waiting jobs from the start may cost this share of the time, no more. */
const rereadShare = 1 / 20
const soonestMs = 10
/**
 * How often to look for jobs that become due. Nobody calls a worker that is awake; one that sleeps is called for jobs due
 * within three seconds, so it has to see those that are further away before that. One that is full could do nothing about it.
 */
const lookForDueMs = { awake: 100, asleep: 2_000 }
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
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #turn = 0
  #nextDueAt = 0
  #promotedTo = distantPast
  #rereadAt = 0
  #lookAt = 0
  #fullSince: number | undefined
  #unheard = false

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
    this.#stop.abort()
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
    const dueAt = monotonicMs() + ms
    if (dueAt >= this.#nextDueAt) return
    this.#nextDueAt = dueAt
    this.wake.signal()
  }

  async #run(): Promise<void> {
    let pause = pauseMs.first
    while (!this.#stop.signal.aborted) {
      try {
        this.#events.asking()
        const restMs = await this.#round()
        this.#events.answered()
        pause = pauseMs.first
        if (restMs > 0 && (await this.wake.wait(restMs))) this.#lookAt = 0
      } catch (error) {
        this.#events.trouble(error)
        this.#doze.forget()
        this.#nextDueAt = 0
        this.#lookAt = 0
        // Not to be cut short: with the database away, every handler that ends would be one more knock at its door.
        await sleep(pause * (0.5 + Math.random()), { signal: this.#stop.signal })
        pause = Math.min(pause * 2, pauseMs.most)
      }
    }
  }

  /** Does what there is to do now. Returns how long there is nothing more, unless somebody signals. */
  async #round(): Promise<number> {
    if (this.#unheard) {
      await this.#events.unheard()
      this.#unheard = false
    }
    // Lying down, it has to look at both: what is due soon may also be of somebody who did not see that it sleeps.
    if (this.#doze.asleep && monotonicMs() >= this.#lookAt) this.#nextDueAt = 0
    const promoted = await this.#promoteWhatIsDue()
    if (promoted > 0 || monotonicMs() >= this.#lookAt) {
      const claimed = await this.#claimRound()
      if (claimed > 0) this.#doze.worked()
      await this.#doze.review()
      const restMs = await this.#untilNextLook(claimed)
      this.#lookAt = monotonicMs() + restMs
      if (restMs === 0) return 0
    }
    return Math.max(0, Math.min(this.#lookAt, this.#nextDueAt) - monotonicMs())
  }

  async #promoteWhatIsDue(): Promise<number> {
    const now = monotonicMs()
    if (now < this.#nextDueAt) return 0
    // Whoever says that something is due sooner while the statement runs says it about a job the statement may not have seen.
    this.#nextDueAt = Number.POSITIVE_INFINITY
    // A job committed late may be due behind the mark; reading from the start finds it.
    const fromStart = now >= this.#rereadAt
    if (fromStart) this.#promotedTo = distantPast
    const { promoted, readTo, nextInMs, lanes } = await this.#store.promoteDue(promoteAtOnce, this.#promotedTo, this.#lanes.types)
    // Producers call only for the lanes this worker was said to sleep in.
    if (this.#lanes.update(lanes)) this.#doze.forget()
    if (readTo !== null) this.#promotedTo = readTo
    const answeredAt = monotonicMs()
    if (fromStart) this.#rereadAt = answeredAt + (answeredAt - now) / rereadShare
    const inNoHurry = (this.#doze.asleep && this.#events.listening()) || !this.#hasRoom()
    const inMs = Math.min(nextInMs ?? Number.POSITIVE_INFINITY, inNoHurry ? lookForDueMs.asleep : lookForDueMs.awake)
    const dueAt = answeredAt + (promoted === promoteAtOnce ? 0 : Math.max(soonestMs, inMs))
    this.#nextDueAt = Math.min(this.#nextDueAt, dueAt, fromStart ? dueAt : this.#rereadAt)
    return promoted
  }

  /** Asks each lane in turn, a different one first each time, until there is no room. A full lane is passed over. */
  async #claimRound(): Promise<number> {
    const lanes = this.#lanes.enabled
    let claimed = 0
    for (let i = 0; i < lanes.length && !this.#stop.signal.aborted; i++) {
      const lane = lanes[(this.#turn + i) % lanes.length] as Lane
      const limit = Math.min(mostPerClaim, this.#events.room(lane))
      if (limit === 0) continue
      this.#unheard = true
      // One even where every slot is taken: those are of handlers so short that it starts in a moment.
      const gated = Math.max(1, lane.group.startable())
      const rows = await lane.reader.claim(this.#settings.worker, { limit, gated }, lane.leaseMs)
      this.#unheard = false
      if (rows.length > 0) await this.#events.claimed(rows, lane)
      claimed += rows.length
    }
    this.#turn += 1
    return claimed
  }

  #hasRoom(): boolean {
    return this.#lanes.enabled.some((lane) => this.#events.room(lane) > 0)
  }

  async #untilNextLook(claimed: number): Promise<number> {
    const { deaf, listening } = this.#settings.pollMs
    if (this.#hasRoom()) {
      this.#fullSince = undefined
      if (claimed > 0) return 0
      const pollMs = Math.min(listening, this.#lanes.pollMs)
      const restMs = this.#events.listening() ? await this.#doze.rest(pollMs) : this.#doze.restDeaf(deaf)
      return Math.min(restMs, ...this.#lanes.enabled.map((lane) => lane.reader.lookAgainInMs))
    }
    this.#fullSince ??= monotonicMs()
    const patienceMs = this.#fullSince + fullForMs - monotonicMs()
    if (patienceMs > 0) return patienceMs
    await this.#doze.wakeUp()
    return listening
  }
}
