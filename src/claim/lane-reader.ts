import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'

const head: readonly bigint[] = Array<bigint>(10).fill(0n)

/** A read from the head may cost this share of the time, no more. */
const headReadShare = 1 / 20

/** What may be claimed now: at most so many, of these types. Null: every type of the lane. */
export interface Ask {
  limit: number
  types: readonly number[] | null
}

/**
 * One worker's reading of one lane. It remembers per priority how far it has read and goes on from there, so that the
 * dead entries other claims left at the head are walked over rarely. Jobs that were committed late or handed back stand
 * behind the mark; a claim from the head finds them, and comes as often as its own cost allows.
 */
export class LaneReader {
  readonly lane: number
  readonly #store: Store
  readonly #ask: () => Ask
  #after: bigint[] = [...head]
  #headReadAllowedAt = 0

  constructor(store: Store, lane: number, ask: () => Ask) {
    this.#store = store
    this.lane = lane
    this.#ask = ask
  }

  /** How many jobs can be taken now. */
  get room(): number {
    return this.#ask().limit
  }

  async claim(worker: number, most: number, leaseMs: number): Promise<ClaimedRow[]> {
    const { limit: room, types } = this.#ask()
    const limit = Math.min(room, most)
    if (limit === 0) return []
    const begun = monotonicMs()
    const fromHead = begun >= this.#headReadAllowedAt
    const after = fromHead ? head : this.#after
    const rows = await this.#store.claim({ worker, lane: this.lane, types, limit, leaseMs, after })
    for (const { priority, seq } of rows) {
      const place = BigInt(seq)
      if (place > (this.#after[priority] as bigint)) this.#after[priority] = place
    }
    if (fromHead) {
      const now = monotonicMs()
      this.#headReadAllowedAt = now + (now - begun) / headReadShare
    }
    return rows
  }
}
