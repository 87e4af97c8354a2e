import {
  anything,
  done,
  duration,
  forATime,
  number,
  numberOrNull,
  overrides,
  paused,
  text,
  textOrNull,
  time,
  timeOrNull,
  why,
  yesOrNo,
} from './common.js'
import { permissions } from './permissions.js'
import { answer, list, type Of, object } from './schema.js'

const orNull = <const One extends object>(one: One) => ({ anyOf: [one, { type: 'null' }] }) as const
const name = { type: 'string', minLength: 1, maxLength: 200 } as const

// ── lanes, workers ──

export const slots = { type: ['integer', 'null'], minimum: 1, maximum: 10_000 } as const
export const laneBody = object({
  slots,
  worker_slots: slots,
  poll: duration,
  lease: { ...duration, type: ['string', 'number', 'null'] },
  enabled: yesOrNo,
  ageing: duration,
  why,
  unsafe: { type: 'boolean', description: 'true to take a lease outside of 60s to 1h' },
  create: { type: 'boolean', description: 'true to make the lane where there is none of that name' },
  for: forATime,
  types: { type: 'array', items: name, maxItems: 1_000, description: 'job types to move into the lane, with what waits of them' },
})
/** The fields of a lane to change. */
export type LaneBody = Of<typeof laneBody>
export const laneParams = object({ name: { ...name, description: 'the name of a lane' } }, ['name'])

const lane = answer({
  name: text,
  slots: numberOrNull,
  worker_slots: numberOrNull,
  poll_ms: number,
  lease_ms: numberOrNull,
  enabled: yesOrNo,
  ageing_ms: number,
  in_use: number,
  types: list(text),
  overrides,
  changed: orNull(done),
})
export const laneAnswer = lane
/** One lane and how full it is. */
export type LaneAnswer = Of<typeof lane>
export const lanesAnswer = answer({ lanes: list(lane) })

export const workersAnswer = answer({
  workers: list(
    answer({
      id: number,
      name: text,
      host: text,
      pid: number,
      version: text,
      build: textOrNull,
      drained: yesOrNo,
      types: list(text),
      jobs: number,
      started_at: time,
      seen_at: time,
      silent_ms: number,
      looked_at: timeOrNull,
      stalled: yesOrNo,
      remote: yesOrNo,
      lag_ms: numberOrNull,
      memory_bytes: numberOrNull,
      connections: numberOrNull,
    }),
  ),
  lanes: list(lane),
  depths: list(
    answer({
      ...{ type: text, lane: text, waiting: number, scheduled: number, blocked: number, running: number },
      oldest_ms: numberOrNull,
    }),
  ),
})
/** The workers that live, the lanes, and how much waits. */
export type WorkersAnswer = Of<typeof workersAnswer>

export const workerParams = object(
  { id: { type: 'string', pattern: '^[1-9][0-9]{0,8}$', description: 'the number of a worker' } },
  ['id'],
)
export const priorityBody = object({ priority: { type: 'integer', minimum: 0, maximum: 9 }, why }, ['priority'])

// ── job types ──

const rate = orNull(
  object({ count: { type: 'integer', minimum: 1, maximum: 1_000_000 }, per: duration }, ['count', 'per'], 'a count and a time'),
)
const most = { type: ['integer', 'null'], minimum: 1, maximum: 1_000_000 } as const
export const limitsBody = object({
  max_running: most,
  max_running_per_key: most,
  rate,
  rate_per_key: rate,
  fair: yesOrNo,
  ordered: yesOrNo,
  halt_on_dead: yesOrNo,
  breaker: {
    anyOf: [
      { enum: [false] },
      object({ share: number, minimum: { type: 'integer', minimum: 1, maximum: 1_000_000 }, window: duration, probe: duration }),
    ],
    description: 'false or an object with share, minimum, window and probe',
  },
  for: forATime,
  why,
})
/** Limits of a type; null takes one away, what is left out stays. */
export type LimitsBody = Of<typeof limitsBody>

export const breakerBody = object({ action: { enum: ['open', 'close', 'hold_open', 'hold_closed', 'release'] }, why }, ['action'])
/** What is done to a breaker. */
export type BreakerBody = Of<typeof breakerBody>

const breaker = answer({
  open: yesOrNo,
  held_by: { enum: ['nobody', 'operator'] },
  reason: textOrNull,
  opened_at: timeOrNull,
  next_probe_at: timeOrNull,
  share: number,
  minimum: number,
  window_ms: number,
  probe_ms: number,
})
export type BreakerAnswer = Of<typeof breaker>
const rateAnswer = orNull(answer({ count: number, per_ms: number }))
export const gate = answer({
  type: text,
  max_running: numberOrNull,
  max_running_per_key: numberOrNull,
  rate: rateAnswer,
  rate_per_key: rateAnswer,
  fair: yesOrNo,
  ordered: yesOrNo,
  halt_on_dead: yesOrNo,
  held: number,
  paused: orNull(paused),
  overrides,
  stopped_until: timeOrNull,
  uses: list(text),
  breaker,
})
/** The limits, pause and breaker of a type. */
export type GateAnswer = Of<typeof gate>
export const gateAnswer = answer({ type: text, gate: orNull(gate) })
const typeGate = answer({ type: text, lane: text, sensitive: yesOrNo, gate: orNull(gate) })
/** One job type, its lane and its gate. */
export type TypeGateAnswer = Of<typeof typeGate>
export const gatesAnswer = answer({ types: list(typeGate) })

// ── dependencies ──

export const dependencyParams = object({ name: { ...name, description: 'the name of a dependency' } }, ['name'])
export const dependencyBody = object({
  max_running: most,
  rate,
  breaker: limitsBody.properties.breaker,
  create: { type: 'boolean', description: 'true to make the dependency where there is none of that name' },
  for: forATime,
  why,
})
/** Limits of a dependency; null takes one away, what is left out stays. */
export type DependencyBody = Of<typeof dependencyBody>
export const dependencyAnswer = answer({
  name: text,
  types: list(text),
  max_running: numberOrNull,
  rate: rateAnswer,
  held: number,
  paused: orNull(paused),
  overrides,
  breaker,
})
/** One dependency, the types that use it and its gate. */
export type DependencyAnswer = Of<typeof dependencyAnswer>
export const dependenciesAnswer = answer({ dependencies: list(dependencyAnswer) })

// ── keys, roles, audit ──

const names = { type: 'array', items: name, minItems: 1, maxItems: 1_000 } as const
export const keyBody = object(
  {
    service: { type: 'string', minLength: 1, maxLength: 100, description: 'the name of a service' },
    roles: names,
    types: names,
    rate_limit: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    expires: duration,
    why,
  },
  ['service', 'roles'],
)
/** A key to make. */
export type KeyBody = Of<typeof keyBody>
export const certificateBody = object(
  {
    subject: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'the common name of a certificate, or its fingerprint',
    },
    ...keyBody.properties,
  },
  ['subject', 'service', 'roles'],
)
/** A certificate to accept as a service. */
export type CertificateBody = Of<typeof certificateBody>
export const rotateBody = object({ grace: duration, why })
export const keyParams = object({ id: { type: 'string', pattern: '^[1-9][0-9]{0,8}$', description: 'the number of a key' } }, [
  'id',
])
export const keysQuery = object({ service: { type: 'string', minLength: 1, maxLength: 100 } })

const keyFields = {
  id: number,
  service: text,
  prefix: text,
  subject: textOrNull,
  roles: list(text),
  types: orNull(list(text)),
  rate_limit: number,
  live: yesOrNo,
  created_at: time,
  created_by: text,
  expires_at: timeOrNull,
  revoked_at: timeOrNull,
  last_used_at: timeOrNull,
} as const
export const keyAnswer = answer(keyFields)
/** A key, without what is secret. */
export type KeyAnswer = Of<typeof keyAnswer>
export const newKeyAnswer = answer({ ...keyFields, key: text })
/** A key that was just made, with its text. */
export type NewKeyAnswer = Of<typeof newKeyAnswer>
export const keysAnswer = answer({ keys: list(keyAnswer) })

export const roleBody = object(
  {
    permissions: { type: 'array', items: { enum: Object.keys(permissions) as (keyof typeof permissions)[] }, maxItems: 50 },
    why,
  },
  ['permissions'],
)
/** What a role is to allow. */
export type RoleBody = Of<typeof roleBody>
export const roleParams = object({ name: { ...name, description: 'the name of a role' } }, ['name'])
export const roleAnswer = answer({ name: text, permissions: list(text), built_in: yesOrNo })
/** A role and what it allows. */
export type RoleAnswer = Of<typeof roleAnswer>
export const rolesAnswer = answer({ roles: list(roleAnswer) })

export const auditQuery = object({
  actor: name,
  action: name,
  target: { type: 'string', minLength: 1, maxLength: 800 },
  from: time,
  to: time,
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  cursor: { type: 'string', pattern: '^[0-9]{1,18}$', description: 'what an earlier page named as next' },
})
/** Which lines of the audit log are asked for. */
export type AuditQuery = Of<typeof auditQuery>
export const auditAnswer = answer({
  lines: list(
    answer({
      id: text,
      at: time,
      actor: text,
      origin: textOrNull,
      action: text,
      target: textOrNull,
      before: anything,
      after: anything,
      why: textOrNull,
    }),
  ),
  next: textOrNull,
})
/** One page of the audit log. */
export type AuditAnswer = Of<typeof auditAnswer>
