import type {
  BreakerBody,
  DependencyAnswer,
  DependencyBody,
  GateAnswer,
  LaneAnswer,
  LaneBody,
  LimitsBody,
  TypeGateAnswer,
  WorkersAnswer,
} from '../api/admin.js'
import type { PauseBody, ReleaseBody } from '../api/common.js'
import type { DepthBody, DepthsAnswer, KeyStateAnswer } from '../api/flow.js'
import type { SettingBody, SettingsAnswer } from '../api/settings.js'
import type { MovedTypeAnswer, SlotsAnswer, TypeAnswer, TypeBody } from '../api/types.js'
import { ClientBuilds } from './builds.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** Lanes, workers, limits, pauses and breakers, of types and of dependencies, over HTTP, in the fields of the API, for a key that may see or manage them. */
export class ClientFlow {
  readonly #send: Send
  /** Which code workers run. */
  readonly builds: ClientBuilds

  /** @internal */
  constructor(send: Send) {
    this.#send = send
    this.builds = new ClientBuilds(send)
  }

  /** The workers that live, the lanes, and how much waits. */
  async workers(): Promise<WorkersAnswer> {
    return (await this.#send<WorkersAnswer>('GET', '/admin/workers/status')).answer
  }

  /** Orders a worker to finish what it has and to claim no more. */
  async drainWorker(id: number, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `/admin/workers/processes/${id}/drain`, options)
  }

  /** Lets a worker claim again. */
  async resumeWorker(id: number, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `/admin/workers/processes/${id}/resume`, options)
  }

  /** Every lane and how full it is. */
  async lanes(): Promise<LaneAnswer[]> {
    return (await this.#send<{ lanes: LaneAnswer[] }>('GET', '/admin/workers/lanes')).answer.lanes
  }

  /** Changes the named fields of a lane, such as `enabled`; `create` makes it, and `types` are moved into it. */
  async setLane(name: string, change: LaneBody): Promise<LaneAnswer> {
    return (await this.#send<LaneAnswer>('PATCH', `/admin/workers/lanes/${encodeURIComponent(name)}`, change)).answer
  }

  /** Gives fields of a lane back to what it was made with. */
  async releaseLane(name: string, release: ReleaseBody = {}): Promise<LaneAnswer> {
    return (await this.#send<LaneAnswer>('POST', `/admin/workers/lanes/${encodeURIComponent(name)}/release`, release)).answer
  }

  /** The jobs that take slots of a lane, the one that has run for longest first: `limit` of them (1,000). */
  async slots(name: string, options: { limit?: number } = {}): Promise<SlotsAnswer> {
    const path = `/admin/workers/lanes/${encodeURIComponent(name)}/slots${queryOf(options)}`
    return (await this.#send<SlotsAnswer>('GET', path)).answer
  }

  /** Everything that is stored about a job type; undefined where there is none of that name. */
  async type(type: string): Promise<TypeAnswer | undefined> {
    return orUndefined(this.#send<TypeAnswer>('GET', pathOf(type)))
  }

  /** Defines a job type without a worker of it, or changes what is stored about one, for a key that may manage types. */
  async defineType(type: string, settings: TypeBody = {}): Promise<TypeAnswer> {
    return (await this.#send<TypeAnswer>('PUT', pathOf(type), settings)).answer
  }

  /** Gives settings of a job type back to its definition, its lane too. */
  async releaseType(type: string, release: ReleaseBody = {}): Promise<TypeAnswer> {
    return (await this.#send<TypeAnswer>('POST', `${pathOf(type)}/release`, release)).answer
  }

  /** Moves a job type into another lane, with what waits of it. */
  async moveType(type: string, lane: string, options: { why?: string } = {}): Promise<MovedTypeAnswer> {
    return (await this.#send<MovedTypeAnswer>('PATCH', pathOf(type), { ...options, lane })).answer
  }

  /** Every job type, its lane and its gate. */
  async types(): Promise<TypeGateAnswer[]> {
    return (await this.#send<{ types: TypeGateAnswer[] }>('GET', '/admin/job-types')).answer.types
  }

  /** Pauses a type, `for` a time or until it is resumed: its jobs wait, enqueue goes on. */
  async pauseType(type: string, options: PauseBody = {}): Promise<GateAnswer | null> {
    return this.#gate('POST', type, 'pause', options)
  }

  /** Lets a paused type run again. */
  async resumeType(type: string, options: { why?: string } = {}): Promise<GateAnswer | null> {
    return this.#gate('POST', type, 'resume', options)
  }

  /** Opens, closes, holds or releases the breaker of a type. */
  async breaker(type: string, change: BreakerBody): Promise<GateAnswer | null> {
    return this.#gate('POST', type, 'breaker', change)
  }

  /** Sets limits of a type; null takes one away, what is left out stays. */
  async limit(type: string, limits: LimitsBody): Promise<GateAnswer | null> {
    return this.#gate('PATCH', type, 'limits', limits)
  }

  /** Gives limits of a type back to what its definition says. */
  async releaseLimits(type: string, release: ReleaseBody = {}): Promise<GateAnswer | null> {
    return this.#gate('POST', type, 'limits/release', release)
  }

  /** Every dependency, who uses it and its gate. */
  async dependencies(): Promise<DependencyAnswer[]> {
    return (await this.#send<{ dependencies: DependencyAnswer[] }>('GET', '/admin/dependencies')).answer.dependencies
  }

  /** Sets limits of a dependency; null takes one away, what is left out stays. */
  async limitDependency(name: string, limits: DependencyBody): Promise<DependencyAnswer> {
    return this.#dependency('PATCH', name, '', limits)
  }

  /** Gives limits of a dependency back to what the code says. */
  async releaseDependency(name: string, release: ReleaseBody = {}): Promise<DependencyAnswer> {
    return this.#dependency('POST', name, '/release', release)
  }

  /** Pauses a dependency: jobs of all types that use it wait. */
  async pauseDependency(name: string, options: PauseBody = {}): Promise<DependencyAnswer> {
    return this.#dependency('POST', name, '/pause', options)
  }

  /** Lets the types that use a paused dependency run again. */
  async resumeDependency(name: string, options: { why?: string } = {}): Promise<DependencyAnswer> {
    return this.#dependency('POST', name, '/resume', options)
  }

  /** Opens, closes, holds or releases the breaker of a dependency. */
  async dependencyBreaker(name: string, change: BreakerBody): Promise<DependencyAnswer> {
    return this.#dependency('POST', name, '/breaker', change)
  }

  /** The keys of a type about which something was set. */
  async keys(type: string): Promise<Omit<KeyStateAnswer, 'type'>[]> {
    return (await this.#send<{ keys: KeyStateAnswer[] }>('GET', `${pathOf(type)}/keys`)).answer.keys
  }

  /** Pauses one concurrency key of a type: its jobs wait. */
  async pauseKey(type: string, key: string, options: PauseBody = {}): Promise<KeyStateAnswer> {
    return (await this.#send<KeyStateAnswer>('POST', `${pathOf(type)}/keys/pause`, { ...options, key })).answer
  }

  /** Lets a paused or halted key run again. */
  async resumeKey(type: string, key: string, options: { why?: string } = {}): Promise<KeyStateAnswer> {
    return (await this.#send<KeyStateAnswer>('POST', `${pathOf(type)}/keys/resume`, { ...options, key })).answer
  }

  /** How many turns a key gets beside others. */
  async setWeight(type: string, key: string, weight: number, options: { why?: string } = {}): Promise<KeyStateAnswer> {
    return (await this.#send<KeyStateAnswer>('PUT', `${pathOf(type)}/keys/weight`, { ...options, key, weight })).answer
  }

  /** How much may wait, and how much does. */
  async depthLimits(): Promise<DepthsAnswer['limits']> {
    return (await this.#send<DepthsAnswer>('GET', '/admin/depth-limits')).answer.limits
  }

  /** Sets how much may wait in the queue, a lane or a type; what is null or left out is not limited. */
  async limitDepth(limit: DepthBody): Promise<DepthsAnswer['limits']> {
    return (await this.#send<DepthsAnswer>('PUT', '/admin/depth-limits', limit)).answer.limits
  }

  /** The settings of the whole installation: what counts, what the code says, and what an operator said. */
  async settings(): Promise<SettingsAnswer['settings']> {
    return (await this.#send<SettingsAnswer>('GET', '/admin/settings')).answer.settings
  }

  /** Sets one of them; null gives it back to the code. */
  async setSetting(setting: SettingBody): Promise<SettingsAnswer['settings']> {
    return (await this.#send<SettingsAnswer>('PUT', '/admin/settings', setting)).answer.settings
  }

  async #dependency(method: string, name: string, act: string, body: object): Promise<DependencyAnswer> {
    return (await this.#send<DependencyAnswer>(method, `/admin/dependencies/${encodeURIComponent(name)}${act}`, body)).answer
  }

  async #gate(method: string, type: string, act: string, body: object): Promise<GateAnswer | null> {
    return (await this.#send<{ gate: GateAnswer | null }>(method, `${pathOf(type)}/${act}`, body)).answer.gate
  }
}

function pathOf(type: string): string {
  return `/admin/job-types/${encodeURIComponent(type)}`
}
