import type { AlertKind, AlertSeverity, TargetForm } from '../api/alerts.js'
import type { Duration } from '../job/duration.js'

/** What a rule watches and when it fires. A change leaves what it does not name as it is; defaults are those of a new rule. */
export interface RuleFields {
  /**
   * Needed for a new rule.
   * @default that of the rule, if there is one
   */
  kind?: AlertKind
  /**
   * The rule fires above this number of jobs, seconds, requests, or whatever its kind counts.
   * @range 0 to 1,000,000,000,000,000
   * @default 0
   */
  threshold?: number
  /**
   * Only jobs of this type; null: of any.
   * @default null
   */
  type?: string | null
  /**
   * For `depth`, `depth_growth`, `oldest` and `slow_starts`: this priority and those above.
   * @range 0 to 9
   * @default 0
   */
  minPriority?: number
  /**
   * For how long the value must be above the threshold before the rule fires; it may dip for less than `hold`.
   * @range 0 to 1 day
   * @default 0
   */
  for?: Duration
  /**
   * For how long the value must not be above the threshold before the alert is over.
   * @range 0 to 1 day
   * @default '1m'
   */
  hold?: Duration
  /**
   * How bad it is, for whoever is notified.
   * @default 'warning'
   */
  severity?: AlertSeverity
  /**
   * Until then nobody is notified about what the rule finds. What still goes on then is announced. Null: not silenced.
   * @default null
   */
  silencedUntil?: Date | null
  /**
   * False: the rule is kept and not evaluated.
   * @default true
   */
  enabled?: boolean
}

/** What an address is notified about, and how. */
export interface TargetFields {
  /** Where what happens is sent. Other addresses than https, and hosts in the own network, have to be named in `alertHosts`. */
  url: string
  /**
   * How what is sent looks: Holdfast's own signed webhook, a message for an incoming webhook of Slack, or an event for PagerDuty (Events API v2).
   * @default 'webhook'
   */
  form?: TargetForm
  /**
   * The routing key of the PagerDuty service; needed for that form.
   * @default none
   */
  routingKey?: string
  /**
   * Only about these rules.
   * @default all
   */
  rules?: readonly string[]
}
