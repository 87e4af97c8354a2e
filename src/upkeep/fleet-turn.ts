import { monotonicMs } from '../clock.js'

/** A worker that has the turn keeps it this long without asking, so that another one takes over within this when it dies or hangs. */
const heldMs = 45_000
const renewAfterMs = 10_000

/**
 * Which worker of a fleet does what one of them is enough for. Nothing depends on it: where two believe that it is theirs, the database
 * keeps them from doing anything twice. The upkeep itself renews it, so that a worker that hangs loses it although its heart beats.
 */
export class FleetTurn {
  readonly #take: (heldMs: number) => Promise<number>
  #mine = false
  #askAt = Number.NEGATIVE_INFINITY

  /** `take`: takes the turn for so many milliseconds where it is free, and says in how many it may be; 0: it is this worker's. */
  constructor(take: (heldMs: number) => Promise<number>) {
    this.#take = take
  }

  /** Asks the database only when the answer may have changed: one statement for many chores. */
  async mine(): Promise<boolean> {
    if (monotonicMs() < this.#askAt) return this.#mine
    const freeInMs = await this.#take(heldMs)
    this.#mine = freeInMs === 0
    this.#askAt = monotonicMs() + (this.#mine ? renewAfterMs : freeInMs)
    return this.#mine
  }
}
