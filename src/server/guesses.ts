import { HoldfastError } from '../errors.js'
import { TokenBucket } from './token-bucket.js'

const atOnce = 30
const mostRemembered = 10_000

/**
 * How often an address may ask with what nobody has been let in with. So many credentials of which the database has to be asked
 * come from no program that means well; the same wrong one again is answered from memory and does not count. What was right once
 * is always asked about: one bad neighbour behind the same address locks nobody out.
 */
export class Guesses {
  readonly #proven = new Set<string>()
  readonly #buckets = new Map<string, TokenBucket>()

  /** Before the database is asked. Throws where the address has guessed too often. */
  begin(name: string, address: string): void {
    if (this.#proven.has(name)) return
    const bucket = this.#buckets.get(address) ?? new TokenBucket(atOnce)
    if (!this.#buckets.has(address)) remember(this.#buckets, () => this.#buckets.set(address, bucket))
    const waitMs = bucket.take(1)
    if (waitMs === 0) return
    const problem = 'too many credentials that nobody has were sent from this address; try again later'
    throw new HoldfastError('rate_limited', problem, { retryAfterMs: Math.max(1_000, waitMs) })
  }

  /** It was no guess. */
  right(name: string, address: string): void {
    if (this.#proven.has(name)) return
    this.#buckets.get(address)?.spend(-1)
    remember(this.#proven, () => this.#proven.add(name))
  }
}

/** The first in it was noted longest ago. Whoever tries keys cannot fill the memory. */
function remember(kept: Map<string, unknown> | Set<string>, add: () => void): void {
  if (kept.size >= mostRemembered) kept.delete(kept.keys().next().value as string)
  add()
}
