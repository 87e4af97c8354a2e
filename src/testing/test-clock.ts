import { type Duration, toMilliseconds } from '../job/duration.js'
import { notA } from '../job/refused.js'
import type { Store } from '../store/store.js'

/**
 * The clock of a scratch queue. It is the database's own, so everything that is decided by time (what is due, when a
 * lease ends, how long finished jobs are kept) is decided by it, in every process that uses that database. Time goes on
 * running from the point it was moved to. What happens inside this process, such as the timeout of a handler or
 * `Date.now()`, is not moved.
 *
 * A lease ends by this clock too. Moving it further than the lease of a worker that is running a job means what it would
 * mean in production: that worker was not heard of for so long, so its job is given to another. Move time while nothing
 * runs, or on purpose. (`drain` holds its jobs for 24 days, so that a handler may move the clock.)
 */
export class TestClock {
  readonly #store: Store

  /** @internal */
  constructor(store: Store) {
    this.#store = store
  }

  /** What time it is in the database. */
  async now(): Promise<Date> {
    return this.#store.inspect.now()
  }

  /** Moves on by that much, and wakes every worker to look at what is due now. */
  async advance(by: Duration): Promise<void> {
    await this.#store.moveClock({ byMs: toMilliseconds(by, 'the duration given to advance') })
  }

  /** Moves to that time, and wakes every worker. Back is allowed; what was due before stays due. */
  async set(to: Date): Promise<void> {
    if (!(to instanceof Date) || Number.isNaN(to.getTime())) {
      throw notA('to', to, 'a valid Date')
    }
    await this.#store.moveClock({ to: to.toISOString() })
  }
}
