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
  /** How many of them one slot runs one after the other within 50 ms. */
  inARow(): number
  /** The worker would have claimed some, and could take none. */
  wanted?(): void
}

/** One lane as this worker uses it now, for one group of types. */
export interface Lane {
  readonly reader: LaneReader
  readonly group: TypeGroup
  readonly leaseMs: number
  readonly pollMs: number
  /** How many jobs of the lane may run in this worker at once. */
  readonly slots: number
}

/**
 * The lanes that this worker's types run in. The database lists them in its answer to every tick, so that a change by an operator
 * takes effect with the next one, without a restart.
 *
 * Each group of types has lane readers of its own, so that the worker never holds more jobs than it can run: a reader for several groups
 * would skip jobs of a group without free slots, and would have to read from the head to find them again. The price is one claim for each
 * group that has free slots.
 */
export class Lanes {
  readonly #store: Store
  readonly #groups: readonly TypeGroup[]
  readonly #leaseMs: number
  readonly #onLanes: (lanes: readonly number[]) => void
  readonly #readers = new Map<TypeGroup, Map<number, LaneReader>>()
  #enabled: readonly Lane[] = []
  #ids: readonly number[] = []
  #someDrained = false

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

  /** Every lane whose notifications concern this worker, drained ones too. */
  get ids(): readonly number[] {
    return this.#ids
  }

  /** Whether an operator has drained one of them. */
  get someDrained(): boolean {
    return this.#someDrained
  }

  /** The longest time between two polls: the shortest poll interval of all lanes. */
  get pollMs(): number {
    return Math.min(60_000, ...this.#enabled.map((lane) => lane.pollMs))
  }

  /**
   * How soon to claim again although the last claims found nothing; infinity where all of them read from the head. A lane that is not
   * claimed from, because it has no free slot or its claims are refused, would have the worker look again at once until it is.
   */
  lookAgainInMs(isAsked: (lane: Lane) => boolean = () => true): number {
    return Math.min(...this.#enabled.filter(isAsked).map(({ reader }) => reader.lookAgainInMs))
  }

  /** The types of all groups. */
  get types(): readonly number[] {
    return this.#groups.flatMap((group) => group.types)
  }

  /** Takes over what the database said. True where the lanes are not the same as before. */
  update(rows: readonly WorkerLaneRow[]): boolean {
    this.#enabled = rows.filter((row) => row.enabled).flatMap((row) => this.#lanesOf(row))
    this.#someDrained = rows.some((row) => !row.enabled)
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

  /** A reader is kept as long as the worker lives, because it remembers how far it has read its lane. */
  #reader(lane: number, group: TypeGroup): LaneReader {
    const ofGroup = this.#readers.get(group) ?? new Map<number, LaneReader>()
    this.#readers.set(group, ofGroup)
    const reader = ofGroup.get(lane) ?? new LaneReader(this.#store, lane, group.types)
    ofGroup.set(lane, reader)
    return reader
  }
}
