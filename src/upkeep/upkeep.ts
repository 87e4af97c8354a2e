import type { Background, Monitor } from '../background/background.js'
import { sleep } from '../clock.js'

/** A chore: does what there is to do once and says whether it should come again at once. */
export interface Chore {
  readonly name: string
  readonly everyMs: number
  /** Nobody waits for it when a worker starts: its first turn too comes after a rest. */
  readonly inNoHurry?: true
  runOnce(): Promise<{ more: boolean }>
}

/**
 * Runs chores again and again. Those of one rhythm go one after the other: a processor that was just woken does four of them
 * for little more than one, and they need one connection. Every worker does; what must not happen twice is decided in the
 * database, not by electing somebody who may have died. A chore that fails is reported and comes again.
 */
export class Upkeep implements Background {
  readonly name = 'upkeep'
  readonly #chores: readonly Chore[]
  readonly #monitor: Monitor
  readonly #stop = new AbortController()
  #running: Promise<unknown> | undefined

  constructor(chores: readonly Chore[], monitor: Monitor) {
    this.#chores = chores
    this.#monitor = monitor
  }

  start(): void {
    const rhythms = new Set(this.#chores.map((chore) => chore.everyMs))
    this.#running ??= Promise.all(
      [...rhythms].map((everyMs) =>
        this.#repeat(
          everyMs,
          this.#chores.filter((chore) => chore.everyMs === everyMs),
        ),
      ),
    )
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #repeat(everyMs: number, chores: readonly Chore[]): Promise<void> {
    const { signal } = this.#stop
    let turn = chores.filter((chore) => !chore.inNoHurry)
    while (!signal.aborted) {
      for (const chore of turn) await this.#finish(chore)
      // The spread keeps a fleet that started together from asking together.
      await sleep(everyMs * (0.75 + Math.random() * 0.5), { signal })
      turn = [...chores]
    }
  }

  async #finish(chore: Chore): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await chore.runOnce()).more);
      this.#monitor.answered(`upkeep of ${chore.name}`)
    } catch (error) {
      this.#monitor.failed(`upkeep of ${chore.name}`, error)
    }
  }
}
