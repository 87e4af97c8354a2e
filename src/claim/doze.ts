import { monotonicMs } from '../clock.js'
import type { Store } from '../store/store.js'

/** Above this many wake-up calls a second it is cheaper for everybody to look often than to be called. */
const callsPerSecond = 50
const lookOftenMs = 10
const quietAfterMs = 1_000
/** Whoever cleans up after dead workers may have taken a frozen one for dead; so a sleeper says again that it sleeps. */
const sayAgainMs = 20_000
/**
 * Of so many that sleep in the same lanes each looks that much more rarely, so that a fleet at rest costs little more than a
 * worker at rest. Not more, and not beyond that time: where no call is heard, a job that only one of them can run waits for it.
 */
const mostSharing = 4
const sharedPollMs = 8_000

/**
 * Decides whether producers should call this worker. A call serialises commits in the whole database, so a worker under
 * steady load says that it needs none and looks by itself every few milliseconds; a worker with nothing to do asks to be
 * called and sleeps. Only the changes between the two are written.
 *
 * A producer looks for sleepers before it commits. One that looked just before we lay down calls nobody, and its job can
 * become visible after our last look. How long its commit takes is unknown, but it began before we lay down; so we rest for
 * as long as we have been lying, from 10 ms to the poll, and its job is found after at most as long again.
 *
 * With that, a committed job of an idle fleet waits for such a look only
 * - while the connection that hears calls is down (then every 200 ms) or half-open and not yet found to be (15 s at most),
 * - where calls are swallowed: a LISTEN through a pooler in transaction mode.
 * It waits less than that, but longer than for a call,
 * - when it was committed out of turn while reading from the head is expensive (LaneReader): 20 × that cost,
 * - when it was due later than twelve seconds after it was enqueued, and is committed after that: two seconds,
 * - when it is to be retried within two seconds and everybody else looked just before its worker died: two seconds.
 * Those two seconds are shared by sleepers in the same way.
 */
export class Doze {
  readonly #store: Store
  readonly #worker: number
  readonly #lanes: () => readonly number[]
  #asleep = false
  #liesSince = 0
  #saidAt = 0
  #calls: number[] = []
  #workedAt = Number.NEGATIVE_INFINITY
  #others = 0

  constructor(store: Store, worker: number, lanes: () => readonly number[]) {
    this.#store = store
    this.#worker = worker
    this.#lanes = lanes
  }

  /** Whether producers have been asked to call. */
  get asleep(): boolean {
    return this.#asleep
  }

  /** How many times more rarely than alone this worker may look, because others look too. */
  get sharing(): number {
    return this.#asleep ? Math.min(mostSharing, 1 + this.#others) : 1
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
   * Called when nothing was found and calls can be heard. Returns how long to rest; zero means that something was written
   * and the queue must be looked at once more, because a producer may have looked just before.
   */
  async rest(pollMs: number): Promise<number> {
    const now = monotonicMs()
    // The spread is for fleets that started together. Only downwards: jobs that are due later are counted on to be seen in time.
    const sharedMs = Math.min(sharedPollMs, pollMs * this.sharing) * (0.75 + Math.random() / 4)
    const longestMs = Math.max(pollMs, sharedMs)
    const asLongAgainMs = Math.min(longestMs, Math.max(lookOftenMs, now - this.#liesSince))
    if (this.#asleep && now - this.#saidAt < sayAgainMs) return asLongAgainMs
    if (!this.#asleep && (this.#calledOften() || this.#workedLately())) return Math.min(lookOftenMs, pollMs)
    const { news, others } = await this.#store.fallAsleep(this.#worker, this.#lanes())
    this.#saidAt = now
    this.#others = others
    if (this.#asleep && !news) return asLongAgainMs
    this.#asleep = true
    this.#liesSince = monotonicMs()
    return 0
  }

  /** Called when nothing was found and no call can be heard: there is no point in asking for one. */
  restDeaf(pollMs: number): number {
    return this.#workedLately() ? Math.min(lookOftenMs, pollMs) : pollMs
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

  #workedLately(): boolean {
    return monotonicMs() - this.#workedAt < quietAfterMs
  }

  #calledOften(): boolean {
    const first = this.#calls[0]
    return this.#calls.length >= callsPerSecond && first !== undefined && monotonicMs() - first < 1_000
  }
}
