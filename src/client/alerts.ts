import type {
  AlertsAnswer,
  NewTargetAnswer,
  RotateTargetBody,
  RuleAnswer,
  RuleBody,
  TargetAnswer,
  TargetBody,
  TestAnswer,
} from '../api/alerts.js'
import { queryOf } from './query.js'
import type { Send } from './sender.js'

/** Trouble and the rules that say what that is, over HTTP, for a key that may see or manage them. */
export class ClientAlerts {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** The alerts that fire, every rule, and how many targets are notified. */
  async get(): Promise<AlertsAnswer> {
    return (await this.#send<AlertsAnswer>('GET', '/admin/alerts')).answer
  }

  /** Makes a rule, or changes its named fields. */
  async setRule(name: string, rule: RuleBody): Promise<RuleAnswer> {
    return (await this.#send<RuleAnswer>('PUT', pathOf(name), rule)).answer
  }

  /** Removes a rule. */
  async dropRule(name: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('DELETE', `${pathOf(name)}${queryOf(options)}`)
  }

  /** The addresses that are notified of trouble, for a key that may do everything. Their secrets are not shown again. */
  async targets(): Promise<TargetAnswer[]> {
    return (await this.#send<{ targets: TargetAnswer[] }>('GET', targets)).answer.targets
  }

  /** Calls an address about trouble from now on. Its secret is in this answer and never again. */
  async addTarget(target: TargetBody): Promise<NewTargetAnswer> {
    return (await this.#send<NewTargetAnswer>('POST', targets, target)).answer
  }

  /** Calls an address no more. */
  async removeTarget(id: number, options: { why?: string } = {}): Promise<void> {
    await this.#send('DELETE', `${targets}/${id}${queryOf(options)}`)
  }

  /** Calls an address as if there were trouble. Answers with the id of the job that does so. */
  async testTarget(id: number, options: { why?: string } = {}): Promise<TestAnswer> {
    return (await this.#send<TestAnswer>('POST', `${targets}/${id}/test`, options)).answer
  }

  /** Signs with a new secret, in this answer and never again; for a day, or `grace`, the old one signs too. */
  async rotateTarget(id: number, options: RotateTargetBody = {}): Promise<NewTargetAnswer> {
    return (await this.#send<NewTargetAnswer>('POST', `${targets}/${id}/rotate`, options)).answer
  }
}

const targets = '/admin/alerts/targets'

function pathOf(name: string): string {
  return `/admin/alerts/rules/${encodeURIComponent(name)}`
}
