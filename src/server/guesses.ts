import { HoldfastError } from '../errors.js'
import { TokenBucket } from './token-bucket.js'

const atOnce = 30
const mostRemembered = 10_000

/**
 * Limits how many unknown credentials an address may send. No honest program sends so many that the database has to be asked about;
 * the same wrong one again is answered from the cache and does not count. Credentials that were valid once are always checked, so that
 * one bad client behind a shared address locks nobody out.
 */
export class Guesses {
  readonly #proven = new Set<string>()
  readonly #buckets = new Map<string, TokenBucket>()

  /** Called before the database is asked. Throws if the address has guessed too often. */
  begin(name: string, address: string): void {
    if (this.#proven.has(name)) return
    const bucket = this.#buckets.get(address) ?? new TokenBucket(atOnce)
    if (!this.#buckets.has(address)) remember(this.#buckets, () => this.#buckets.set(address, bucket))
    const waitMs = bucket.take(1)
    if (waitMs === 0) return
    const problem = 'too many wrong keys were sent from this address; try again later'
    throw new HoldfastError('rate_limited', problem, { retryAfterMs: Math.max(1_000, waitMs) })
  }

  /** The credential was valid, so it was not a guess. */
  right(name: string, address: string): void {
    if (this.#proven.has(name)) return
    this.#buckets.get(address)?.spend(-1)
    remember(this.#proven, () => this.#proven.add(name))
  }
}

/** The first in the map is the oldest. So nobody can fill the memory by trying keys. */
function remember(kept: Map<string, unknown> | Set<string>, add: () => void): void {
  if (kept.size >= mostRemembered) kept.delete(kept.keys().next().value as string)
  add()
}
