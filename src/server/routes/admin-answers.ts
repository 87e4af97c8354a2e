import type { KeyState } from '../../access/access.js'
import type { BreakerAnswer, DependencyAnswer, GateAnswer, KeyAnswer, LaneAnswer } from '../../api/admin.js'
import type { TypeAnswer } from '../../api/types.js'
import type { Override } from '../../flow/overrides.js'
import type { SettingState } from '../../flow/settings.js'
import type { BreakerState, DependencyState, DoneBy, GateState, LaneState, Paused } from '../../flow/states.js'
import type { TypeState } from '../../flow/type-settings.js'
import { snakeCase } from '../spelling.js'
import { moment } from './job-answers.js'

/** What the library says about lanes, gates, dependencies and keys, in the words of the API. */
export function laneAnswer(lane: LaneState): LaneAnswer {
  const { name, slots, enabled, types } = lane
  return {
    ...{ name, slots, enabled, types },
    worker_slots: lane.workerSlots,
    poll_ms: lane.pollMs,
    lease_ms: lane.leaseMs,
    ageing_ms: lane.ageingMs,
    in_use: lane.inUse,
    overrides: overrideAnswers(lane.overrides),
    changed: doneAnswer(lane.changed),
  }
}

export function gateAnswer(gate: GateState): GateAnswer {
  const { type, fair, ordered, held, uses } = gate
  return {
    ...{ type, fair, ordered, held, uses },
    halt_on_dead: gate.haltOnDead,
    max_running: gate.maxRunning,
    max_running_per_key: gate.maxRunningPerKey,
    rate: rateAnswer(gate.rate),
    rate_per_key: rateAnswer(gate.ratePerKey),
    paused: pausedAnswer(gate.paused),
    overrides: overrideAnswers(gate.overrides),
    stopped_until: moment(gate.stoppedUntil),
    breaker: breakerAnswer(gate.breaker),
  }
}

export function typeAnswer(state: TypeState, gate: GateState | undefined): TypeAnswer {
  const { type, lane, priority, backoff, approval, unique, sensitive, encrypt, redact, searchable, version } = state
  return {
    ...{ type, lane, priority, backoff, approval, unique, sensitive, encrypt, redact, searchable, version },
    max_attempts: state.maxAttempts,
    timeout_ms: state.timeoutMs,
    payload_schema: state.payloadSchema,
    shared_keys: state.sharedKeys,
    max_result_bytes: state.maxResultBytes,
    alert_expired: state.alertExpired,
    on_dead: state.onDead,
    overrides: overrideAnswers(state.overrides),
    registered_at: state.registeredAt.toISOString(),
    gate: gate ? gateAnswer(gate) : null,
  }
}

export function dependencyAnswer({ name, types, held, ...state }: DependencyState): DependencyAnswer {
  return {
    ...{ name, types, held },
    max_running: state.maxRunning,
    rate: rateAnswer(state.rate),
    paused: pausedAnswer(state.paused),
    overrides: overrideAnswers(state.overrides),
    breaker: breakerAnswer(state.breaker),
  }
}

function breakerAnswer({ open, reason, share, minimum, ...state }: BreakerState): BreakerAnswer {
  return {
    ...{ open, reason, share, minimum },
    held_by: state.heldBy,
    opened_at: moment(state.openedAt),
    next_probe_at: moment(state.nextProbeAt),
    window_ms: state.windowMs,
    probe_ms: state.probeMs,
  }
}

export function keyAnswer(key: KeyState): KeyAnswer {
  const { id, service, prefix, subject, roles, types, live } = key
  return {
    ...{ id, service, prefix, subject, roles, types, live },
    rate_limit: key.rateLimit,
    created_at: key.createdAt.toISOString(),
    created_by: key.createdBy,
    expires_at: moment(key.expiresAt),
    revoked_at: moment(key.revokedAt),
    last_used_at: moment(key.lastUsedAt),
  }
}

function rateAnswer(rate: GateState['rate']): { count: number; per_ms: number } | null {
  return rate && { count: rate.count, per_ms: rate.perMs }
}

export function pausedAnswer(paused: Paused | null) {
  return paused && { by: paused.by, why: paused.why, at: paused.at.toISOString(), until: moment(paused.until) }
}

/** With the names that fields have in the API. */
export function overrideAnswers(overrides: readonly Override[]) {
  return overrides.map(({ field, value, by, until, code }) => ({
    ...{ field: snakeCase(field), by, until: moment(until) },
    ...{ value: ours(value), code: ours(code) },
  }))
}

function ours(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [snakeCase(name), one]))
}

export function settingAnswer({ changed, ...one }: SettingState) {
  return { ...one, changed: doneAnswer(changed) }
}

export function doneAnswer(done: DoneBy | null) {
  return done && { by: done.by, why: done.why, at: done.at.toISOString() }
}
