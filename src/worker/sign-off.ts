import type { Background } from '../background/background.js'
import type { Meter } from '../metrics/meter.js'
import type { Store } from '../store/store.js'

/** Tells the database that this worker has ended. A courtesy: a worker that does not sign off is found to be dead by its silence. */
export class SignOff implements Background {
  readonly name = 'sign-off'
  readonly #store: Store
  readonly #worker: number
  readonly #meter: Meter

  constructor(store: Store, worker: number, meter: Meter) {
    this.#store = store
    this.#worker = worker
    this.#meter = meter
  }

  start(): void {}

  async stop(): Promise<void> {
    await this.#meter.note(this.#store.metrics).catch(ignore)
    await this.#store.unsubscribeIdle(this.#worker).catch(ignore)
    await this.#store.workerStopped(this.#worker).catch(ignore)
  }
}

function ignore(): void {}
