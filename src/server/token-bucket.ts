import { monotonicMs } from '../clock.js'

/**
 * A token bucket: `perSecond` requests, and a second's worth at once. A request that costs more than is left passes, and the next one waits
 * until that is paid back: otherwise a request of more jobs than a second's worth could never pass.
 */
export class TokenBucket {
  readonly #perMs: number
  readonly #most: number
  #left: number
  #at: number

  constructor(perSecond: number, now: number = monotonicMs()) {
    this.#perMs = perSecond / 1_000
    this.#most = Math.max(1, perSecond)
    this.#left = this.#most
    this.#at = now
  }

  /** 0 if the request may pass, otherwise how many milliseconds to wait. */
  take(count: number, now: number = monotonicMs()): number {
    this.#left = Math.min(this.#most, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < 1) return Math.ceil((1 - this.#left) / this.#perMs)
    this.#left -= count
    return 0
  }

  /** Takes more for a request that turned out to be more expensive. */
  spend(count: number): void {
    this.#left -= count
  }

  /** Others have left no more than this. */
  lower(left: number): void {
    this.#left = Math.min(this.#left, left)
  }
}
