/** What statements answer on our own connections. Bigints are text: a number would round them. Times are milliseconds since 1970. */
export interface TypeRow {
  name: string
  id: number
  lane: number
  lanename: string
}

export interface ClaimedRow {
  lease: string
  id: string
  seq: string
  type: number
  priority: number
  attempt: number
  max: number | null
  created: number | null
  payload: string | null
}

export interface RescuedRow {
  id: string
  type: string
  attempt: number
  worker: number
  dead: boolean
}

export interface JobRow {
  id: string
  type: string
  status: string
  lane: string
  priority: number
  attempt: number
  max_attempts: number
  payload: string
  idempotency_key: string | null
  created_at: number
  due_at: number | null
  started_at: number | null
  finished_at: number | null
  worker_id: number | null
  error: unknown
}

export interface AttemptRow {
  attempt: number
  outcome: string
  started_at: number | null
  ended_at: number
  worker_id: number | null
  worker: string | null
  error: unknown
}

export interface StatusCount {
  type: string
  status: string
  count: number
}

export interface CappedCount {
  type: string
  /** Null for a type with nothing to count. */
  status: string | null
  count: number
  /** There may be more: counting stopped here. */
  cut: boolean
}

export interface NewestJobRow {
  id: string
  type: string
  status: string
  attempt: number
  max_attempts: number
  created_at: Date
  age_ms: number
  error: string | null
}
