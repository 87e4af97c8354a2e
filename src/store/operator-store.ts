import type { Database } from './database.js'
import { statement } from './queries.js'
import type { Depth, DepthRow, GateRow, LaneRow } from './rows.js'

/** Who does something, and why. */
export interface Named {
  by: string
  why: string | null
}

/** How much may wait; null: as much as comes. */
export interface DepthLimit {
  soft: number | null
  hard: number | null
  oldestMs: number | null
}

/** What operators do. Each verb is one function in the database that leaves no half-done state. */
export class OperatorStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Counts what waits, unless that was done a moment ago. Answers how many milliseconds ago. */
  async measureDepths(): Promise<number> {
    const rows = await this.#database.query<{ ago: number | null }>(statement('measureDepths'), [])
    return rows[0]?.ago ?? Number.POSITIVE_INFINITY
  }

  /** The limits these types fall under, with how much waits there. */
  async depthsUnderLimit(types: readonly string[]): Promise<Depth[]> {
    const rows = await this.#database.query<DepthRow>(statement('depthsUnderLimit'), [types])
    return rows.map(({ age, oldest, ...row }) => ({ ...row, ageMs: toNumber(age), oldestMs: toNumber(oldest) }))
  }

  async setDepthLimit(scope: string, name: string, limit: DepthLimit): Promise<void> {
    await this.#database.query(statement('setDepthLimit'), [scope, name, limit.soft, limit.hard, limit.oldestMs])
  }

  async flowLanes(): Promise<LaneRow[]> {
    const rows = await this.#database.query<LaneRow>(statement('readFlowLanes'), [])
    return rows.map((row) => ({ ...row, changed_at: toDate(row.changed_at) }))
  }

  async gate(type: string): Promise<GateRow | undefined> {
    const [row] = await this.#database.query<GateRow>(statement('readGate'), [type])
    if (!row) return undefined
    const { paused_at, stopped_until, breaker_opened_at, breaker_probe_at } = row
    return {
      ...row,
      paused_at: toDate(paused_at),
      stopped_until: toDate(stopped_until),
      breaker_opened_at: toDate(breaker_opened_at),
      breaker_probe_at: toDate(breaker_probe_at),
    }
  }

  async setLane(lane: string, fields: string, who: Named, create: boolean): Promise<void> {
    await this.#database.query(statement('setLane'), [lane, fields, who.by, who.why, create])
  }

  async moveType(type: string, lane: string): Promise<number> {
    await this.#database.query(statement('setTypeLane'), [type, lane])
    let total = 0
    for (;;) {
      const rows = await this.#database.query<{ moved: number }>(statement('moveJobsToLane'), [type, 5_000])
      const moved = rows[0]?.moved ?? 0
      total += moved
      if (moved === 0) return total
    }
  }

  async setLimits(type: string, limits: string): Promise<void> {
    await this.#database.query(statement('setLimits'), [type, limits])
  }

  async pauseType(type: string, who: Named): Promise<void> {
    await this.#database.query(statement('pauseType'), [type, who.by, who.why])
  }

  async resumeType(type: string): Promise<void> {
    await this.#database.query(statement('resumeType'), [type])
  }

  async pauseKey(type: string, key: string, who: Named): Promise<void> {
    await this.#database.query(statement('pauseKey'), [type, key, who.by, who.why])
  }

  async resumeKey(type: string, key: string): Promise<void> {
    await this.#database.query(statement('resumeKey'), [type, key])
  }

  async setWeight(type: string, key: string, weight: number): Promise<void> {
    await this.#database.query(statement('setWeight'), [type, key, weight])
  }

  async operateBreaker(type: string, action: string, who: Named): Promise<void> {
    await this.#database.query(statement('operateBreaker'), [type, action, who.by, who.why])
  }
}

/** A time leaves the database as milliseconds since 1970. */
function toDate(ms: Date | number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** A numeric column comes as text. */
function toNumber(value: string | number | null): number | null {
  return value === null ? null : Number(value)
}
