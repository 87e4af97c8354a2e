import { monotonicMs } from '../clock.js'
import type { LaneReader } from './lane-reader.js'

const pauseMs = { first: 100, most: 5_000 }

/** The lanes whose last claim the database refused. The worker skips each of them for a while, twice as long each time, and claims from the others. */
export class Refusals {
  readonly #rests = new Map<LaneReader, { until: number; pauseMs: number }>()

  add(reader: LaneReader): void {
    const pause = Math.min((this.#rests.get(reader)?.pauseMs ?? pauseMs.first / 2) * 2, pauseMs.most)
    // A random time, because many workers are refused at the same moment and should not try again at the same moment.
    this.#rests.set(reader, { until: monotonicMs() + pause * (0.5 + Math.random()), pauseMs: pause })
  }

  delete(reader: LaneReader): void {
    if (this.#rests.size > 0) this.#rests.delete(reader)
  }

  has(reader: LaneReader): boolean {
    return this.#rests.has(reader)
  }

  /** Whether its lane is skipped now. */
  rests(reader: LaneReader): boolean {
    return monotonicMs() < (this.#rests.get(reader)?.until ?? 0)
  }

  /** How soon its lane may be claimed from again; infinity where it was not refused. */
  againInMs(reader: LaneReader): number {
    const rest = this.#rests.get(reader)
    return rest ? Math.max(0, rest.until - monotonicMs()) : Number.POSITIVE_INFINITY
  }
}
