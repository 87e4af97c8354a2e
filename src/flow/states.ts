import type { WaitReason } from '../store/load-rows.js'
import { type Override, overrides, type ToldOverride } from './overrides.js'

/** A lane as it is now. Times are in milliseconds. */
export interface LaneState {
  name: string
  /** Most jobs running at once in the whole fleet; null: no limit. */
  slots: number | null
  /** Most jobs running at once in one worker; null: as many as it has slots. */
  workerSlots: number | null
  pollMs: number
  /** Null: what each worker was started with. */
  leaseMs: number | null
  enabled: boolean
  ageingMs: number
  /** How many slots are taken; where there is no limit, how many jobs run. */
  inUse: number
  types: string[]
  /** What operators said of it, beside what it was made with or the environment of the first worker said. */
  overrides: Override[]
  /** Who changed it last; null where nobody has. */
  changed: DoneBy | null
}

/** A job that takes a slot of a lane. */
export interface SlotState {
  job: string
  type: string
  /** Null where nothing of it is kept any more. */
  attempt: number | null
  /** The name of its worker; null where that is no longer kept. */
  worker: string | null
  workerId: number
  /** It was cancelled, and its handler may still be at work. */
  stopping: boolean
  since: Date
  leaseUntil: Date
}

/** Who did something, when and why. */
export interface DoneBy {
  by: string
  why: string | null
  at: Date
}

/** A pause, and when it is over; null: when somebody resumes it. */
export interface Paused extends DoneBy {
  until: Date | null
}

/** The gate of a type as it is now: its limits, what holds it shut, and its breaker. Times are in milliseconds. */
export interface GateState {
  type: string
  maxRunning: number | null
  maxRunningPerKey: number | null
  rate: { count: number; perMs: number } | null
  ratePerKey: { count: number; perMs: number } | null
  fair: boolean
  /** Jobs of a key run one after the other, in the order of their enqueue. */
  ordered: boolean
  /** A key of an ordered type halts when one of its jobs has died. */
  haltOnDead: boolean
  /** Jobs that hold a slot: admitted and not yet ended. Counted only while the type passes its gate. */
  held: number
  paused: Paused | null
  /** A handler asked to stop the type until then. */
  stoppedUntil: Date | null
  /** What operators said of its limits, beside what the code says. */
  overrides: Override[]
  /** The dependencies whose gates its jobs pass too. */
  uses: string[]
  breaker: BreakerState
}

/** A breaker as it is now. */
export interface BreakerState {
  open: boolean
  /** An operator holds it there. */
  heldBy: 'nobody' | 'operator'
  /** Why it is as it is; null where it has never moved. */
  reason: string | null
  openedAt: Date | null
  nextProbeAt: Date | null
  share: number
  minimum: number
  windowMs: number
  probeMs: number
}

/** A dependency as it is now: who uses it, its limits, what holds it shut, and its breaker. Times are in milliseconds. */
export interface DependencyState {
  name: string
  types: string[]
  maxRunning: number | null
  rate: { count: number; perMs: number } | null
  /** Jobs of all these types that hold a slot: admitted and not yet ended. Counted only while the types pass their gates. */
  held: number
  paused: Paused | null
  /** What operators said of its limits, beside what the code says. */
  overrides: Override[]
  breaker: BreakerState
}

/** What was set about one key of a type. */
export interface KeySettings {
  key: string
  /** How many turns it gets for one of a key of weight 1. */
  weight: number
  paused: Paused | null
  /** A handler asked to stop the key until then. */
  restsUntil: Date | null
  /** The job that died and halts the key, and since when; null: it has not halted. */
  halted: { job: string; at: Date } | null
}

/** How much may wait in a scope, and how much did when it was counted last. Null: not limited. */
export interface DepthLimitState {
  scope: 'queue' | 'lane' | 'type'
  /** Of the lane or type; empty for the queue. */
  name: string
  soft: number | null
  hard: number | null
  oldestMs: number | null
  waiting: number
  /** How long the oldest has waited; null: nothing waits. */
  waitsMs: number | null
  /** How many jobs wait otherwise than for a worker, and how many may. */
  counts: Record<WaitReason, number>
  most: Record<WaitReason, number | null>
}

/** The same as the database says it: every moment is a number of milliseconds. */
export type Told<State> = {
  [Field in keyof State]: State[Field] extends Date
    ? number
    : State[Field] extends Date | null
      ? number | null
      : State[Field] extends Override[]
        ? ToldOverride[]
        : State[Field] extends unknown[]
          ? State[Field]
          : State[Field] extends object | null
            ? Told<Exclude<State[Field], null>> | Extract<State[Field], null>
            : State[Field]
}

export function laneState(told: Told<LaneState>): LaneState {
  return { ...told, overrides: overrides(told.overrides), changed: done(told.changed) }
}

export function gateState(told: Told<GateState>): GateState {
  const { stoppedUntil, breaker } = told
  return { ...told, ...said(told), stoppedUntil: moment(stoppedUntil), breaker: breakerState(breaker) }
}

export function dependencyState(told: Told<DependencyState>): DependencyState {
  return { ...told, ...said(told), breaker: breakerState(told.breaker) }
}

function breakerState(told: Told<BreakerState>): BreakerState {
  return { ...told, openedAt: moment(told.openedAt), nextProbeAt: moment(told.nextProbeAt) }
}

export function keySettings(told: Told<KeySettings>): KeySettings {
  const halted = told.halted && { ...told.halted, at: new Date(told.halted.at) }
  return { ...told, paused: paused(told.paused), restsUntil: moment(told.restsUntil), halted }
}

function said(told: { paused: Told<Paused> | null; overrides: ToldOverride[] }) {
  return { paused: paused(told.paused), overrides: overrides(told.overrides) }
}

function paused(told: Told<Paused> | null): Paused | null {
  return told && { ...told, at: new Date(told.at), until: moment(told.until) }
}

function done(told: Told<DoneBy> | null): DoneBy | null {
  return told && { ...told, at: new Date(told.at) }
}

function moment(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
