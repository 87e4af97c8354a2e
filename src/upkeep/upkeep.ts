import type { Background, Monitor } from '../background/background.js'
import { sleep } from '../clock.js'
import type { FleetTurn } from './fleet-turn.js'

/** Something that workers do for the database from time to time. runOnce() says whether it should run again at once. */
export interface Chore {
  readonly name: string
  readonly everyMs: number
  /** A worker that starts does not run it at once: nobody waits for it. */
  readonly inNoHurry?: true
  /** One worker of a fleet is enough for it. */
  readonly shared?: true
  runOnce(): Promise<{ more: boolean }>
}

/**
 * Runs chores again and again. Chores of the same interval run one after the other: waking the processor costs more than most of them, and
 * together they need one connection. Shared chores are run by the worker whose turn it is; what must not happen twice is prevented in the
 * database all the same. A chore that fails is reported and runs again.
 */
export class Upkeep implements Background {
  readonly name = 'upkeep'
  readonly #chores: readonly Chore[]
  readonly #monitor: Monitor
  readonly #turn: FleetTurn | undefined
  readonly #stop = new AbortController()
  #running: Promise<unknown> | undefined

  /** Without a turn it runs shared chores too. */
  constructor(chores: readonly Chore[], monitor: Monitor, turn?: FleetTurn) {
    this.#chores = chores
    this.#monitor = monitor
    this.#turn = turn
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
      // The spread keeps workers that started together from running it together.
      await sleep(everyMs * (0.75 + Math.random() * 0.5), { signal })
      turn = [...chores]
    }
  }

  async #finish(chore: Chore): Promise<void> {
    try {
      const runs = !chore.shared || !this.#turn || (await this.#turn.mine())
      while (runs && !this.#stop.signal.aborted && (await chore.runOnce()).more);
      this.#monitor.answered(`upkeep of ${chore.name}`)
    } catch (error) {
      this.#monitor.failed(`upkeep of ${chore.name}`, error)
    }
  }
}
