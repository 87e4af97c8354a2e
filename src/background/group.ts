import { sleep } from '../clock.js'
import type { Background, Monitor } from './background.js'

export interface Member {
  readonly part: Background
  readonly stopWithinMs: number
}

/** A part gives up by itself when its time is over; the group waits this much longer before it says that it did not. */
const graceMs = 500

/**
 * Starts the parts of a worker or server in their order and stops them in the reverse one. Parts of one stage depend on nothing of each
 * other and stop together. A part that fails to stop, or takes too long, is told to the monitor and left behind, so that it
 * does not keep the parts below it from being stopped.
 */
export class BackgroundGroup {
  readonly #stages: readonly (readonly Member[])[]
  readonly #monitor: Pick<Monitor, 'gaveUp'>
  readonly #begun = new Set<Member>()
  #started = false
  #stopped: Promise<void> | undefined

  constructor(stages: readonly (readonly Member[])[], monitor: Pick<Monitor, 'gaveUp'>) {
    this.#stages = stages
    this.#monitor = monitor
  }

  get stopping(): boolean {
    return this.#stopped !== undefined
  }

  /** Throws what the first part threw that cannot start; those before it are being stopped then, and stop() says when they have. */
  start(): void {
    if (this.#started) return
    this.#started = true
    for (const member of this.#stages.flat()) {
      // A part that has just begun may have had the group stopped.
      if (this.stopping) return
      this.#begun.add(member)
      try {
        member.part.start()
      } catch (error) {
        this.#monitor.gaveUp(member.part.name, error)
        void this.stop()
        throw error
      }
    }
  }

  /** Resolves when every part that began has stopped or was left behind. Never rejects. */
  stop(): Promise<void> {
    this.#started = true
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    // A part that calls stop() from within its start() has begun before it is stopped.
    await Promise.resolve()
    for (const stage of this.#stages.toReversed()) {
      await Promise.all(stage.filter((member) => this.#begun.has(member)).map((member) => this.#stopOne(member)))
    }
  }

  async #stopOne({ part, stopWithinMs }: Member): Promise<void> {
    const waited = new AbortController()
    const late = sleep(stopWithinMs + graceMs, { signal: waited.signal }).then(() => {
      if (!waited.signal.aborted) this.#monitor.gaveUp(part.name, new Error(`did not stop within ${stopWithinMs} ms`))
    })
    const stopped = (async () => part.stop(stopWithinMs))().catch((error: unknown) => this.#monitor.gaveUp(part.name, error))
    await Promise.race([stopped, late])
    waited.abort()
  }
}
