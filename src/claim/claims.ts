import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Lane, Lanes } from './lanes.js'

export interface ClaimsEvents {
  /** How many jobs can be taken now from one lane. */
  room(lane: Lane): number
  /** The next one is waited for when these jobs are where they run. */
  claimed(rows: readonly ClaimedRow[], lane: Lane): Promise<void>
}

const mostPerClaim = 500
/** Ahead of jobs that have not begun yet, less than this is not worth a statement. */
const leastAhead = mostPerClaim / 2

interface Asked {
  readonly lane: Lane
  /** With as many as this there may be more. */
  readonly enough: number
  readonly rows: Promise<readonly ClaimedRow[]>
}

/**
 * Claims from the lanes in turn. Never two claims at once: a second one would read past the rows of the first. But the next
 * one is sent before the jobs of the last begin, so that the database works while they do. Handlers that do nothing end one
 * after the other without once returning to the event loop, and what is to be sent after them is sent after them all.
 */
export class Claims {
  readonly #worker: number
  readonly #lanes: Lanes
  readonly #events: ClaimsEvents
  #turn = 0
  #unheard = false
  #wantsRoom = false

  constructor(worker: number, lanes: Lanes, events: ClaimsEvents) {
    this.#worker = worker
    this.#lanes = lanes
    this.#events = events
  }

  /** A claim went out and its answer never came: jobs may be held in this worker's name that it does not know of. */
  get unheard(): boolean {
    return this.#unheard
  }

  /** They have been handed back. */
  heard(): void {
    this.#unheard = false
  }

  /** Whether the last round could have had more with more room. */
  get wantsRoom(): boolean {
    return this.#wantsRoom
  }

  get hasRoom(): boolean {
    return this.#lanes.enabled.some((lane) => this.#events.room(lane) > 0)
  }

  /**
   * Asks every lane, a different one first each time, and all of them again as long as one of them gives as many as it was
   * asked for; not longer than that time. A lane without room is passed over.
   */
  async round(forMs: number, stop: AbortSignal): Promise<{ claimed: number; more: boolean }> {
    const until = monotonicMs() + forMs
    const lanes = this.#lanes.enabled
    let [claimed, left, more] = [0, lanes.length, false]
    this.#wantsRoom = false
    const ask = (begun?: { lane: Lane; rows: number }): Asked | undefined => {
      const goesOn = !stop.aborted && (claimed === 0 || monotonicMs() < until)
      for (; goesOn && left > 0; left--) {
        const lane = lanes[this.#turn++ % lanes.length] as Lane
        const asked = this.#ask(lane, begun)
        if (asked) return asked
      }
      return undefined
    }
    for (let asked = ask(); asked; ) {
      const { lane, enough } = asked
      const rows = await asked.rows
      this.#unheard = false
      claimed += rows.length
      more = rows.length >= enough
      left = more ? lanes.length : left - 1
      const ahead = rows.length >= leastAhead ? ask({ lane, rows: rows.length }) : undefined
      if (ahead) await this.#sent(ahead)
      if (rows.length > 0) await this.#events.claimed(rows, lane)
      asked = ahead ?? ask()
    }
    this.#wantsRoom ||= more
    return { claimed, more: more || left > 0 }
  }

  /** Nothing where there is no room, counting what has been claimed and has not begun. */
  #ask(lane: Lane, begun?: { lane: Lane; rows: number }): Asked | undefined {
    const shared = begun && (begun.lane.group === lane.group || begun.lane.reader.lane === lane.reader.lane)
    const room = this.#events.room(lane) - (shared ? begun.rows : 0)
    if (room < (begun ? leastAhead : 1)) {
      this.#wantsRoom = true
      return undefined
    }
    const limit = Math.min(mostPerClaim, room)
    // One even where every slot is taken: those are of handlers so short that it starts in a moment.
    const gated = shared ? 1 : Math.max(1, lane.group.startable())
    this.#unheard = true
    return { lane, enough: Math.min(limit, gated), rows: lane.reader.claim(this.#worker, { limit, gated }, lane.leaseMs) }
  }

  /** What goes wrong with it is heard when its turn comes. */
  async #sent({ rows }: Asked): Promise<void> {
    rows.catch(() => {})
    await turnOfTheLoop()
  }
}
