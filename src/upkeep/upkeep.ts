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
 * Runs chores again and again, each in its own rhythm. Every worker does; what must not happen twice is decided in the
 * database, not by electing somebody who may have died. A chore that fails is reported and comes again.
 */
export class Upkeep {
  readonly #chores: readonly Chore[]
  readonly #onTrouble: (chore: string, error: unknown) => void
  readonly #stop = new AbortController()
  #running: Promise<unknown> | undefined

  constructor(chores: readonly Chore[], onTrouble: (chore: string, error: unknown) => void) {
    this.#chores = chores
    this.#onTrouble = onTrouble
  }

  start(): void {
    this.#running ??= Promise.all(this.#chores.map((chore) => this.#repeat(chore)))
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #repeat(chore: Chore): Promise<void> {
    const { signal } = this.#stop
    // The spread keeps a fleet that started together from asking together.
    const rest = () => sleep(chore.everyMs * (0.75 + Math.random() * 0.5), { signal })
    if (chore.inNoHurry) await rest()
    while (!signal.aborted) {
      let more = false
      try {
        more = (await chore.runOnce()).more
      } catch (error) {
        this.#onTrouble(chore.name, error)
      }
      if (!more) await rest()
    }
  }
}
