import type { AlertRule, AlertTarget } from '../../alerts/alerts.js'
import type { AlertsAnswer, RuleAnswer, TargetAnswer } from '../../api/alerts.js'
import type { Holdfast } from '../../holdfast.js'

/** What fires, every rule, and how many targets are called, in the words of the API. */
export async function alertsAnswer({ alerts }: Holdfast): Promise<AlertsAnswer> {
  const [firing, rules, callers] = await Promise.all([alerts.firing(), alerts.rules(), alerts.callers()])
  return {
    firing: firing.map((alert) => ({ ...alert, since: alert.since.toISOString() })),
    rules: rules.map(ruleAnswer),
    callers,
  }
}

export function ruleAnswer({ minPriority, holdMs, ...rule }: AlertRule): RuleAnswer {
  return { ...rule, min_priority: minPriority, hold_ms: holdMs }
}

export function targetAnswer({ createdAt, createdBy, ...target }: AlertTarget): TargetAnswer {
  return { ...target, created_at: createdAt.toISOString(), created_by: createdBy }
}
