import type { Duration } from './duration.js'
import { refused } from './refused.js'
import type { BackoffOption } from './retry.js'
import { unstorable } from './text.js'

/** `once` is a step that was given a key; `signal` the wait for one. */
export type StepKind = 'step' | 'once' | 'sleep' | 'signal'

/** A step as attempts before this one have left it. */
export interface StoredStep {
  name: string
  kind: StepKind
  state: 'waiting' | 'completed'
  /** Which step it was, counted in the order of the calls. */
  position: number
  /** How many had completed when it was called; null: one had failed, so that another attempt may go another way. */
  after: number | null
  /** How many had completed with it; null: it has not. */
  done: number | null
  /** As JSON; null: it returned nothing, or the time to wait for a signal was over. */
  result: string | null
}

/** What an attempt says of a step it writes. */
export interface StepPosition {
  name: string
  kind: StepKind
  position: number
  after: number | null
  done: number
}

/** A step that has completed. */
export interface FinishedStep extends StepPosition {
  result: string | null
}

/** A sleep or a wait. `ms`: how long, by the database's clock; null: for ever. */
export interface WaitingStep extends StepPosition {
  ms: number | null
}

/** What became of it. Not `held`: the attempt holds its lease no more. `left`: how long it still waits; null: for ever. */
export interface StepWait {
  held: boolean
  state: 'waiting' | 'completed' | null
  result: string | null
  left: number | null
}

/** What the function of a step is told. */
export interface StepInHand {
  /** Fires when the step should stop: its own timeout, or whatever the attempt's signal fires for. */
  readonly signal: AbortSignal
  /** Which try this is, from 1. */
  readonly attempt: number
}

/** How a step is run. */
export interface StepOptions {
  /**
   * How often it is tried inside of one attempt, or that and how long it waits between two tries.
   * @range 1 to 20 tries; times as in `backoff` of a type
   * @default 1
   */
  retry?: number | { attempts: number; backoff?: BackoffOption }
  /**
   * How long one try may take.
   * @range 1 ms to 7 days
   * @default the rest of the attempt's own timeout
   */
  timeout?: Duration
}

/** A name that steps and signals can have. The # is for the second of one name. */
export function stepName(name: unknown, field: string): string {
  if (typeof name === 'string' && name.length >= 1 && name.length <= 200 && !name.includes('#') && !unstorable.test(name))
    return name
  throw refused(field, 'must be a text of 1 to 200 characters without "#" and NUL')
}
