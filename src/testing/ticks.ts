import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { Scheduler } from '../schedule/scheduler.js'

const ignored = { asking() {}, answered() {}, failed() {}, gaveUp() {} }

/**
 * The schedules of a queue that is drained. The worker that drains looks at them too, but up to ten seconds after the clock was moved. This
 * one goes by the name of that worker, whose turn to fire is thus its own.
 */
export class Ticks {
  readonly #holdfast: Holdfast
  readonly #scheduler: Scheduler

  /** `failed` is told why a schedule could not be fired. */
  constructor(holdfast: Holdfast, worker: number, failed: (trouble: string) => void) {
    const { store, privacy } = insideOf(holdfast)
    this.#holdfast = holdfast
    this.#scheduler = new Scheduler(store.schedules, privacy, worker, ignored, {
      tell(_, event) {
        if ('error' in event) failed(`schedule ${event.schedule}: ${event.error}`)
      },
    })
  }

  /** Fires what is due, and answers when the next schedule is; null: none is ahead. */
  async fire(): Promise<string | null> {
    let nextInMs: number | null
    do nextInMs = await this.#scheduler.look()
    while (nextInMs === 0)
    if (nextInMs === null) return null
    // Read after the look, and so not before the tick.
    const now = await insideOf(this.#holdfast).store.inspect.now()
    return new Date(Math.ceil(now.getTime() + nextInMs)).toISOString()
  }
}
