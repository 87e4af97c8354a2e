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
} from '../../api/admin.js'
import type { PauseBody, ReleaseBody } from '../../api/common.js'
import type { DepthBody, DepthsAnswer } from '../../api/flow.js'
import type { SettingBody, SettingsAnswer } from '../../api/settings.js'
import type { TypeAnswer } from '../../api/types.js'
import type { SettingName } from '../../flow/settings.js'
import type { TypeState } from '../../flow/type-settings.js'
import type { Holdfast } from '../../holdfast.js'
import type { DependencyLimits, Limits } from '../../job/limits.js'
import { dependencyAnswer, gateAnswer, laneAnswer, settingAnswer, typeAnswer } from '../../server/routes/admin-answers.js'
import { depthsOf, limitDepth } from '../../server/routes/depth-answers.js'
import { typesAnswer, workersAnswer } from '../../server/routes/fleet-answers.js'
import { released, theirs } from '../../server/routes/job-request.js'
import { changeLane, releaseLane } from '../../server/routes/lane-change.js'
import { defined } from '../defined.js'
import { DatabaseBuilds } from './database-builds.js'
import type { Acting, Operator } from './operator.js'

type Flow = Operator['flow']

/** Lanes, workers and types, as the HTTP client shows and changes them. */
export class DatabaseFlow implements Pick<Flow, keyof Flow> {
  readonly #holdfast: Holdfast
  readonly #who: Acting
  readonly builds: DatabaseBuilds

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
    this.builds = new DatabaseBuilds(holdfast, who)
  }

  async workers(): Promise<WorkersAnswer> {
    return workersAnswer(this.#holdfast)
  }

  async drainWorker(id: number, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.flow.drainWorker(id, this.#who(why))
  }

  async resumeWorker(id: number, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.flow.resumeWorker(id, this.#who(why))
  }

  async lanes(): Promise<LaneAnswer[]> {
    return (await this.#holdfast.flow.lanes()).map(laneAnswer)
  }

  async setLane(name: string, { why, ...change }: LaneBody): Promise<LaneAnswer> {
    return changeLane(this.#holdfast, name, change, this.#who(why))
  }

  async releaseLane(name: string, { why, fields }: ReleaseBody = {}): Promise<LaneAnswer> {
    return releaseLane(this.#holdfast, name, fields, this.#who(why))
  }

  async releaseType(type: string, { why, fields }: ReleaseBody = {}): Promise<TypeAnswer> {
    await this.#holdfast.flow.releaseType(type, this.#who(why), released(fields))
    return typeAnswer((await this.#holdfast.flow.type(type)) as TypeState, await this.#holdfast.flow.gate(type))
  }

  async settings(): Promise<SettingsAnswer['settings']> {
    return (await this.#holdfast.flow.settings()).map(settingAnswer)
  }

  async setSetting({ name, value, why }: SettingBody): Promise<SettingsAnswer['settings']> {
    await this.#holdfast.flow.setSetting(name as SettingName, value, this.#who(why))
    return this.settings()
  }

  async depthLimits(): Promise<DepthsAnswer['limits']> {
    return depthsOf(this.#holdfast)
  }

  async limitDepth(limit: DepthBody): Promise<DepthsAnswer['limits']> {
    await limitDepth(this.#holdfast, limit, this.#who(limit.why))
    return this.depthLimits()
  }

  async types(): Promise<TypeGateAnswer[]> {
    return typesAnswer(this.#holdfast)
  }

  async pauseType(type: string, { why, ...ends }: PauseBody = {}): Promise<GateAnswer | null> {
    await this.#holdfast.flow.pauseType(type, this.#who(why), ends)
    return this.#gate(type)
  }

  async resumeType(type: string, { why }: { why?: string } = {}): Promise<GateAnswer | null> {
    await this.#holdfast.flow.resumeType(type, this.#who(why))
    return this.#gate(type)
  }

  async breaker(type: string, { action, why }: BreakerBody): Promise<GateAnswer | null> {
    await this.#holdfast.flow.breaker(type, action, this.#who(why))
    return this.#gate(type)
  }

  async limit(type: string, { why, for: lasts, ...limits }: LimitsBody): Promise<GateAnswer | null> {
    await this.#holdfast.flow.limit(type, theirs(limits) as Limits, this.#who(why), defined({ for: lasts }))
    return this.#gate(type)
  }

  async releaseLimits(type: string, { why, fields }: ReleaseBody = {}): Promise<GateAnswer | null> {
    await this.#holdfast.flow.releaseLimits(type, this.#who(why), released(fields))
    return this.#gate(type)
  }

  async dependencies(): Promise<DependencyAnswer[]> {
    return (await this.#holdfast.flow.dependencies()).map(dependencyAnswer)
  }

  async limitDependency(name: string, { why, for: lasts, create = false, ...limits }: DependencyBody): Promise<DependencyAnswer> {
    const options = defined({ create, for: lasts })
    await this.#holdfast.flow.limitDependency(name, theirs(limits) as DependencyLimits, this.#who(why), options)
    return this.#dependency(name)
  }

  async releaseDependency(name: string, { why, fields }: ReleaseBody = {}): Promise<DependencyAnswer> {
    await this.#holdfast.flow.releaseDependency(name, this.#who(why), released(fields))
    return this.#dependency(name)
  }

  async pauseDependency(name: string, { why, ...ends }: PauseBody = {}): Promise<DependencyAnswer> {
    await this.#holdfast.flow.pauseDependency(name, this.#who(why), ends)
    return this.#dependency(name)
  }

  async resumeDependency(name: string, { why }: { why?: string } = {}): Promise<DependencyAnswer> {
    await this.#holdfast.flow.resumeDependency(name, this.#who(why))
    return this.#dependency(name)
  }

  async dependencyBreaker(name: string, { action, why }: BreakerBody): Promise<DependencyAnswer> {
    await this.#holdfast.flow.dependencyBreaker(name, action, this.#who(why))
    return this.#dependency(name)
  }

  async #dependency(name: string): Promise<DependencyAnswer> {
    return dependencyAnswer(await this.#holdfast.flow.dependency(name))
  }

  async #gate(type: string): Promise<GateAnswer | null> {
    const gate = await this.#holdfast.flow.gate(type)
    return gate ? gateAnswer(gate) : null
  }
}
