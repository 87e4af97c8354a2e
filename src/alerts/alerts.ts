import { type AlertKind, type AlertSeverity, alertKinds, severities, type TargetForm, targetForms } from '../api/alerts.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { readTargetUrl } from '../job/target-url.js'
import { storableText, unstorable } from '../job/text.js'
import type { Privacy } from '../privacy/privacy.js'
import type { AlertStore } from '../store/alert-store.js'
import { told } from '../store/sqlstate.js'
import type { RuleFields, TargetFields } from './fields.js'
import { freshSecret } from './signature.js'

export type { RuleFields, TargetFields } from './fields.js'

/** Trouble that began or is over. */
export interface Trouble {
  state: 'firing' | 'resolved'
  rule: string
  /** What it is about: a type, a lane, or nothing in particular. */
  subject: string
  value: number
}

/** A rule as it is stored. */
export interface AlertRule {
  name: string
  kind: AlertKind
  threshold: number
  type: string | null
  minPriority: number
  forMs: number
  holdMs: number
  severity: AlertSeverity
  silencedUntil: Date | null
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
  /** How what it gets looks. */
  form: TargetForm
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
    refuseUnknown(fields, ['kind', 'threshold', 'type', 'minPriority', 'for', 'hold', 'severity', 'silencedUntil', 'enabled'])
    if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,62}$/.test(name)) {
      throw refused('name', 'must have 1 to 63 lower-case letters, digits, _ or -, and begin with a letter')
    }
    const { kind, threshold, type, minPriority, for: lasts, hold, severity, silencedUntil, enabled } = fields
    if (kind !== undefined && !alertKinds.includes(kind)) throw refused('kind', `must be one of ${alertKinds.join(', ')}`)
    if (threshold !== undefined && !(threshold >= 0 && threshold <= 1e15))
      throw refused('threshold', 'must be a number of at least 0')
    if (typeof type === 'string' && (type.length < 1 || type.length > 200 || unstorable.test(type))) {
      throw refused('type', 'must be the name of a job type')
    }
    const [forMs, holdMs] = [atMostADay(lasts, 'for'), atMostADay(hold, 'hold')]
    if (severity !== undefined && !severities.includes(severity))
      throw refused('severity', `must be one of ${severities.join(', ')}`)
    if (silencedUntil && !(silencedUntil instanceof Date && !Number.isNaN(silencedUntil.getTime())))
      throw refused('silencedUntil', 'must be a valid Date, or null')
    const priority = minPriority === undefined ? undefined : wholeNumber(minPriority, 'minPriority', 0, 9)
    const times = { for_ms: forMs, hold_ms: holdMs, silenced_until: silencedUntil === null ? null : silencedUntil?.toISOString() }
    const set = { kind, threshold, type, min_priority: priority, ...times, severity, enabled }
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
    return (await told(this.#store.targets())).map(({ id, url, form, rules, created, by }) => {
      return { id, url, form: form as TargetForm, rules, createdAt: new Date(created), createdBy: by }
    })
  }

  /**
   * Sends webhooks to this address from now on, for these rules or all. Returns the secret, with which the receiver verifies them, this
   * once; that of PagerDuty is the routing key.
   */
  async addTarget(fields: TargetFields, who: Actor): Promise<{ id: number; url: string; secret: string }> {
    refuseUnknown(fields, ['url', 'form', 'routingKey', 'rules'])
    const { form = 'webhook', routingKey } = fields
    if (!targetForms.includes(form)) throw refused('form', `must be one of ${targetForms.join(', ')}`)
    if ((form === 'pagerduty') !== (routingKey !== undefined)) {
      throw refused(
        'routingKey',
        form === 'pagerduty' ? 'is missing: the key of an Events API v2 integration' : `is for pagerduty, not for ${form}`,
      )
    }
    if (routingKey !== undefined && !/^[\w-]{8,100}$/.test(routingKey))
      throw refused('routingKey', 'must have 8 to 100 letters and digits')
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
    const secret = routingKey ?? freshSecret()
    const id = await told(
      this.#store.addTarget({ url, form, secret: this.#privacy.encryptSecret(url, secret), rules }, checkedActor(who)),
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
    const actor = checkedActor(who)
    const graceMs = toMilliseconds(options.grace ?? '1d', 'grace')
    if (graceMs > longestGraceMs) throw refused('grace', 'must be at most 30 days')
    const target = await told(this.#store.target(targetId(id)))
    if (!target) throw unknownTarget(id)
    const { url, form } = target
    if (form === 'pagerduty')
      throw refused('id', `is that of a PagerDuty target, which signs nothing; remove it and add it with another key`)
    const secret = freshSecret()
    // The address of a target never changes, so a secret encrypted for it is valid whenever it is written.
    const known = await told(this.#store.rotateSecret(id, this.#privacy.encryptSecret(url, secret), graceMs, actor))
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
    return (await told(this.#store.rules(name))).map(({ minpriority, lasts, hold, kind, severity, silenced, ...row }) => {
      const named = { kind: kind as AlertKind, severity: severity as AlertSeverity }
      const silencedUntil = silenced === null ? null : new Date(silenced)
      return { ...row, ...named, minPriority: minpriority, forMs: lasts, holdMs: hold, silencedUntil }
    })
  }
}

function atMostADay(time: Duration | undefined, field: string): number | undefined {
  const ms = time === undefined ? undefined : toMilliseconds(time, field)
  if (ms !== undefined && ms > longestHoldMs) throw refused(field, 'must be at most a day')
  return ms
}

function targetId(id: number): number {
  return wholeNumber(id, 'id', 1, 2 ** 31 - 1)
}

function unknownTarget(id: number): HoldfastError {
  return new HoldfastError('not_found', `there is no target ${id}`)
}
