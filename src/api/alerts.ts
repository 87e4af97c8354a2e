import type { rotateBody } from './admin.js'
import { duration, jobId, number, text, textOrNull, time, timeOrNull, why, yesOrNo } from './common.js'
import { answer, list, type Of, object } from './schema.js'

/** What a rule can be about. */
export const alertKinds = [
  'dead_letters',
  'breaker',
  'depth',
  'depth_growth',
  'oldest',
  'slow_starts',
  'slow_runs',
  'enqueue_errors',
  'enqueue_error_rate',
  'enqueue_spike',
  'late_results',
  'rescues',
  'restarts',
  'retention',
  'missing_partitions',
  'notify_queue',
  'drift',
] as const
/** What a rule of alerts watches. */
export type AlertKind = (typeof alertKinds)[number]

/** How bad what a rule finds is. */
export const severities = ['info', 'warning', 'critical'] as const
/** How bad what a rule of alerts finds is. */
export type AlertSeverity = (typeof severities)[number]

/** How what is sent to a target looks. */
export const targetForms = ['webhook', 'slack', 'pagerduty'] as const
/** How what is sent to a target of alerts looks. */
export type TargetForm = (typeof targetForms)[number]

const kind = { type: 'string', enum: alertKinds } as const
const severity = { type: 'string', enum: severities } as const
const form = { type: 'string', enum: targetForms } as const
const rule = answer({
  name: text,
  kind,
  threshold: number,
  type: textOrNull,
  min_priority: number,
  for_ms: number,
  hold_ms: number,
  severity,
  silenced_until: timeOrNull,
  enabled: yesOrNo,
})
export const ruleAnswer = rule
/** One rule of alerts. */
export type RuleAnswer = Of<typeof rule>
export const alertsAnswer = answer({
  firing: list(answer({ rule: text, kind, subject: text, value: number, threshold: number, since: time })),
  rules: list(rule),
  callers: number,
})
/** The alerts that fire, every rule, and how many targets are notified. */
export type AlertsAnswer = Of<typeof alertsAnswer>

export const ruleParams = object({ name: { type: 'string', minLength: 1, maxLength: 63, description: 'the name of a rule' } }, [
  'name',
])
export const ruleBody = object({
  kind,
  threshold: { type: 'number', minimum: 0, maximum: 1e15 },
  type: { type: ['string', 'null'], minLength: 1, maxLength: 200, description: 'the name of a job type, or null for all' },
  min_priority: { type: 'integer', minimum: 0, maximum: 9 },
  for: duration,
  hold: duration,
  severity,
  silenced_until: timeOrNull,
  enabled: yesOrNo,
  why,
})
/** The fields of a rule to set. */
export type RuleBody = Of<typeof ruleBody>

const rules = { type: ['array', 'null'], items: text } as const
const target = answer({ id: number, url: text, form, rules, created_at: time, created_by: text })
/** An address that is notified of trouble. */
export type TargetAnswer = Of<typeof target>
export const targetsAnswer = answer({ targets: list(target) })
export const targetBody = object(
  {
    url: {
      type: 'string',
      minLength: 1,
      maxLength: 2_000,
      description: 'an address, such as https://hooks.example.com/holdfast',
    },
    form,
    routing_key: { type: 'string', minLength: 8, maxLength: 100, description: 'the routing key of a PagerDuty service' },
    rules: { type: 'array', minItems: 1, maxItems: 100, items: { type: 'string', minLength: 1, maxLength: 63 } },
    why,
  },
  ['url'],
)
/** An address to notify of trouble, for these rules or all. */
export type TargetBody = Of<typeof targetBody>
export const newTargetAnswer = answer({ id: number, url: text, secret: text })
/** A target with its secret, which is shown once. */
export type NewTargetAnswer = Of<typeof newTargetAnswer>
/** For how long the old secret of a target signs too. */
export type RotateTargetBody = Of<typeof rotateBody>
export const targetParams = object(
  { id: { type: 'string', pattern: '^[1-9][0-9]{0,8}$', description: 'the number of a target' } },
  ['id'],
)
export const testAnswer = answer({ job: jobId })
/** The job that notifies a target as a test. */
export type TestAnswer = Of<typeof testAnswer>
