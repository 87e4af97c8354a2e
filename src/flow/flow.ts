import { type Actor, checkedActor } from '../job/actor.js'
import { checkDependency } from '../job/dependency.js'
import type { Duration } from '../job/duration.js'
import { type ForATime, readFor } from '../job/for-a-time.js'
import { type DependencyLimits, encodeDependencyLimits, encodeLimits, type Limits, limitFields } from '../job/limits.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import type { OperatorStore } from '../store/operator-store.js'
import { told } from '../store/sqlstate.js'
import { Builds } from './builds.js'
import { type DepthFields, readDepth } from './depth.js'
import { encodeLane, type LaneFields, storedLaneFields } from './lane-fields.js'
import type { ToldOverride } from './overrides.js'
import { readSetting, type SettingName, type SettingState, settingState } from './settings.js'
import {
  type DependencyState,
  type DepthLimitState,
  dependencyState,
  type GateState,
  gateState,
  type KeySettings,
  keySettings,
  type LaneState,
  laneState,
  type SlotState,
  type Told,
} from './states.js'
import { encodeSettings, storedSettings, type TypeSettings, type TypeState, typeState } from './type-settings.js'

/** What an operator does to a breaker: open or close it once, hold it open or closed, or release it to itself. */
export type BreakerAction = 'open' | 'close' | 'hold_open' | 'hold_closed' | 'release'

/**
 * What operators do to lanes, types, keys, dependencies and breakers. Each call is one transaction, with its line in the audit log; workers
 * follow within one look.
 */
export class Flow {
  readonly #store: OperatorStore
  /** Which code workers run. */
  readonly builds: Builds

  /** @internal */
  constructor(store: OperatorStore) {
    this.#store = store
    this.builds = new Builds(store.builds)
  }

  /** Every lane as it is now, with how many slots are taken. */
  async lanes(): Promise<LaneState[]> {
    return (await told(this.#store.laneStates<Told<LaneState>>())).map(laneState)
  }

  /** The jobs that take slots of a lane, the one that has run for longest first: `limit` of them (1,000). */
  async slots(lane: string, options: { limit?: number } = {}): Promise<SlotState[]> {
    refuseUnknown(options, ['limit'])
    const limit = wholeNumber(options.limit ?? 1_000, 'limit', 1, 10_000)
    const rows = await told(this.#store.laneSlots(storableText(lane, 'lane'), limit))
    return rows.map((row) => ({ ...row, since: new Date(row.since), leaseUntil: new Date(row.leaseUntil) }))
  }

  /** Everything that is stored about a type; undefined where there is none of that name. */
  async type(type: string): Promise<TypeState | undefined> {
    const found = await told(this.#store.typeSettings<ToldOverride>(storableText(type, 'type')))
    return found && typeState(type, found)
  }

  /**
   * Defines a type without a worker of it, or changes the named settings of one, with its lane. What is named counts until it is released,
   * whatever definition a worker starts with. `guards: false` refuses to change what guards a known type: approval, uniqueness, encryption, redaction, `sensitive`, `sharedKeys`.
   */
  async defineType(type: string, settings: TypeSettings, who: Actor, options: { guards?: boolean } = {}): Promise<TypeState> {
    refuseUnknown(options, ['guards'])
    const by = checkedActor(who)
    const fields = encodeSettings(type, settings)
    await told(this.#store.defineType(type, JSON.stringify(fields), options.guards ?? true, by))
    if (fields.lane !== undefined && (await this.type(type))?.lane !== fields.lane) await this.moveType(type, fields.lane, who)
    return (await this.type(type)) as TypeState
  }

  /**
   * Gives these settings of a type back to its definition; without `fields` all of them, its lane too. `guards: false` refuses what would
   * change what guards it.
   */
  async releaseType(
    type: string,
    who: Actor,
    options: { fields?: readonly (keyof TypeSettings)[]; guards?: boolean } = {},
  ): Promise<void> {
    refuseUnknown(options, ['fields', 'guards'])
    const { fields, guards = true } = options
    await told(this.#store.releaseType(storableText(type, 'type'), storedSettings(fields), guards, checkedActor(who)))
  }

  /** The gate of a type; undefined where it never had one. */
  async gate(type: string): Promise<GateState | undefined> {
    return (await told(this.#store.gateStates<Told<GateState>>(storableText(type, 'type')))).map(gateState)[0]
  }

  /** Every gate there is: of types that have a limit, a pause or a breaker, or had one. */
  async gates(): Promise<GateState[]> {
    return (await told(this.#store.gateStates<Told<GateState>>(null))).map(gateState)
  }

  /**
   * Changes the named settings of a lane. They count until they are released, or with `for` until that time is over.
   * @param options.create makes the lane where there is none of that name
   * @param options.unsafe takes a lease that is shorter than a statement may take
   */
  async setLane(
    lane: string,
    fields: LaneFields,
    who: Actor,
    options: ForATime & { create?: boolean; unsafe?: boolean } = {},
  ): Promise<void> {
    const encoded = encodeLane(fields, { unsafe: options.unsafe ?? false })
    const forMs = readFor(options, ['create', 'unsafe'])
    await told(this.#store.setLane(storableText(lane, 'lane'), encoded, checkedActor(who), options.create ?? false, forMs))
  }

  /** Gives these settings of a lane back to what it was made with, or the environment of the first worker said; without `fields` all of them. */
  async releaseLane(lane: string, who: Actor, options: { fields?: readonly (keyof LaneFields)[] } = {}): Promise<void> {
    refuseUnknown(options, ['fields'])
    await told(this.#store.releaseLane(storableText(lane, 'lane'), storedLaneFields(options.fields), checkedActor(who)))
  }

  /** No more claims from this lane until it is resumed, or until the time `for` is over; what runs goes on, enqueue too. */
  async drainLane(lane: string, who: Actor, options: ForATime = {}): Promise<void> {
    await this.setLane(lane, { enabled: false }, who, options)
  }

  /** Workers claim from this lane again. */
  async resumeLane(lane: string, who: Actor): Promise<void> {
    await this.setLane(lane, { enabled: true }, who)
  }

  /**
   * Orders a worker to finish what it has and to claim no more: at once where notifications reach it, or with its next heartbeat. An SDK worker then
   * waits until it is stopped or resumed; one that works over HTTP ends.
   */
  async drainWorker(id: number, who: Actor): Promise<void> {
    await this.builds.tellWorker(id, true, who)
  }

  /** Lets a worker claim again. Refused where the whole of its build is drained. */
  async resumeWorker(id: number, who: Actor): Promise<void> {
    await this.builds.tellWorker(id, false, who)
  }

  /** Puts a type into another lane, with the jobs that wait. Returns how many were moved. */
  async moveType(type: string, lane: string, who: Actor): Promise<number> {
    return told(this.#store.moveType(storableText(type, 'type'), storableText(lane, 'lane'), checkedActor(who)))
  }

  /**
   * Changes the named limits of a type. They count until they are released, whatever the code says; with `for` until that time is over.
   */
  async limit(type: string, limits: Limits, who: Actor, options: ForATime = {}): Promise<void> {
    const forMs = readFor(options)
    await told(this.#store.setLimits(storableText(type, 'type'), encodeLimits(limits), checkedActor(who), forMs))
  }

  /** Gives these limits of a type back to what its definition says; without `fields` all of them. */
  async releaseLimits(type: string, who: Actor, options: { fields?: readonly (keyof Limits)[] } = {}): Promise<void> {
    refuseUnknown(options, ['fields'])
    await told(this.#store.releaseLimits(storableText(type, 'type'), limitFields(options.fields), checkedActor(who)))
  }

  /** How much may wait in the whole queue, a lane or a type before enqueue is refused. */
  async limitDepth(where: { lane: string } | { type: string } | 'queue', limit: DepthFields, who: Actor): Promise<void> {
    const [scope, name] = where === 'queue' ? ['queue', ''] : 'lane' in where ? ['lane', where.lane] : ['type', where.type]
    await told(this.#store.setDepthLimit(scope, storableText(name, scope), readDepth(limit), checkedActor(who)))
  }

  /** The limits of how much may wait, with how much does: of the queue, of lanes, of types. */
  async depthLimits(): Promise<DepthLimitState[]> {
    await told(this.#store.measureDepths())
    return (await told(this.#store.depthLimits())).map(({ scope, age, oldest, ...row }) => ({
      ...row,
      scope: scope as DepthLimitState['scope'],
      oldestMs: oldest === null ? null : Number(oldest),
      waitsMs: age === null ? null : Number(age),
    }))
  }

  /** The settings of the whole installation: what counts, what the code says, and what an operator said. */
  async settings(): Promise<SettingState[]> {
    return (await told(this.#store.settings.all())).map(settingState)
  }

  /** Sets one of them. It stands until an operator gives it back to the code, with null. */
  async setSetting(name: SettingName, value: Duration | number | null, who: Actor): Promise<void> {
    await told(this.#store.settings.set(storableText(name, 'name'), readSetting(name, value), checkedActor(who)))
  }

  /** Keys of the type that are paused, rest, have halted, or have a weight of their own, a thousand at most; or the one that is named. */
  async keys(type: string, key?: string): Promise<KeySettings[]> {
    const only = key === undefined ? null : storableText(key, 'key')
    return (await told(this.#store.keyStates<Told<KeySettings>>(storableText(type, 'type'), only))).map(keySettings)
  }

  /** Starts no more jobs of this type until it is resumed, or until the time `for` is over. What runs goes on, enqueue too. */
  async pauseType(type: string, who: Actor, options: ForATime = {}): Promise<void> {
    await told(this.#store.pauseType(storableText(type, 'type'), checkedActor(who), readFor(options)))
  }

  /** Lets a paused type run again. */
  async resumeType(type: string, who: Actor): Promise<void> {
    await told(this.#store.resumeType(storableText(type, 'type'), checkedActor(who)))
  }

  /** Starts no more jobs of this concurrency key until it is resumed, or until the time `for` is over. The other keys of the type go on. */
  async pauseKey(type: string, key: string, who: Actor, options: ForATime = {}): Promise<void> {
    const forMs = readFor(options)
    await told(this.#store.pauseKey(storableText(type, 'type'), storableText(key, 'key'), checkedActor(who), forMs))
  }

  /** Lets a key run again that was paused, rests or has halted. The job that died stays dead. */
  async resumeKey(type: string, key: string, who: Actor): Promise<void> {
    await told(this.#store.resumeKey(storableText(type, 'type'), storableText(key, 'key'), checkedActor(who)))
  }

  /** How many turns this key gets for one of a key of weight 1. */
  async setWeight(type: string, key: string, weight: number, who: Actor): Promise<void> {
    if (!(weight >= 0.001 && weight <= 1000)) {
      throw refused('weight', `is ${weight}; it must lie between 0.001 and 1000`)
    }
    await told(this.#store.setWeight(storableText(type, 'type'), storableText(key, 'key'), weight, checkedActor(who)))
  }

  /** Opens, closes or holds the breaker of a type, or releases it to open and close by itself. */
  async breaker(type: string, action: BreakerAction, who: Actor): Promise<void> {
    await told(this.#store.operateBreaker(storableText(type, 'type'), action, checkedActor(who)))
  }

  /** Every dependency that types use, or used once, as it is now. */
  async dependencies(): Promise<DependencyState[]> {
    return (await told(this.#store.dependencyStates<Told<DependencyState>>(null))).map(dependencyState)
  }

  /** One dependency; an unknown one is refused. */
  async dependency(name: string): Promise<DependencyState> {
    const states = await told(this.#store.dependencyStates<Told<DependencyState>>(storableText(name, 'dependency')))
    return states.map(dependencyState)[0] as DependencyState
  }

  /**
   * Changes the named limits of a dependency. All types that use it share them; what runs already counts.
   * @param options.create makes the dependency where there is none of that name
   */
  async limitDependency(
    name: string,
    limits: DependencyLimits,
    who: Actor,
    options: ForATime & { create?: boolean } = {},
  ): Promise<void> {
    const dependency = checkDependency(name, 'dependency')
    const encoded = encodeDependencyLimits(limits)
    const forMs = readFor(options, ['create'])
    await told(this.#store.limitDependency(dependency, encoded, checkedActor(who), options.create ?? false, forMs))
  }

  /** Gives these limits of a dependency back to what the code says; without `fields` all of them. */
  async releaseDependency(
    name: string,
    who: Actor,
    options: { fields?: readonly (keyof DependencyLimits)[] } = {},
  ): Promise<void> {
    refuseUnknown(options, ['fields'])
    const fields = limitFields(options.fields)
    await told(this.#store.releaseDependency(storableText(name, 'dependency'), fields, checkedActor(who)))
  }

  /** Starts no more jobs of the types that use this dependency until it is resumed, or until the time `for` is over. What runs goes on. */
  async pauseDependency(name: string, who: Actor, options: ForATime = {}): Promise<void> {
    await told(this.#store.pauseDependency(storableText(name, 'dependency'), checkedActor(who), readFor(options)))
  }

  /** Lets the types that use a paused dependency run again. */
  async resumeDependency(name: string, who: Actor): Promise<void> {
    await told(this.#store.resumeDependency(storableText(name, 'dependency'), checkedActor(who)))
  }

  /** Opens, closes or holds the breaker of a dependency, or releases it to open and close by itself. */
  async dependencyBreaker(name: string, action: BreakerAction, who: Actor): Promise<void> {
    await told(this.#store.operateDependencyBreaker(storableText(name, 'dependency'), action, checkedActor(who)))
  }
}
