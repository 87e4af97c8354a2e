import { monotonicMs } from '../clock.js'
import type { Store } from '../store/store.js'
import { LaneReader } from './lane-reader.js'

/** One lane as this worker uses it now. */
export interface Lane {
  readonly reader: LaneReader
  readonly leaseMs: number
  readonly pollMs: number
  /** Most jobs of it running here at once. */
  readonly slots: number
}

const readEveryMs = 1_000

/**
 * The lanes this worker's types run in, as the database says. They are read again while working, so that a change by an
 * operator takes effect within one look at the queue, without a restart.
 */
export class Lanes {
  readonly #store: Store
  readonly #types: readonly number[]
  readonly #leaseMs: number
  readonly #onLanes: (lanes: readonly number[]) => void
  readonly #readers = new Map<number, LaneReader>()
  #readAt = Number.NEGATIVE_INFINITY
  #enabled: readonly Lane[] = []
  #ids: readonly number[] = []

  constructor(store: Store, types: readonly number[], leaseMs: number, onLanes: (lanes: readonly number[]) => void) {
    this.#store = store
    this.#types = types
    this.#leaseMs = leaseMs
    this.#onLanes = onLanes
  }

  /** The lanes to claim from. */
  get enabled(): readonly Lane[] {
    return this.#enabled
  }

  /** Every lane whose calls concern this worker, drained ones too. */
  get ids(): readonly number[] {
    return this.#ids
  }

  /** How long at most to rest between two looks: as long as the most impatient lane. */
  get pollMs(): number {
    return Math.min(60_000, ...this.#enabled.map((lane) => lane.pollMs))
  }

  /** Reads the lanes again unless that was done a moment ago. True where they are not the same as before. */
  async refresh(): Promise<boolean> {
    if (monotonicMs() - this.#readAt < readEveryMs) return false
    const rows = await this.#store.lanesOfTypes(this.#types)
    this.#readAt = monotonicMs()
    this.#enabled = rows
      .filter((row) => row.enabled)
      .map((row) => ({
        reader: this.#reader(row.id),
        leaseMs: row.lease ?? this.#leaseMs,
        pollMs: row.poll,
        slots: row.slots ?? Number.POSITIVE_INFINITY,
      }))
    const ids = rows.map((row) => row.id)
    if (ids.join() === this.#ids.join()) return false
    this.#ids = ids
    this.#onLanes(ids)
    return true
  }

  /** Kept as long as the worker lives: it remembers how far the lane has been read. */
  #reader(lane: number): LaneReader {
    const reader = this.#readers.get(lane) ?? new LaneReader(this.#store, lane, this.#types)
    this.#readers.set(lane, reader)
    return reader
  }
}
