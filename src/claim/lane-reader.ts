import { monotonicMs } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'

const head: readonly bigint[] = Array<bigint>(10).fill(0n)

/** Claims that read from the head take at most this share of the time. */
const headReadShare = 1 / 20

/**
 * One worker's claims from one lane. The reader remembers for each priority the position up to which it has read and goes on from there,
 * so that it rarely walks over the dead index entries that other claims left at the head. A job that was committed late or handed back
 * has a smaller position; a claim from the head finds it, and the reader makes one as often as its cost allows.
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

  async claim(worker: number, most: { limit: number; inARow: number }, leaseMs: number): Promise<ClaimedRow[]> {
    const begun = monotonicMs()
    const fromHead = begun >= this.#headReadAllowedAt
    const after = fromHead ? head : this.#after
    // A claim that is sent before this one is answered reads on from the remembered position.
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
   * How soon to claim again although the last claim found nothing: it may have started to read behind the job of a notification. Zero where
   * a claim from the head may be sent at once, infinity where the last one was from the head.
   */
  get lookAgainInMs(): number {
    return this.#readFromHead ? Number.POSITIVE_INFINITY : Math.max(0, this.#headReadAllowedAt - monotonicMs())
  }
}
