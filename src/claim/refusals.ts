import { monotonicMs } from '../clock.js'
import type { LaneReader } from './lane-reader.js'

const pauseMs = { first: 100, most: 5_000 }

/** The lanes whose last claim the database refused. Each is passed over for a while, longer each time, and the others are not. */
export class Refusals {
  readonly #rests = new Map<LaneReader, { until: number; pauseMs: number }>()

  add(reader: LaneReader): void {
    const pause = Math.min((this.#rests.get(reader)?.pauseMs ?? pauseMs.first / 2) * 2, pauseMs.most)
    // Apart from each other: many workers are refused at the same moment.
    this.#rests.set(reader, { until: monotonicMs() + pause * (0.5 + Math.random()), pauseMs: pause })
  }

  delete(reader: LaneReader): void {
    if (this.#rests.size > 0) this.#rests.delete(reader)
  }

  has(reader: LaneReader): boolean {
    return this.#rests.has(reader)
  }

  /** Whether it is passed over now. */
  rests(reader: LaneReader): boolean {
    return monotonicMs() < (this.#rests.get(reader)?.until ?? 0)
  }

  /** How soon it is asked again; infinity where it was not refused. */
  againInMs(reader: LaneReader): number {
    const rest = this.#rests.get(reader)
    return rest ? Math.max(0, rest.until - monotonicMs()) : Number.POSITIVE_INFINITY
  }
}
