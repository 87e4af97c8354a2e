import { Wake } from '../claim/wake.js'
import { Listener } from '../store/listener.js'
import type { Store } from '../store/store.js'
import type { WakeUpListener } from '../waking/listener.js'
import type { WakeUps } from '../waking/wake-ups.js'

/** A long poll that waits for jobs of some types. */
export interface Waiter {
  readonly group: string
  readonly worker: number
  readonly wake: Wake
}

/**
 * The long polls of this server, which all wait on one listener; the first one opens it. A notification wakes one poll of each
 * group of types, and a poll that ends wakes the next of its group, so that a hundred waiting workers do not all send a claim for one job.
 */
export class LongPolls {
  readonly #store: Store
  readonly #wakeUps: WakeUps | undefined
  readonly #groups = new Map<string, Waiter[]>()
  readonly #workers = new Map<number, number>()
  readonly #lanes = new Set<number>()
  #listener: Listener | WakeUpListener | undefined

  constructor(store: Store, wakeUps: WakeUps | undefined) {
    this.#store = store
    this.#wakeUps = wakeUps
  }

  get listening(): boolean {
    return this.#listener?.listening ?? false
  }

  enter(group: string, worker: number, lanes: readonly number[]): Waiter {
    const waiter = { group, worker, wake: new Wake() }
    this.#groups.set(group, [...(this.#groups.get(group) ?? []), waiter])
    this.#workers.set(worker, (this.#workers.get(worker) ?? 0) + 1)
    this.#listenTo(lanes)
    return waiter
  }

  /** Unsubscribes the worker once none of its polls waits here. */
  async leave(waiter: Waiter): Promise<void> {
    const left = (this.#groups.get(waiter.group) ?? []).filter((other) => other !== waiter)
    if (left.length > 0) this.#groups.set(waiter.group, left)
    else this.#groups.delete(waiter.group)
    const polls = (this.#workers.get(waiter.worker) ?? 1) - 1
    if (polls > 0) this.#workers.set(waiter.worker, polls)
    else {
      this.#workers.delete(waiter.worker)
      // Where this fails, the upkeep removes the subscription after a while; until then producers notify the worker in vain.
      await this.#store.unsubscribeIdle(waiter.worker).catch(() => {})
    }
  }

  /** Wakes the next poll of this group: there may be more jobs. */
  wakeNext(group: string): void {
    this.#groups.get(group)?.[0]?.wake.signal()
  }

  wakeEverybody(): void {
    for (const waiters of this.#groups.values()) for (const waiter of waiters) waiter.wake.signal()
  }

  async close(): Promise<void> {
    this.wakeEverybody()
    await this.#listener?.stop()
  }

  #listenTo(lanes: readonly number[]): void {
    const known = this.#lanes.size
    for (const lane of lanes) this.#lanes.add(lane)
    if (this.#listener && this.#lanes.size === known) return
    this.#listener ??= this.#listen()
    this.#listener.listenTo([...this.#lanes])
    this.#listener.start()
  }

  #listen(): Listener | WakeUpListener {
    const events = {
      notified: () => {
        for (const group of this.#groups.keys()) this.wakeNext(group)
      },
      ordered: () => {},
      disconnected: () => this.wakeEverybody(),
    }
    return this.#wakeUps?.listener(undefined, events) ?? new Listener(this.#store.database, 'remote', events)
  }
}
