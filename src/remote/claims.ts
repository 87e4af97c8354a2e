import type { Background } from '../background/background.js'
import { type Lane, Lanes } from '../claim/lanes.js'
import { monotonicMs, sleep } from '../clock.js'
import type { Settlement } from '../job/settlement.js'
import type { ClaimedRow } from '../store/rows.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { WakeUps } from '../waking/wake-ups.js'
import { LongPolls } from './long-polls.js'
import type { RemoteWorker } from './workers.js'

export interface ClaimAsk {
  types: readonly number[]
  limit: number
  leaseMs: number
  waitMs: number
  /** Fires when the caller has hung up, or may no longer claim. */
  gone: AbortSignal
}

/** A claimed job and for how long it is held. */
export type RemoteClaim = ClaimedRow & { leaseMs: number }

/** How far the lanes of a set of types have been read, and until when their settings may be used without reading them again. */
interface Reading {
  readonly lanes: Lanes
  staleAt: number
}

const promoteAtOnce = 1_000
const distantPast = '1970-01-01T00:00:00Z'
const pollMs = { listening: 2_000, notListening: 200, soonest: 10 }
const lanesFreshForMs = 1_000
/** How long a job is put off whose payload is too new for its worker. */
const tooNewMs = 5_000
const asMany = () => Number.POSITIVE_INFINITY
/** For how many sets of types this server remembers how far it has read. */
const mostReadings = 1_000

/**
 * Claims for workers behind HTTP, which may wait for jobs in a long poll. The server does what a worker's claim loop does: it promotes due
 * jobs, claims free ones, and while there are none, subscribes the remote worker to notifications. A poll is tried again after at most as
 * long as it has been waiting, so that a job whose producer looked just before the subscription is found too (claim/idle-subscription.ts).
 */
export class RemoteClaims implements Background {
  readonly name = 'long polls'
  readonly #store: Store
  readonly #polls: LongPolls
  readonly #readings = new Map<string, Reading>()
  /** The latest claim within the slots of a lane, of each worker. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()
  #dueAt = 0

  constructor(store: Store, wakeUps: WakeUps | undefined) {
    this.#store = store
    this.#polls = new LongPolls(store, wakeUps)
  }

  /** Returns at most `limit` jobs as soon as there is one, or none after `waitMs`. */
  async claim(worker: RemoteWorker, ask: ClaimAsk): Promise<RemoteClaim[]> {
    const versions = new Map(worker.types.map(({ id, version }) => [id, version]))
    // Workers that know other versions have readings of their own: what one leaves behind is for the other.
    const known = [...ask.types].sort((a, b) => a - b).map((type) => `${type}v${versions.get(type) ?? ''}`)
    const group = `${known.join()} ${ask.leaseMs}`
    const reading = this.#reading(group, ask)
    const { lanes } = reading
    const deadline = monotonicMs() + ask.waitMs
    const first = await this.#look(worker, reading, ask.limit)
    if (first.length > 0) return first
    if (ask.waitMs === 0) return this.#lookFromHead(worker, reading, ask.limit)
    const waiter = this.#polls.enter(group, worker.id, lanes.ids)
    const ended = () => waiter.wake.signal()
    ask.gone.addEventListener('abort', ended)
    let subscribedAt = monotonicMs()
    try {
      for (;;) {
        if ((await this.#store.subscribeIdle(worker.id, lanes.ids)).news) subscribedAt = monotonicMs()
        else await waiter.wake.wait(this.#restMs(lanes, deadline, subscribedAt))
        if (ask.gone.aborted || this.closing) return []
        // It may have been woken because a lane was resumed: what is known of the lanes says that nothing is to be had there.
        if (lanes.someDrained) reading.staleAt = 0
        const rows = await this.#look(worker, reading, ask.limit)
        if (rows.length > 0) return rows
        if (monotonicMs() >= deadline) return []
      }
    } finally {
      ask.gone.removeEventListener('abort', ended)
      await this.#polls.leave(waiter)
      this.#polls.wakeNext(group)
    }
  }

  /** Frees jobs whose worker hung up before it got the answer: no attempt is spent, and none is recorded. */
  async handBack(worker: RemoteWorker, rows: readonly RemoteClaim[]): Promise<void> {
    if (rows.length === 0) return
    await this.#end(worker, rows, { move: 'hand_back', outcome: 'handed_back', delayMs: null, failure: null })
  }

  /** Ends jobs that the worker cannot get as dead, with the reason. */
  async endUnreadable(worker: RemoteWorker, rows: readonly { row: RemoteClaim; problem: string }[]): Promise<void> {
    if (rows.length === 0) return
    const ended = rows.map(({ row: job, problem: message }) => {
      const failure = { name: 'FatalError', message }
      return {
        job,
        settlement: { move: 'die', outcome: 'failed', delayMs: null, failure } as const,
        startedAtMs: 0,
        endedAtMs: 0,
      }
    })
    await this.#store.settle(worker.id, ended, 0, [])
    await this.#store.remote.closeEmpty(worker.id, [...new Set(rows.map(({ row }) => row.lease))])
  }

  /** Whether this server is closing and keeps no poll waiting. */
  get closing(): boolean {
    return this.#closing.signal.aborted
  }

  /** The first poll that has to wait opens the listening connection. */
  start(): void {}

  /** Every poll is answered at once from here on. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#polls.close()
  }

  async #look(worker: RemoteWorker, reading: Reading, limit: number): Promise<RemoteClaim[]> {
    await this.#promote(reading)
    const claimed: RemoteClaim[] = []
    for (const lane of reading.lanes.enabled) {
      const wanted = limit - claimed.length
      if (wanted === 0) break
      try {
        claimed.push(
          ...(await (Number.isFinite(lane.slots) ? this.#inTurn(worker, lane, wanted) : this.#take(worker, lane, wanted))),
        )
      } catch (error) {
        // Jobs of other lanes are claimed already and must be answered, or they wait until their lease ends. The next poll meets the error again.
        if (claimed.length === 0) throw error
        break
      }
    }
    return claimed
  }

  /** A remote worker asks for as many jobs as it can start at once; it would not run jobs of one key one after the other. */
  async #take(worker: RemoteWorker, { reader, leaseMs }: Lane, wanted: number): Promise<RemoteClaim[]> {
    const claimed = await reader.claim(worker.id, { limit: wanted, inARow: 1 }, leaseMs)
    const rows = claimed.map((row) => ({ ...row, leaseMs }))
    const isTooNew = ({ type, version }: RemoteClaim) =>
      version > (worker.types.find(({ id }) => id === type)?.version ?? version)
    const tooNew = rows.filter(isTooNew)
    if (tooNew.length === 0) return rows
    await this.#putOff(worker, tooNew)
    return rows.filter((row) => !isTooNew(row))
  }

  /**
   * Claims from a lane that has a limit of slots per worker. Polls of one worker at this server take turns, because two that counted at
   * once would both find a free slot. What a poll at another server claimed meanwhile is counted afterwards, and as many jobs are handed back.
   */
  async #inTurn(worker: RemoteWorker, lane: Lane, wanted: number): Promise<RemoteClaim[]> {
    const turnKey = `${worker.id} ${lane.reader.lane}`
    const before = this.#turns.get(turnKey)
    const turn = (async () => {
      await before?.catch(() => {})
      const running = () => this.#store.remote.runningInLane(worker.id, lane.reader.lane)
      const free = Math.min(wanted, lane.slots - (await running()))
      const rows = free > 0 ? await this.#take(worker, lane, free) : []
      const tooMany = rows.length > 0 ? Math.max(0, (await running()) - lane.slots) : 0
      if (tooMany > 0) await this.handBack(worker, rows.slice(-tooMany))
      return rows.slice(0, Math.max(0, rows.length - tooMany))
    })()
    this.#turns.set(turnKey, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(turnKey) === turn) this.#turns.delete(turnKey)
    }
  }

  /**
   * Such a job was given a newer payload while it stood in the queue. It waits, and becomes blocked where no worker knows that version; a worker
   * that does takes it.
   */
  #putOff(worker: RemoteWorker, rows: readonly RemoteClaim[]): Promise<void> {
    return this.#end(worker, rows, { move: 'snooze', outcome: 'snoozed', delayMs: tooNewMs, failure: null })
  }

  async #end(worker: RemoteWorker, rows: readonly RemoteClaim[], settlement: Settlement): Promise<void> {
    const ended = rows.map((job) => ({ job, settlement, startedAtMs: null, endedAtMs: 0 }))
    await this.#store.settle(worker.id, ended, 0, [])
    await this.#store.remote.closeEmpty(worker.id, [...new Set(rows.map(({ lease }) => lease))])
  }

  /** A caller that does not wait gets one more claim, from the head: the first may have started to read behind a job that was handed back. */
  async #lookFromHead(worker: RemoteWorker, reading: Reading, limit: number): Promise<RemoteClaim[]> {
    const again = reading.lanes.lookAgainInMs()
    if (again > pollMs.notListening) return []
    await sleep(again)
    return this.#look(worker, reading, limit)
  }

  /**
   * Promotes due jobs for all polls that wait here, and reads the lanes of the types that this one asked for. Producers notify for jobs
   * that are due soon, so jobs that are due later are looked for only every two seconds.
   */
  async #promote(reading: Reading): Promise<void> {
    const now = monotonicMs()
    if (now < this.#dueAt && now < reading.staleAt) return
    this.#dueAt = Math.max(this.#dueAt, now + pollMs.notListening)
    const { types } = reading.lanes
    const { promoted, nextInMs, lanes } = await this.#store.tick(promoteAtOnce, distantPast, types).catch(async (error) => {
      if (isConnectionTrouble(error)) throw error
      // A worker that runs the same tick reports what fails; jobs in the queue can be claimed all the same.
      return { promoted: 0, nextInMs: null, lanes: await this.#store.lanesOf(types) }
    })
    reading.lanes.update(lanes)
    reading.staleAt = monotonicMs() + lanesFreshForMs
    const inMs = promoted === promoteAtOnce ? 0 : Math.min(nextInMs ?? pollMs.listening, pollMs.listening)
    this.#dueAt = monotonicMs() + Math.max(pollMs.soonest, inMs)
  }

  #restMs(lanes: Lanes, deadline: number, subscribedAt: number): number {
    const now = monotonicMs()
    const poll = this.#polls.listening ? Math.min(pollMs.listening, lanes.pollMs) : pollMs.notListening
    const asLongAgain = Math.max(pollMs.soonest, now - subscribedAt)
    return Math.max(1, Math.min(deadline - now, poll, asLongAgain, this.#dueAt - now, lanes.lookAgainInMs()))
  }

  #reading(group: string, { types, leaseMs }: ClaimAsk): Reading {
    const known = this.#readings.get(group)
    const ofTypes = { types, atOnce: asMany(), claimable: asMany, inARow: () => 1 }
    const reading = known ?? { lanes: new Lanes(this.#store, [ofTypes], leaseMs, () => {}), staleAt: 0 }
    this.#readings.delete(group)
    this.#readings.set(group, reading)
    const [oldest] = this.#readings.keys()
    if (this.#readings.size > mostReadings && oldest !== undefined) this.#readings.delete(oldest)
    return reading
  }
}
