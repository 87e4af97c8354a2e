import type { Database } from './database.js'
import { statement } from './queries.js'

/** How the numbers of a type stood at a time; times are milliseconds since 1970. */
export interface SampleRow {
  /** 0: the fleet. */
  type: number
  at: number
  /** Between the row before and this moment nothing changed. */
  since: number
  lane: string | null
  /** Enqueued, completed, failed, lost, dead, expired, cancelled, running, workers, wanted. */
  counts: [number, number, number, number, number, number, number, number, number, number]
  /** Priority, waiting, scheduled, blocked, and when the oldest became due, in seconds since 1970. */
  depths: [number, number, number, number, number | null][]
  /** How many attempts took how long, by bucket. */
  runs: number[]
  /** The priority, and how many attempts had been due for how long when they began, by bucket. */
  waits: [number, ...number[]][]
}

/** The samples behind charts. */
export class SampleStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Counts what waits and samples what changed, unless somebody did a moment ago. Answers when it looked, for the next call. `wanted`: how many workers are. */
  async take(previous: string | null, wanted: number | null = null): Promise<string | null> {
    const [row] = await this.#database.query<{ at: string | null }>(statement('takeSamples'), [previous, wanted])
    return row?.at ?? null
  }

  async thin(): Promise<void> {
    await this.#database.query(statement('thinSamples'), [])
  }

  /** By type and time. */
  async read(range: { fromMs: number; toMs: number; stepMs: number }, types: readonly string[] | null): Promise<SampleRow[]> {
    const times = [range.fromMs, range.toMs].map((ms) => new Date(ms).toISOString())
    return this.#database.query(statement('readSamples'), [...times, range.stepMs, types])
  }
}
