import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import type { Monitor } from '../background/background.js'
import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import type { Lane, Lanes } from './lanes.js'
import { Refusals } from './refusals.js'

export interface ClaimsEvents {
  /** How many jobs of one lane the worker can take now. */
  claimable(lane: Lane): number
  /** These jobs were claimed. Resolves when they are in their slots or wait for one. */
  claimed(rows: readonly ClaimedRow[], lane: Lane): Promise<void>
  /** A claim that found jobs took so long to be answered. */
  claimTook(ms: number): void
}

const mostPerClaim = 500
/** While claimed jobs have not begun, a claim of fewer jobs than this is not worth a statement. */
const leastToPrefetch = mostPerClaim / 2
const mostUnderWay = 2

/** Jobs of one lane that are claimed or asked for and have not begun. */
interface Expected {
  readonly lane: Lane
  readonly jobs: number
}

interface Asked extends Expected {
  readonly atMs: number
  readonly rows: Promise<readonly ClaimedRow[]>
}

/**
 * Claims from the lanes in turn. Under a load of many short jobs the worker sends the next claim before the jobs of the last one begin, so
 * that the database works while handlers run, and one more behind it, so that the database works while the first waits for the disk. It
 * has to send them before: handlers that await nothing run one after the other without returning to the event loop, and nothing is sent
 * until all of them have ended. The price is that the second claim skips the locked rows of the first.
 */
export class Claims {
  readonly #worker: number
  readonly #lanes: Lanes
  readonly #monitor: Monitor
  readonly #events: ClaimsEvents
  #turn = 0
  #unacknowledged = false
  /** How many jobs a claim may ask for. One, after a claim whose answer never arrived: the jobs of the next may be lost the same way. */
  #most = mostPerClaim
  #wantsSlots = false
  readonly #refusals = new Refusals()

  constructor(worker: number, lanes: Lanes, monitor: Monitor, events: ClaimsEvents) {
    this.#worker = worker
    this.#lanes = lanes
    this.#monitor = monitor
    this.#events = events
  }

  /** Whether a claim was sent whose answer never arrived: it may have taken jobs that this worker does not know of. */
  get unacknowledged(): boolean {
    return this.#unacknowledged
  }

  /** Those jobs have been handed back. */
  released(): void {
    this.#unacknowledged = false
  }

  /** Whether the last round would have claimed more with more free slots. */
  get wantsSlots(): boolean {
    return this.#wantsSlots
  }

  /** Whether the database refuses the claims of any lane. */
  get refused(): boolean {
    return this.#lanes.enabled.some(({ reader }) => this.#refusals.has(reader))
  }

  /** How soon a lane whose claim was refused may be claimed from again; infinity where none was refused. */
  get askAgainInMs(): number {
    return Math.min(...this.#lanes.enabled.map(({ reader }) => this.#refusals.againInMs(reader)))
  }

  /** How soon to claim again from the lanes that the worker claims from, although the last claims found nothing. */
  get lookAgainInMs(): number {
    return this.#lanes.lookAgainInMs((lane) => this.#events.claimable(lane) > 0 && !this.#refusals.rests(lane.reader))
  }

  /** Whether the worker can take a job of any lane now. */
  get canClaim(): boolean {
    return this.#lanes.enabled.some((lane) => this.#events.claimable(lane) > 0)
  }

  /**
   * Claims from every lane, beginning with a different one each time, and from all of them again as long as one gives as many jobs as it
   * was asked for, but not longer than that time. A lane without a free slot is skipped, and so is for a while one whose claim the
   * database refused: a fault in one lane must not stop the others.
   */
  async round(forMs: number, stop: AbortSignal): Promise<{ claimed: number; more: boolean }> {
    const until = monotonicMs() + forMs
    const lanes = this.#lanes.enabled
    let [claimed, left, more] = [0, lanes.length, false]
    this.#wantsSlots = false
    const underWay: Asked[] = []
    const ask = (begun: readonly Expected[]): Asked | undefined => {
      const goesOn = !stop.aborted && (claimed === 0 || monotonicMs() < until)
      for (; goesOn && left > 0; left--) {
        const lane = lanes[this.#turn++ % lanes.length] as Lane
        const asked = this.#ask(lane, [...begun, ...underWay])
        if (asked) return asked
      }
      return undefined
    }
    const prefetch = async (begun: readonly Expected[]): Promise<void> => {
      if (underWay.length === mostUnderWay) return
      const next = ask(begun)
      if (!next) return
      underWay.push(next)
      await this.#sent(next)
    }
    try {
      for (let asked = ask([]); asked; asked = underWay.shift() ?? ask([])) {
        const { lane, jobs } = asked
        const rows = await this.#answered(asked)
        if (!rows) {
          left -= 1
          continue
        }
        this.#most = mostPerClaim
        claimed += rows.length
        more = rows.length >= jobs
        left = more ? lanes.length : left - 1
        const isMuch = rows.length >= leastToPrefetch
        if (isMuch) await prefetch([{ lane, jobs: rows.length }])
        if (rows.length > 0) await this.#events.claimed(rows, lane)
        // Not for types that run one job at a time: somebody may count on their order, and of two claims under way either may be first.
        if (isMuch && underWay.length > 0 && lane.group.atOnce > 1) await prefetch([])
      }
    } catch (error) {
      if (isConnectionTrouble(error)) {
        this.#unacknowledged = true
        this.#most = 1
      }
      await this.#awaitOthers(underWay)
      throw error
    }
    this.#wantsSlots ||= more
    return { claimed, more: more || left > 0 }
  }

  /** Undefined where the database refused the claim. A refused claim took no jobs; only one that was never answered may have. */
  async #answered({ lane, rows, atMs }: Asked): Promise<readonly ClaimedRow[] | undefined> {
    try {
      const answer = await rows
      if (answer.length > 0) this.#events.claimTook(monotonicMs() - atMs)
      this.#refusals.delete(lane.reader)
      return answer
    } catch (error) {
      if (isConnectionTrouble(error)) throw error
      this.#refusals.add(lane.reader)
      this.#monitor.failed('claims', error)
      return undefined
    }
  }

  /** After a failed claim, waits for the others that are under way, so that only the jobs of claims without an answer are handed back. */
  async #awaitOthers(underWay: readonly Asked[]): Promise<void> {
    for (const { rows, lane } of underWay) {
      const answer = await rows.catch(() => [])
      if (answer.length > 0) await this.#events.claimed(answer, lane)
    }
  }

  /** Sends a claim. Undefined where the worker could take no more jobs of this lane, counting those it expects already. */
  #ask(lane: Lane, expected: readonly Expected[]): Asked | undefined {
    if (this.#refusals.rests(lane.reader)) return undefined
    const shared = expected.filter((other) => other.lane.group === lane.group || other.lane.reader.lane === lane.reader.lane)
    const claimable = this.#events.claimable(lane) - shared.reduce((jobs, other) => jobs + other.jobs, 0)
    if (claimable < (expected.length > 0 ? leastToPrefetch : 1)) {
      this.#wantsSlots = true
      lane.group.wanted?.()
      return undefined
    }
    const jobs = Math.min(this.#most, claimable)
    return {
      lane,
      jobs,
      atMs: monotonicMs(),
      rows: lane.reader.claim(this.#worker, { limit: jobs, inARow: lane.group.inARow() }, lane.leaseMs),
    }
  }

  /** Lets the claim be written to the socket. Whether it fails is handled when its turn comes. */
  async #sent({ rows }: Asked): Promise<void> {
    rows.catch(() => {})
    await turnOfTheLoop()
  }
}
