import type { RuleFields } from '../../alerts/alerts.js'
import type { AlertsAnswer, RuleAnswer, RuleBody } from '../../api/alerts.js'
import type { Holdfast } from '../../holdfast.js'
import { alertsAnswer, ruleAnswer } from '../../server/routes/alert-answers.js'
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
    return ruleAnswer(await this.#holdfast.alerts.setRule(name, theirs(fields) as RuleFields, this.#who(why)))
  }

  async dropRule(name: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.alerts.dropRule(name, this.#who(why))
  }
}
