import { monotonicMs } from '../clock.js'
import type { Store } from '../store/store.js'

/** Above this many notifications a second, polling every few milliseconds costs everybody less than being notified. */
const notificationsPerSecond = 50
const busyPollMs = 10
const quietAfterMs = 1_000
/** The chore that removes dead workers may have removed a frozen one, so an idle worker subscribes again this often. */
const subscribeAgainMs = 20_000
/**
 * Of several workers idle in the same lanes each polls that many times more rarely, so that an idle fleet costs little more than
 * one idle worker. The factor and the interval are bounded: where notifications do not arrive, a job that only one of the workers
 * can run waits for that worker's poll.
 */
const mostSharing = 4
const sharedPollMs = 8_000

/**
 * Decides whether producers should notify this worker. A NOTIFY serialises commits in the whole database, so a worker under steady
 * load unsubscribes and polls every few milliseconds; an idle worker subscribes and sleeps. Only the changes between the two are
 * written.
 *
 * A producer looks for idle workers before it commits. One that looked just before this worker subscribed notifies nobody, and its
 * job can become visible after the worker's last poll. How long the producer's commit takes is unknown, but it began before the
 * worker subscribed; so an idle worker polls again after 10 ms, and then after as long as it has been subscribed, up to the poll
 * interval. The job is found after at most as long again as its commit took.
 *
 * With that, a committed job of an idle fleet waits for a poll only
 * - while the listening connection is down (then polls come every 200 ms) or half-open and not yet found to be (15 s at most),
 * - where notifications are swallowed: a LISTEN through a pooler in transaction mode,
 * - where all four that were notified of a large fleet have died or are frozen since their last heartbeat, or block their event loop: until the
 *   next poll of any of the fleet.
 * It waits less than that, but longer than for a notification,
 * - when it was committed after jobs that stand behind it, while reading from the head is expensive (LaneReader): 20 times as long as that takes,
 * - when it was enqueued to be due in more than twelve seconds, and its transaction stayed open until it was due: two seconds,
 * - when it is to be retried within two seconds, and its worker dies just after all others have looked for due jobs: two seconds.
 * Idle workers share these looks every two seconds, as they share the polls.
 */
export class IdleSubscription {
  readonly #store: Store
  readonly #worker: number
  readonly #lanes: () => readonly number[]
  #active = false
  /** The database may notify this worker, also where that is not sure. */
  #mayBeNotified = false
  #subscribedAt = 0
  #confirmedAt = 0
  #notifications: number[] = []
  #workedAt = Number.NEGATIVE_INFINITY
  #others = 0

  constructor(store: Store, worker: number, lanes: () => readonly number[]) {
    this.#store = store
    this.#worker = worker
    this.#lanes = lanes
  }

  /** Whether producers have been asked to notify this worker. */
  get active(): boolean {
    return this.#active
  }

  /** How many times more rarely than alone this worker may poll, because others poll too. */
  get sharing(): number {
    return this.#active ? Math.min(mostSharing, 1 + this.#others) : 1
  }

  notified(): void {
    this.#notifications.push(monotonicMs())
    if (this.#notifications.length > notificationsPerSecond) this.#notifications.shift()
  }

  worked(): void {
    this.#workedAt = monotonicMs()
  }

  /** Called every round: unsubscribes where notifications come thick. */
  async review(): Promise<void> {
    if (this.#active && this.#notifiedOften()) await this.end()
  }

  /**
   * Called when nothing was found and notifications can arrive. Returns after how long to poll again; zero means that the worker
   * has just subscribed and must poll once more at once, because a producer may have looked just before.
   */
  async nextPollMs(pollMs: number): Promise<number> {
    const now = monotonicMs()
    // The spread is for fleets that started together. Only downwards: jobs that are due later are counted on to be seen in time.
    const sharedMs = Math.min(sharedPollMs, pollMs * this.sharing) * (0.75 + Math.random() / 4)
    const longestMs = Math.max(pollMs, sharedMs)
    const asLongAgainMs = Math.min(longestMs, Math.max(busyPollMs, now - this.#subscribedAt))
    if (this.#active && now - this.#confirmedAt < subscribeAgainMs) return asLongAgainMs
    if (!this.#active && (this.#notifiedOften() || this.#workedLately())) return Math.min(busyPollMs, pollMs)
    this.#mayBeNotified = true
    const { news, others } = await this.#store.subscribeIdle(this.#worker, this.#lanes())
    this.#confirmedAt = now
    this.#others = others
    if (this.#active && !news) return asLongAgainMs
    this.#active = true
    this.#subscribedAt = monotonicMs()
    return 0
  }

  /** Called when nothing was found and no notification can arrive, so that subscribing would be of no use. */
  nextPollUnnotifiedMs(pollMs: number): number {
    return this.#workedLately() ? Math.min(busyPollMs, pollMs) : pollMs
  }

  /** Called when no notification can be acted on, because every slot is taken. Others are notified instead. */
  async end(): Promise<void> {
    if (!this.#mayBeNotified) return
    await this.#store.unsubscribeIdle(this.#worker)
    this.#active = false
    this.#mayBeNotified = false
  }

  /** The database may have lost the subscription, or never got it: subscribe again at the next idle round. */
  forget(): void {
    this.#active = false
  }

  #workedLately(): boolean {
    return monotonicMs() - this.#workedAt < quietAfterMs
  }

  #notifiedOften(): boolean {
    const first = this.#notifications[0]
    return this.#notifications.length >= notificationsPerSecond && first !== undefined && monotonicMs() - first < 1_000
  }
}
