import type { Background } from '../background/background.js'
import { monotonicMs, sleep } from '../clock.js'
import type { SlotPools } from '../run/slot-pools.js'

/** An isolated handler that is handed back has its type's grace time, 10 minutes at most; then its host is ended. */
const longestGraceMs = 605_000
const hostsGoWithinMs = 10_000
const lookEveryMs = 20

/**
 * Ends the running handlers of a worker that stops: a job that waits for a slot is handed back at once, a handler may go on for the
 * drain time, and what runs then is handed back without spending its attempt.
 */
export class Drain implements Background {
  readonly name = 'running jobs'
  readonly #pools: SlotPools
  readonly #drainMs: number
  #hurried = false

  constructor(pools: SlotPools, drainMs: number) {
    this.#pools = pools
    this.#drainMs = drainMs
  }

  get longestMs(): number {
    return this.#drainMs + longestGraceMs + hostsGoWithinMs
  }

  /** The drain time is over, also while handlers have it. */
  hurry(): void {
    this.#hurried = true
  }

  start(): void {}

  async stop(): Promise<void> {
    this.#pools.close()
    await this.#noneRuns(this.#drainMs)
    this.#pools.handBackRunning()
    // Isolated handlers have their grace time, and then their hosts are ended; inline ones are let go at once.
    await this.#noneRuns(longestGraceMs)
    await this.#pools.stop()
  }

  async #noneRuns(withinMs: number): Promise<void> {
    const deadline = monotonicMs() + withinMs
    while (this.#pools.running > 0 && monotonicMs() < deadline && !this.#hurried) await sleep(lookEveryMs)
  }
}
