import type { StepKind } from '../job/steps.js'
import type { Privacy } from '../privacy/privacy.js'
import type { JobRow } from '../store/rows.js'
import type { SignalRow, StepRow } from '../store/step-store.js'

/** One step of a handler, as it is stored. */
export interface JobStep {
  /** The second of one name is `name#2`. */
  name: string
  /** `once`: a step with a key of its own; `signal`: the wait for one. */
  kind: StepKind
  /** `waiting`: a sleep or a wait that is not over. */
  state: 'waiting' | 'completed'
  /** What it returned, or the payload of the signal, redacted; undefined: nothing, or the time to wait was over. */
  result: unknown
  /** The attempt that wrote it. */
  attempt: number
  at: Date
  /** When a sleep or wait ends; null: never by itself, or it is no such step. */
  until: Date | null
}

/** One signal that was sent to a job. */
export interface JobSignal {
  name: string
  payload: unknown
  by: string
  at: Date
  /** Whether a wait of its handler has taken it. */
  delivered: boolean
}

export function shownStep({ name, kind, state, result, attempt, at, until }: StepRow, job: JobRow, privacy: Privacy): JobStep {
  return {
    ...{ name, kind, state, attempt },
    result: result === null ? undefined : privacy.shownResult(result, job),
    at: new Date(at),
    until: until === null ? null : new Date(until),
  }
}

export function shownSignal({ name, payload, actor, at, delivered }: SignalRow, job: JobRow, privacy: Privacy): JobSignal {
  return { name, payload: privacy.shownResult(payload, job), by: actor, at: new Date(at), delivered: delivered !== null }
}
