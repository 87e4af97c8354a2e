import type { AlertsAnswer, RuleAnswer, RuleBody } from '../api/alerts.js'
import { queryOf } from './query.js'
import type { Send } from './sender.js'

/** Trouble and the rules that say what that is, over HTTP, for a key that may see or manage them. */
export class ClientAlerts {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** The alerts that fire, every rule, and how many targets are called. */
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
}

function pathOf(name: string): string {
  return `/admin/alerts/rules/${encodeURIComponent(name)}`
}
