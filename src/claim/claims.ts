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
  /** The next one is waited for when these jobs are where they run. */
  claimed(rows: readonly ClaimedRow[], lane: Lane): Promise<void>
}

const mostPerClaim = 500
/** Ahead of jobs that have not begun yet, less than this is not worth a statement. */
const leastAhead = mostPerClaim / 2
const mostUnderWay = 2

/** Jobs of one lane that are claimed or asked for and have not begun. */
interface Expected {
  readonly lane: Lane
  readonly jobs: number
}

interface Asked extends Expected {
  /** With as many as this there may be more. */
  readonly enough: number
  readonly rows: Promise<readonly ClaimedRow[]>
}

/**
 * Claims from the lanes in turn. Where there is much to do and little to do about each job, the next claim is sent before the
 * jobs of the last begin, so that the database works while they do, and another one behind it, so that it works while one
 * waits for the disk. Handlers that do nothing end one after the other without once returning to the event loop, and what is
 * to be sent after them is sent after them all. The price: the second claim reads past the rows of the first.
 */
export class Claims {
  readonly #worker: number
  readonly #lanes: Lanes
  readonly #monitor: Monitor
  readonly #events: ClaimsEvents
  #turn = 0
  #unacknowledged = false
  /** One after a claim whose answer never came: where answers are lost, so would be the jobs of the next one. */
  #most = mostPerClaim
  #wantsSlots = false
  readonly #refusals = new Refusals()

  constructor(worker: number, lanes: Lanes, monitor: Monitor, events: ClaimsEvents) {
    this.#worker = worker
    this.#lanes = lanes
    this.#monitor = monitor
    this.#events = events
  }

  /** A claim went out and its answer never came: jobs may be held in this worker's name that it does not know of. */
  get unacknowledged(): boolean {
    return this.#unacknowledged
  }

  /** They have been handed back. */
  heard(): void {
    this.#unacknowledged = false
  }

  /** Whether the last round could have had more with more room. */
  get wantsSlots(): boolean {
    return this.#wantsSlots
  }

  /** Whether the database refuses the claims of any lane. */
  get refused(): boolean {
    return this.#lanes.enabled.some(({ reader }) => this.#refusals.has(reader))
  }

  /** How soon a lane that was refused may be asked again; infinity where none was. */
  get askAgainInMs(): number {
    return Math.min(...this.#lanes.enabled.map(({ reader }) => this.#refusals.againInMs(reader)))
  }

  /** Whether the worker can take a job of any lane now. */
  get canClaim(): boolean {
    return this.#lanes.enabled.some((lane) => this.#events.claimable(lane) > 0)
  }

  /**
   * Asks every lane, a different one first each time, and all of them again as long as one of them gives as many as it was
   * asked for; not longer than that time. A lane without room is passed over, and so is for a while one whose claim the database
   * refused: what is wrong with one lane must not keep the others from running.
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
    const askAhead = async (begun: readonly Expected[]): Promise<void> => {
      if (underWay.length === mostUnderWay) return
      const ahead = ask(begun)
      if (!ahead) return
      underWay.push(ahead)
      await this.#sent(ahead)
    }
    try {
      for (let asked = ask([]); asked; asked = underWay.shift() ?? ask([])) {
        const { lane, enough } = asked
        const rows = await this.#answered(asked)
        if (!rows) {
          left -= 1
          continue
        }
        this.#most = mostPerClaim
        claimed += rows.length
        more = rows.length >= enough
        left = more ? lanes.length : left - 1
        const isMuch = rows.length >= leastAhead
        if (isMuch) await askAhead([{ lane, jobs: rows.length }])
        if (rows.length > 0) await this.#events.claimed(rows, lane)
        // Where one runs at a time, somebody may count on their order, and two claims under way may pass each other.
        if (isMuch && underWay.length > 0 && lane.group.atOnce > 1) await askAhead([])
      }
    } catch (error) {
      if (isConnectionTrouble(error)) {
        this.#unacknowledged = true
        this.#most = 1
      }
      await this.#hearOut(underWay)
      throw error
    }
    this.#wantsSlots ||= more
    return { claimed, more: more || left > 0 }
  }

  /** Nothing where the database refused it. What it refused it has not done; only what it left unanswered it may have done. */
  async #answered({ lane, rows }: Asked): Promise<readonly ClaimedRow[] | undefined> {
    try {
      const answer = await rows
      this.#refusals.delete(lane.reader)
      return answer
    } catch (error) {
      if (isConnectionTrouble(error)) throw error
      this.#refusals.add(lane.reader)
      this.#monitor.failed('claims', error)
      return undefined
    }
  }

  /** After a failure: what the other claims hold is known then, and only what nobody heard of is handed back. */
  async #hearOut(underWay: readonly Asked[]): Promise<void> {
    for (const { rows, lane } of underWay) {
      const heard = await rows.catch(() => [])
      if (heard.length > 0) await this.#events.claimed(heard, lane)
    }
  }

  /** Nothing where there is no room, counting what is expected already. */
  #ask(lane: Lane, expected: readonly Expected[]): Asked | undefined {
    if (this.#refusals.rests(lane.reader)) return undefined
    const shared = expected.filter((other) => other.lane.group === lane.group || other.lane.reader.lane === lane.reader.lane)
    const room = this.#events.claimable(lane) - shared.reduce((jobs, other) => jobs + other.jobs, 0)
    if (room < (expected.length > 0 ? leastAhead : 1)) {
      this.#wantsSlots = true
      return undefined
    }
    const jobs = Math.min(this.#most, room)
    // One even where every slot is taken: those are of handlers so short that it starts in a moment.
    const gated = shared.length > 0 ? 1 : Math.max(1, lane.group.startable())
    return {
      lane,
      jobs,
      enough: Math.min(jobs, gated),
      rows: lane.reader.claim(this.#worker, { limit: jobs, gated }, lane.leaseMs),
    }
  }

  /** What goes wrong with it is heard when its turn comes. */
  async #sent({ rows }: Asked): Promise<void> {
    rows.catch(() => {})
    await turnOfTheLoop()
  }
}
