import { sleep } from '../clock.js'
import type { Background } from './background.js'

/** How long what can wait does, where what it waits for does not come. */
const patienceMs = 1_000

/**
 * A part that begins when another has done its first round, because the start of a worker is over with its first claim, and what sweeps and counts
 * would take the processor and the connections from it. Where that round fails, as it does while the database is away, the part begins all the same.
 */
export class Afterwards implements Background {
  readonly name: string
  readonly #part: Background
  readonly #waiting = new AbortController()
  #stopped = false
  #beginning: Promise<void> | undefined

  constructor(part: Background) {
    this.name = part.name
    this.#part = part
  }

  start(): void {
    this.#beginning ??= this.#begin()
  }

  /** The first round is done. */
  now(): void {
    this.#waiting.abort()
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopped = true
    this.#waiting.abort()
    await this.#beginning
    await this.#part.stop(withinMs)
  }

  async #begin(): Promise<void> {
    await sleep(patienceMs, { signal: this.#waiting.signal })
    if (!this.#stopped) this.#part.start()
  }
}
