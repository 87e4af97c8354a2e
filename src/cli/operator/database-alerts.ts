import type { TargetFields } from '../../alerts/alerts.js'
import type {
  AlertsAnswer,
  NewTargetAnswer,
  RotateTargetBody,
  RuleAnswer,
  RuleBody,
  TargetAnswer,
  TargetBody,
  TestAnswer,
} from '../../api/alerts.js'
import type { Holdfast } from '../../holdfast.js'
import type { Duration } from '../../job/duration.js'
import { alertsAnswer, ruleAnswer, ruleFields, targetAnswer } from '../../server/routes/alert-answers.js'
import { theirs } from '../../server/routes/job-request.js'
import type { Acting, Operator } from './operator.js'

type Alerts = Operator['alerts']

/** Alerts and their rules, as the HTTP client shows and changes them. */
export class DatabaseAlerts implements Pick<Alerts, keyof Alerts> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async get(): Promise<AlertsAnswer> {
    return alertsAnswer(this.#holdfast)
  }

  async setRule(name: string, { why, ...fields }: RuleBody): Promise<RuleAnswer> {
    return ruleAnswer(await this.#holdfast.alerts.setRule(name, ruleFields(fields), this.#who(why)))
  }

  async dropRule(name: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.alerts.dropRule(name, this.#who(why))
  }

  async targets(): Promise<TargetAnswer[]> {
    return (await this.#holdfast.alerts.targets()).map(targetAnswer)
  }

  async addTarget({ why, ...fields }: TargetBody): Promise<NewTargetAnswer> {
    return this.#holdfast.alerts.addTarget(theirs(fields) as TargetFields, this.#who(why))
  }

  async removeTarget(id: number, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.alerts.removeTarget(id, this.#who(why))
  }

  async testTarget(id: number, { why }: { why?: string } = {}): Promise<TestAnswer> {
    return this.#holdfast.alerts.testTarget(id, this.#who(why))
  }

  async rotateTarget(id: number, { grace, why }: RotateTargetBody = {}): Promise<NewTargetAnswer> {
    const options = grace === undefined ? {} : { grace: grace as Duration }
    return this.#holdfast.alerts.rotateSecret(id, this.#who(why), options)
  }
}
