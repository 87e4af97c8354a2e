/** What explain_facts gathers of the gate of a type or a dependency. */
export interface GateFacts {
  paused_by?: string | null
  paused_why?: string | null
  paused_until?: string | null
  paused_over_in_ms?: number | null
  /** What operators said of its limits. */
  overrides?: { field: string; by: string; until: number | null; code: unknown }[]
  breaker_hold?: 'auto' | 'open' | 'closed'
  breaker_opened_at?: string | null
  breaker_reason?: string | null
  breaker_probe_in_ms?: number | null
  max_running?: number | null
  running?: number
  held_by?: string[]
  rate_count?: number | null
  rate_per_ms?: number | null
  rate_used?: number
  rate_free_in_ms?: number | null
}

/** What explain_facts gathers. Fields of the gate are there only while the job stands before it. */
export interface ExplainFacts extends GateFacts {
  status: string | null
  type: string
  lane: string
  key: string | null
  workers: number
  lane_enabled: boolean
  lane_changed_by: string | null
  lane_changed_why: string | null
  lane_slots: number | null
  /** What operators said of the lane; and when the drain is over, where it is one for a time. */
  lane_overrides: GateFacts['overrides']
  lane_drained: { until: string; in_ms: number } | null
  lane_held_by: string[]
  lane_in_use: number
  /** The sleeps and waits of its handler that are not over; null: none. */
  waits?: { name: string; kind: 'sleep' | 'signal' }[] | null
  /** How often its handler put it off and workers handed it back, and how often they may; null: it has ended. */
  rounds?: { snoozes: number; hand_backs: number; max_snoozes: number; max_hand_backs: number } | null
  place: 'queue' | 'waiting' | 'following' | null
  /** It stands in the queue before the gate of its type. */
  gated?: boolean
  start_by: string | null
  version: number
  type_version: number
  /** The newest version that a live worker knows; null: there is none that says. */
  known_version: number | null
  /** The job it waits behind. */
  follows: string | null
  /** The task it is, where that has no job: it has not started, is a sub-workflow, or its job is no longer kept. */
  task?: {
    name: string
    execution: string
    workflow: string
    because: 'condition' | 'failed' | 'stopped' | 'cancelled' | null
    error: string | null
    /** The workflow it is, if it is one. */
    sub: string | null
    parents: string[]
    held_by: string[]
  }
  /** Which duty could not handle the job or its gate, and why. */
  set_aside?: { duty: string; error: string; times: number; again_in_ms: number } | null
  due_in_ms: number | null
  due_at: string | null
  worker: string | null
  claimed_at: string | null
  ahead?: number
  ended_last_minute?: number
  stopped_in_ms?: number | null
  /** What its type uses, each with its gate. */
  dependencies?: (GateFacts & { name: string })[] | null
  key_rate_count?: number | null
  key_rate_per_ms?: number | null
  key_rate_used?: number
  key_rate_free_in_ms?: number | null
  key_paused_by?: string | null
  key_paused_why?: string | null
  key_paused_until?: string | null
  key_paused_over_in_ms?: number | null
  key_rests_in_ms?: number | null
  key_max_running?: number | null
  key_running?: number
  key_held_by?: string[]
  keyed?: boolean
  key_halted_by?: string | null
  key_halted_at?: string | null
  /** The job that holds the key, where its jobs run in order and it is another one. */
  key_holder?: { job: string; status: string; due_at: string | null } | null
}
