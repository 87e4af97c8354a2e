import type { RecordedActor } from '../job/actor.js'
import { BuildStore } from './build-store.js'
import type { Database } from './database.js'
import type { Depth, DepthRow, WaitReason } from './load-rows.js'
import { statement } from './queries.js'
import type { SlotRow, StoredType } from './rows.js'
import { SettingsStore } from './settings-store.js'
import type { Queryable } from './transaction.js'
import { VerificationStore } from './verification-store.js'

/** How much may wait; null: as much as comes. */
export interface DepthLimit {
  soft: number | null
  hard: number | null
  oldestMs: number | null
  /** How many may wait otherwise than for a worker. */
  most: Partial<Record<WaitReason, number>>
}

/** What operators do. Each verb is one function in the database that leaves no half-done state. */
export class OperatorStore {
  readonly #database: Database
  readonly settings: SettingsStore
  readonly builds: BuildStore
  readonly verification: VerificationStore

  constructor(database: Database) {
    this.#database = database
    this.settings = new SettingsStore(database)
    this.builds = new BuildStore(database)
    this.verification = new VerificationStore(database)
  }

  /** Whether a connection can be had without waiting for one that the caller holds. */
  get hasFreeConnection(): boolean {
    return this.#database.hasFreeConnection
  }

  /** Counts what waits, unless that was done a moment ago. Answers how many milliseconds ago. */
  async measureDepths(): Promise<number> {
    const rows = await this.#database.query<{ ago: number | null }>(statement('measureDepths'), [])
    return rows[0]?.ago ?? Number.POSITIVE_INFINITY
  }

  /** The limits these types fall under, with how much waits there. */
  async depthsUnderLimit(types: readonly string[], tx?: Queryable): Promise<Depth[]> {
    const ask = statement('depthsUnderLimit')
    const rows = tx
      ? await tx.query<DepthRow>(this.#database.rendered(ask).text, [types])
      : await this.#database.query<DepthRow>(ask, [types])
    return rows.map(({ age, oldest, ...row }) => ({ ...row, ageMs: toNumber(age), oldestMs: toNumber(oldest) }))
  }

  async setDepthLimit(scope: string, name: string, limit: DepthLimit, who: RecordedActor): Promise<void> {
    const { soft, hard, oldestMs, most } = limit
    const values = [scope, name, soft, hard, oldestMs, who.by, who.why, who.from, JSON.stringify(most)]
    await this.#database.query(statement('setDepthLimit'), values)
  }

  /** Takes the next stretch of time for so many paced jobs of these types. Answers when it begins, in milliseconds since 1970. */
  async reservePace(types: readonly string[], jobs: number, perSecond: number, tx?: Queryable): Promise<number> {
    const ask = statement('reservePace')
    const values = [types, jobs, perSecond]
    const rows = tx
      ? await tx.query<{ begins: number }>(this.#database.rendered(ask).text, values)
      : await this.#database.query<{ begins: number }>(ask, values)
    return Number(rows[0]?.begins)
  }

  /** Every limit of how much may wait, with how much did when it was counted last. */
  async depthLimits(): Promise<DepthRow[]> {
    return this.#database.query<DepthRow>(statement('readDepthLimits'), [])
  }

  /** Keys of a type about which something was set, or one key. */
  async keyStates<State>(type: string, key: string | null): Promise<State[]> {
    return (await this.#database.query<{ state: State }>(statement('keyStates'), [type, key])).map((row) => row.state)
  }

  /** Every lane as it is now, in the form the statement gives it. */
  async laneStates<State>(): Promise<State[]> {
    return (await this.#database.query<{ state: State }>(statement('laneStates'), [])).map((row) => row.state)
  }

  /** The jobs that take slots of a lane, the oldest first. */
  async laneSlots(lane: string, limit: number): Promise<SlotRow[]> {
    return this.#database.query(statement('laneSlots'), [lane, limit])
  }

  /** Defines a type, or changes the settings that are named, as they are stored. */
  async defineType(type: string, fields: string, guards: boolean, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('defineType'), [type, fields, guards, who.by, who.why, who.from])
  }

  /** Refuses a payload that does not fit the stored schema of its type. */
  async refuseUnfit(id: string, type: string, payload: string): Promise<void> {
    await this.#database.query(statement('refuseUnfit'), [id, type, payload])
  }

  /** Every stored setting of a type, and since when it is registered; undefined: there is none. */
  async typeSettings<Override>(type: string) {
    type Row = { settings: StoredType | null; registered: number; overrides: Override[] }
    const { settings, registered, overrides = [] } = (await this.#database.query<Row>(statement('typeSettings'), [type]))[0] ?? {}
    return settings ? { settings, registered: Number(registered), overrides } : undefined
  }

  /** The gates there are, or the one of a type. */
  async gateStates<State>(type: string | null): Promise<State[]> {
    return (await this.#database.query<{ state: State }>(statement('gateStates'), [type])).map((row) => row.state)
  }

  /** All dependencies, or the one of that name. */
  async dependencyStates<State>(name: string | null): Promise<State[]> {
    return (await this.#database.query<{ state: State }>(statement('dependencyStates'), [name])).map((row) => row.state)
  }

  /** Applies the limits of defined dependencies that changed since a worker last started with them. */
  async defineDependencies(all: readonly { name: string; limits: string | undefined }[]): Promise<void> {
    const values = [all.map(({ name }) => name), all.map(({ limits }) => limits ?? null)]
    if (all.length > 0) await this.#database.query(statement('defineDependencies'), values)
  }

  async limitDependency(name: string, limits: string, who: RecordedActor, create: boolean, forMs: number | null): Promise<void> {
    await this.#database.query(statement('limitDependency'), [name, limits, who.by, who.why, who.from, create, forMs])
  }

  /** Gives limits back to the code; null: all of them. */
  async releaseDependency(name: string, fields: readonly string[] | null, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('releaseDependency'), [name, fields, who.by, who.why, who.from])
  }

  async pauseDependency(name: string, who: RecordedActor, forMs: number | null): Promise<void> {
    await this.#database.query(statement('pauseDependency'), [name, who.by, who.why, who.from, forMs])
  }

  async resumeDependency(name: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('resumeDependency'), [name, who.by, who.why, who.from])
  }

  async operateDependencyBreaker(name: string, action: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('operateDependencyBreaker'), [name, action, who.by, who.why, who.from])
  }

  async setLane(lane: string, fields: string, who: RecordedActor, create: boolean, forMs: number | null): Promise<void> {
    await this.#database.query(statement('setLane'), [lane, fields, who.by, who.why, who.from, create, forMs])
  }

  /** Gives fields back to what the lane was made with; null: all of them. */
  async releaseLane(lane: string, fields: readonly string[] | null, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('releaseLane'), [lane, fields, who.by, who.why, who.from])
  }

  /** What the environment says of a lane. Answers with what the lane has had from another one before. */
  async seedLane(lane: string, fields: string): Promise<string[]> {
    const rows = await this.#database.query<{ differs: object }>(statement('seedLane'), [lane, fields])
    return Object.keys(rows[0]?.differs ?? {})
  }

  /** Gives settings of a type back to its definition; null: all of them. */
  async releaseType(type: string, fields: readonly string[] | null, guards: boolean, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('releaseType'), [type, fields, guards, who.by, who.why, who.from])
  }

  async moveType(type: string, lane: string, who: RecordedActor): Promise<number> {
    await this.#database.query(statement('setTypeLane'), [type, lane, who.by, who.why, who.from])
    let total = 0
    for (;;) {
      const rows = await this.#database.query<{ moved: number }>(statement('moveJobsToLane'), [type, 5_000])
      const moved = rows[0]?.moved ?? 0
      total += moved
      if (moved === 0) return total
    }
  }

  /** Brings jobs into the lane their type has moved to. Answers how many; zero: all that can be seen are there. */
  async bringStrays(limit: number): Promise<number> {
    const rows = await this.#database.query<{ moved: number }>(statement('bringStrays'), [limit])
    return rows[0]?.moved ?? 0
  }

  async setLimits(type: string, limits: string, who: RecordedActor, forMs: number | null): Promise<void> {
    await this.#database.query(statement('setLimits'), [type, limits, who.by, who.why, who.from, forMs])
  }

  /** Gives limits back to the code; null: all of them. */
  async releaseLimits(type: string, fields: readonly string[] | null, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('releaseLimits'), [type, fields, who.by, who.why, who.from])
  }

  async pauseType(type: string, who: RecordedActor, forMs: number | null): Promise<void> {
    await this.#database.query(statement('pauseType'), [type, who.by, who.why, who.from, forMs])
  }

  async resumeType(type: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('resumeType'), [type, who.by, who.why, who.from])
  }

  async pauseKey(type: string, key: string, who: RecordedActor, forMs: number | null): Promise<void> {
    await this.#database.query(statement('pauseKey'), [type, key, who.by, who.why, who.from, forMs])
  }

  async resumeKey(type: string, key: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('resumeKey'), [type, key, who.by, who.why, who.from])
  }

  async setWeight(type: string, key: string, weight: number, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('setWeight'), [type, key, weight, who.by, who.why, who.from])
  }

  async operateBreaker(type: string, action: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('operateBreaker'), [type, action, who.by, who.why, who.from])
  }

  /** Compares the next so many slots, holds, keys and jobs, unless somebody did just now. Answers with what it repaired. */
  async repairDrift(notWithinMs: number, limit: number): Promise<RepairRow[]> {
    return this.#database.query(statement('repairDrift'), [notWithinMs, limit])
  }

  /** Takes the turn of the fleet's chores for so long where it is free. In how many milliseconds it may be free; 0: it is this worker's. */
  async takeFleetTurn(worker: number, heldMs: number): Promise<number> {
    const rows = await this.#database.query<{ free_in_ms: number }>(statement('takeFleetTurn'), [worker, heldMs])
    return Number((rows[0] as { free_in_ms: number }).free_in_ms)
  }
}

/** How many disagreements of one kind were repaired. */
export interface RepairRow {
  what: string
  repaired: number
}

/** A numeric column comes as text. */
function toNumber(value: string | number | null): number | null {
  return value === null ? null : Number(value)
}
