import type { AlertRule, AlertTarget, RuleFields } from '../../alerts/alerts.js'
import type { AlertsAnswer, RuleAnswer, RuleBody, TargetAnswer } from '../../api/alerts.js'
import type { Holdfast } from '../../holdfast.js'
import { theirs } from './job-request.js'

/** What fires, every rule, and how many targets are called, in the words of the API. */
export async function alertsAnswer({ alerts }: Holdfast): Promise<AlertsAnswer> {
  const [firing, rules, callers] = await Promise.all([alerts.firing(), alerts.rules(), alerts.callers()])
  return {
    firing: firing.map((alert) => ({ ...alert, since: alert.since.toISOString() })),
    rules: rules.map(ruleAnswer),
    callers,
  }
}

export function ruleAnswer({ minPriority, forMs, holdMs, silencedUntil, ...rule }: AlertRule): RuleAnswer {
  const until = silencedUntil?.toISOString() ?? null
  return { ...rule, min_priority: minPriority, for_ms: forMs, hold_ms: holdMs, silenced_until: until }
}

/** The fields of a rule as the library takes them. */
export function ruleFields({ silenced_until: until, ...fields }: Omit<RuleBody, 'why'>): RuleFields {
  const named = theirs(fields) as RuleFields
  return until === undefined ? named : { ...named, silencedUntil: until === null ? null : new Date(until) }
}

export function targetAnswer({ createdAt, createdBy, ...target }: AlertTarget): TargetAnswer {
  return { ...target, created_at: createdAt.toISOString(), created_by: createdBy }
}
