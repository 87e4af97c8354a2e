import { monotonicMs } from '../clock.js'
import type { Store } from '../store/store.js'

/** Above this many wake-up calls a second it is cheaper for everybody to look often than to be called. */
const callsPerSecond = 50
const lookOftenMs = 10
const quietAfterMs = 1_000

/**
 * Decides whether producers should call this worker. A call serialises commits in the whole database, so a worker under
 * steady load says that it needs none and looks by itself every few milliseconds; a worker with nothing to do asks to be
 * called and sleeps. Only the changes between the two are written.
 */
export class Doze {
  readonly #store: Store
  readonly #worker: number
  readonly #lanes: () => readonly number[]
  #asleep = false
  #calls: number[] = []
  #workedAt = 0

  constructor(store: Store, worker: number, lanes: () => readonly number[]) {
    this.#store = store
    this.#worker = worker
    this.#lanes = lanes
  }

  called(): void {
    this.#calls.push(monotonicMs())
    if (this.#calls.length > callsPerSecond) this.#calls.shift()
  }

  worked(): void {
    this.#workedAt = monotonicMs()
  }

  /** Called every round: stops being called where calls come thick. */
  async review(): Promise<void> {
    if (this.#asleep && this.#calledOften()) await this.wakeUp()
  }

  /**
   * Called when nothing was found. Returns how long to rest; zero means that something was written and the queue must be
   * looked at once more, because a producer may have looked just before.
   */
  async rest(pollMs: number): Promise<number> {
    if (this.#asleep) return pollMs
    if (this.#calledOften() || monotonicMs() - this.#workedAt < quietAfterMs) return Math.min(lookOftenMs, pollMs)
    await this.#store.fallAsleep(this.#worker, this.#lanes())
    this.#asleep = true
    return 0
  }

  /** Called when no call could be answered for a while, because every slot is taken. */
  async wakeUp(): Promise<void> {
    if (!this.#asleep) return
    await this.#store.stayAwake(this.#worker)
    this.#asleep = false
  }

  /** The database may have forgotten or never heard; say it again at the next rest. */
  forget(): void {
    this.#asleep = false
  }

  #calledOften(): boolean {
    const first = this.#calls[0]
    return this.#calls.length >= callsPerSecond && first !== undefined && monotonicMs() - first < 1_000
  }
}
