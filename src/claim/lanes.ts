import type { WorkerLaneRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { LaneReader } from './lane-reader.js'

/** Types that share slots of this worker. */
export interface TypeGroup {
  readonly types: readonly number[]
  /** How many of them run at once, at most. */
  readonly atOnce: number
  /** How many more of them the worker may claim now. */
  claimable(): number
  /** How many of them could start at once. */
  startable(): number
}

/** One lane as this worker uses it now, for one group of types. */
export interface Lane {
  readonly reader: LaneReader
  readonly group: TypeGroup
  readonly leaseMs: number
  readonly pollMs: number
  /** Most jobs of it running here at once. */
  readonly slots: number
}

/**
 * The lanes this worker's types run in, as the database said last. It says so with every look for what is due, so that a
 * change by an operator takes effect within one look, without a restart.
 *
 * Each group of types has readers of its own, so that never more jobs are held than can run: one that reads for several
 * groups and passes over those that are full would have to read from the head to find their jobs again. The price is a
 * statement for each group that has room.
 */
export class Lanes {
  readonly #store: Store
  readonly #groups: readonly TypeGroup[]
  readonly #leaseMs: number
  readonly #onLanes: (lanes: readonly number[]) => void
  readonly #readers = new Map<TypeGroup, Map<number, LaneReader>>()
  #enabled: readonly Lane[] = []
  #ids: readonly number[] = []

  constructor(store: Store, groups: readonly TypeGroup[], leaseMs: number, onLanes: (lanes: readonly number[]) => void) {
    this.#store = store
    this.#groups = groups
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

  /** How soon to look again although the last looks found nothing; infinity where all of them began at the head. */
  get lookAgainInMs(): number {
    return Math.min(...this.#enabled.map((lane) => lane.reader.lookAgainInMs))
  }

  /** The types that are asked about. */
  get types(): readonly number[] {
    return this.#groups.flatMap((group) => group.types)
  }

  /** True where they are not the same as before. */
  update(rows: readonly WorkerLaneRow[]): boolean {
    this.#enabled = rows.filter((row) => row.enabled).flatMap((row) => this.#lanesOf(row))
    const ids = rows.map((row) => row.id)
    if (ids.join() === this.#ids.join()) return false
    this.#ids = ids
    this.#onLanes(ids)
    return true
  }

  #lanesOf(row: WorkerLaneRow): Lane[] {
    const groups = this.#groups.filter((group) => group.types.some((type) => row.types.includes(type)))
    return groups.map((group) => ({
      reader: this.#reader(row.id, group),
      group,
      leaseMs: row.lease ?? this.#leaseMs,
      pollMs: row.poll,
      slots: row.slots ?? Number.POSITIVE_INFINITY,
    }))
  }

  /** Kept as long as the worker lives: it remembers how far the lane has been read. */
  #reader(lane: number, group: TypeGroup): LaneReader {
    const ofGroup = this.#readers.get(group) ?? new Map<number, LaneReader>()
    this.#readers.set(group, ofGroup)
    const reader = ofGroup.get(lane) ?? new LaneReader(this.#store, lane, group.types)
    ofGroup.set(lane, reader)
    return reader
  }
}
