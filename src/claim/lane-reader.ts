import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'

const head: readonly bigint[] = Array<bigint>(10).fill(0n)

/** A read from the head may cost this share of the time, no more. */
const headReadShare = 1 / 20

/**
 * One worker's reading of one lane. It remembers per priority how far it has read and goes on from there, so that the
 * dead entries other claims left at the head are walked over rarely. Jobs that were committed late or handed back stand
 * behind the mark; a claim from the head finds them, and comes as often as its own cost allows.
 */
export class LaneReader {
  readonly lane: number
  readonly types: readonly number[] | null
  readonly #store: Store
  #after: bigint[] = [...head]
  #headReadAllowedAt = 0
  #readFromHead = false

  constructor(store: Store, lane: number, types: readonly number[] | null) {
    this.#store = store
    this.lane = lane
    this.types = types
  }

  async claim(worker: number, most: { limit: number; gated: number }, leaseMs: number): Promise<ClaimedRow[]> {
    const begun = monotonicMs()
    const fromHead = begun >= this.#headReadAllowedAt
    const after = fromHead ? head : this.#after
    // One that is sent behind it goes on from the mark.
    if (fromHead) this.#headReadAllowedAt = Number.POSITIVE_INFINITY
    const ask = { worker, lane: this.lane, types: this.types, ...most, leaseMs, after }
    const rows = await this.#store.claim(ask).catch((error: unknown) => {
      if (fromHead) this.#headReadAllowedAt = 0
      throw error
    })
    this.#readFromHead = fromHead
    for (const { priority, seq } of rows) {
      const position = BigInt(seq)
      if (position > (this.#after[priority] as bigint)) this.#after[priority] = position
    }
    if (fromHead) {
      const now = monotonicMs()
      this.#headReadAllowedAt = now + (now - begun) / headReadShare
    }
    return rows
  }

  /**
   * How soon to look again although the last look found nothing: it may have begun behind the job somebody called for. Zero
   * where a look from the head may come at once, infinity where it has been.
   */
  get lookAgainInMs(): number {
    return this.#readFromHead ? Number.POSITIVE_INFINITY : Math.max(0, this.#headReadAllowedAt - monotonicMs())
  }
}
