import { monotonicMs } from '../clock.js'

/**
 * So many requests a second, and a second's worth at once. What costs more than is left is let through and paid back before the
 * next: otherwise a batch larger than a second's worth could never pass.
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

  /** Zero: taken. Otherwise how many milliseconds to wait. */
  take(count: number, now: number = monotonicMs()): number {
    this.#left = Math.min(this.#most, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < 1) return Math.ceil((1 - this.#left) / this.#perMs)
    this.#left -= count
    return 0
  }

  /** For what became dearer than it looked. */
  spend(count: number): void {
    this.#left -= count
  }
}
