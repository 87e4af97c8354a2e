import type { BuildAnswer, CanaryAnswer } from '../../api/builds.js'
import type { BuildState } from '../../flow/builds.js'
import type { CanaryVerdict } from '../../flow/canary-verdict.js'

export function buildAnswer({ firstSeen, ...state }: BuildState): BuildAnswer {
  return { ...state, first_seen: firstSeen.toISOString() }
}

export function canaryAnswer({ stage: { ageMs, bakeMs, next, ...stage }, ...verdict }: CanaryVerdict): CanaryAnswer {
  return { ...verdict, stage: { ...stage, age_ms: Math.round(ageMs), bake_ms: bakeMs, next_workers: next } }
}
