import { type AlertKind, alertKinds } from '../api/alerts.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { readTargetUrl } from '../job/target-url.js'
import { storableText, unstorable } from '../job/text.js'
import type { Privacy } from '../privacy/privacy.js'
import type { AlertStore } from '../store/alert-store.js'
import { told } from '../store/sqlstate.js'
import { freshSecret } from './signature.js'

/** Trouble that began or is over. */
export interface Trouble {
  state: 'firing' | 'resolved'
  rule: string
  /** What it is about: a type, a lane, or nothing in particular. */
  subject: string
  value: number
}

/** What a rule watches and when it fires. A change leaves what it does not name as it is; defaults are those of a new rule. */
export interface RuleFields {
  /** Needed for a new rule. */
  kind?: AlertKind
  /**
   * The rule fires above this number of jobs, seconds or requests.
   * @default 0
   */
  threshold?: number
  /**
   * Only jobs of this type; null: of any.
   * @default null
   */
  type?: string | null
  /**
   * For `oldest`: this priority and those above.
   * @default 0
   */
  minPriority?: number
  /**
   * For how long the value must not be above the threshold before the alert is over.
   * @default '1m'
   */
  hold?: Duration
  /**
   * False: the rule is kept and not evaluated.
   * @default true
   */
  enabled?: boolean
}

/** A rule as it is stored. */
export interface AlertRule {
  name: string
  kind: AlertKind
  threshold: number
  type: string | null
  minPriority: number
  holdMs: number
  enabled: boolean
}

/** An alert that is firing now. */
export interface Alert {
  rule: string
  kind: AlertKind
  /** The type or priority it is about; empty: the whole queue. */
  subject: string
  value: number
  threshold: number
  since: Date
}

/** An address that workers with `alerts: true` send webhooks to. */
export interface AlertTarget {
  id: number
  url: string
  /** The rules whose alerts it gets; null: all. */
  rules: string[] | null
  createdAt: Date
  createdBy: string
}

const longestHoldMs = 86_400_000
const longestGraceMs = 30 * 86_400_000

/** Alerts, their rules, and the targets of their webhooks. Each change is one transaction, with its line in the audit log. */
export class Alerts {
  readonly #store: AlertStore
  readonly #hosts: readonly string[]
  readonly #privacy: Privacy

  /** @internal */
  constructor(store: AlertStore, hosts: readonly string[], privacy: Privacy) {
    this.#store = store
    this.#hosts = hosts
    this.#privacy = privacy
  }

  /** The alerts that are firing now. */
  async firing(): Promise<Alert[]> {
    return (await told(this.#store.alerts())).map(({ since, ...row }) => ({
      ...row,
      kind: row.kind as AlertKind,
      since: new Date(since),
    }))
  }

  /** Evaluates the rules now. Workers and servers do so every fifteen seconds. Returns the alerts that began or are over. */
  async look(): Promise<Trouble[]> {
    return told(this.#store.look(0))
  }

  /** How many live workers send webhooks: those that were started with `alerts: true`. */
  async callers(): Promise<number> {
    return told(this.#store.callers())
  }

  /** Every rule, those that are turned off too. */
  async rules(): Promise<AlertRule[]> {
    return this.#rules(null)
  }

  /** Makes a rule, or changes the named fields of one. */
  async setRule(name: string, fields: RuleFields, who: Actor): Promise<AlertRule> {
    refuseUnknown(fields, ['kind', 'threshold', 'type', 'minPriority', 'hold', 'enabled'])
    if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,62}$/.test(name)) {
      throw refused('name', 'must have 1 to 63 lower-case letters, digits, _ or -, and begin with a letter')
    }
    const { kind, threshold, type, minPriority, hold, enabled } = fields
    if (kind !== undefined && !alertKinds.includes(kind)) throw refused('kind', `must be one of ${alertKinds.join(', ')}`)
    if (threshold !== undefined && !(threshold >= 0 && threshold <= 1e15))
      throw refused('threshold', 'must be a number of at least 0')
    if (typeof type === 'string' && (type.length < 1 || type.length > 200 || unstorable.test(type))) {
      throw refused('type', 'must be the name of a job type')
    }
    const holdMs = hold === undefined ? undefined : toMilliseconds(hold, 'hold')
    if (holdMs !== undefined && holdMs > longestHoldMs) throw refused('hold', 'must be at most a day')
    const priority = minPriority === undefined ? undefined : wholeNumber(minPriority, 'minPriority', 0, 9)
    const set = { kind, threshold, type, min_priority: priority, hold_ms: holdMs, enabled }
    await told(this.#store.setRule(name, set, checkedActor(who)))
    return (await this.#rules(name))[0] as AlertRule
  }

  /** Deletes a rule. Its alerts are gone with it. */
  async dropRule(name: string, who: Actor): Promise<void> {
    if (!(await told(this.#store.dropRule(storableText(name, 'name'), checkedActor(who)))))
      throw new HoldfastError('not_found', `there is no rule "${name}"`)
  }

  /** Every address that gets webhooks. Their secrets are not shown again. */
  async targets(): Promise<AlertTarget[]> {
    return (await told(this.#store.targets())).map(({ id, url, rules, created, by }) => {
      return { id, url, rules, createdAt: new Date(created), createdBy: by }
    })
  }

  /** Sends webhooks to this address from now on, for these rules or all. Returns the secret, with which the receiver verifies them, this once. */
  async addTarget(
    fields: { url: string; rules?: readonly string[] },
    who: Actor,
  ): Promise<{ id: number; url: string; secret: string }> {
    refuseUnknown(fields, ['url', 'rules'])
    const { href: url } = readTargetUrl(fields.url, this.#hosts).url
    const { rules = null } = fields
    if (
      rules !== null &&
      !(
        Array.isArray(rules) &&
        rules.length > 0 &&
        rules.length <= 100 &&
        rules.every((one) => typeof one === 'string' && !unstorable.test(one))
      )
    ) {
      throw refused('rules', 'must be a list of names of rules; leave it out for all rules')
    }
    const secret = freshSecret()
    const id = await told(
      this.#store.addTarget({ url, secret: this.#privacy.encryptSecret(url, secret), rules }, checkedActor(who)),
    )
    return { id, url, secret }
  }

  /**
   * Gives a target another secret and returns it this once. For `grace` (a day) webhooks are signed with the old one as well, so that the
   * receiver accepts them before and after it has the new one.
   */
  async rotateSecret(
    id: number,
    who: Actor,
    options: { grace?: Duration } = {},
  ): Promise<{ id: number; url: string; secret: string }> {
    refuseUnknown(options, ['grace'])
    const graceMs = toMilliseconds(options.grace ?? '1d', 'grace')
    if (graceMs > longestGraceMs) throw refused('grace', 'must be at most 30 days')
    const target = await told(this.#store.target(targetId(id)))
    if (!target) throw unknownTarget(id)
    const { url } = target
    const secret = freshSecret()
    // The address of a target never changes, so a secret encrypted for it is valid whenever it is written.
    const known = await told(this.#store.rotateSecret(id, this.#privacy.encryptSecret(url, secret), graceMs, checkedActor(who)))
    if (!known) throw unknownTarget(id)
    return { id, url, secret }
  }

  /** Removes a target. Webhooks that wait for it end without being sent. */
  async removeTarget(id: number, who: Actor): Promise<void> {
    if (!(await told(this.#store.dropTarget(targetId(id), checkedActor(who))))) throw unknownTarget(id)
  }

  /** Sends a test webhook. Returns the id of its job. */
  async testTarget(id: number, who: Actor): Promise<{ job: string }> {
    const job = await told(this.#store.testTarget(targetId(id), checkedActor(who)))
    if (job === null) throw unknownTarget(id)
    return { job }
  }

  async #rules(name: string | null): Promise<AlertRule[]> {
    return (await told(this.#store.rules(name))).map(({ minpriority, hold, kind, ...row }) => {
      return { ...row, kind: kind as AlertKind, minPriority: minpriority, holdMs: hold }
    })
  }
}

function targetId(id: number): number {
  return wholeNumber(id, 'id', 1, 2 ** 31 - 1)
}

function unknownTarget(id: number): HoldfastError {
  return new HoldfastError('not_found', `there is no target ${id}`)
}
