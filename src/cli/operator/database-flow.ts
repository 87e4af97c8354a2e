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
import type { Holdfast } from '../../holdfast.js'
import type { DependencyLimits, Limits } from '../../job/limits.js'
import { dependencyAnswer, gateAnswer, laneAnswer } from '../../server/routes/admin-answers.js'
import { typesAnswer, workersAnswer } from '../../server/routes/fleet-answers.js'
import { theirs } from '../../server/routes/job-request.js'
import { changeLane } from '../../server/routes/lane-change.js'
import type { Acting, Operator } from './operator.js'

type Flow = Operator['flow']

/** Lanes, workers and types, as the HTTP client shows and changes them. */
export class DatabaseFlow implements Pick<Flow, keyof Flow> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async workers(): Promise<WorkersAnswer> {
    return workersAnswer(this.#holdfast)
  }

  async drainRemoteWorker(id: number, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.flow.drainRemoteWorker(id, this.#who(why))
  }

  async lanes(): Promise<LaneAnswer[]> {
    return (await this.#holdfast.flow.lanes()).map(laneAnswer)
  }

  async setLane(name: string, { why, ...change }: LaneBody): Promise<LaneAnswer> {
    return changeLane(this.#holdfast, name, change, this.#who(why))
  }

  async types(): Promise<TypeGateAnswer[]> {
    return typesAnswer(this.#holdfast)
  }

  async pauseType(type: string, { why }: { why?: string } = {}): Promise<GateAnswer | null> {
    await this.#holdfast.flow.pauseType(type, this.#who(why))
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

  async limit(type: string, { why, ...limits }: LimitsBody): Promise<GateAnswer | null> {
    await this.#holdfast.flow.limit(type, theirs(limits) as Limits, this.#who(why))
    return this.#gate(type)
  }

  async dependencies(): Promise<DependencyAnswer[]> {
    return (await this.#holdfast.flow.dependencies()).map(dependencyAnswer)
  }

  async limitDependency(name: string, { why, create = false, ...limits }: DependencyBody): Promise<DependencyAnswer> {
    await this.#holdfast.flow.limitDependency(name, theirs(limits) as DependencyLimits, this.#who(why), { create })
    return this.#dependency(name)
  }

  async pauseDependency(name: string, { why }: { why?: string } = {}): Promise<DependencyAnswer> {
    await this.#holdfast.flow.pauseDependency(name, this.#who(why))
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
