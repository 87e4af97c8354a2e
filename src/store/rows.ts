/** What statements answer, as the driver hands it over. Bigints are text: a number would round them. */
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
  created: Date | null
  payload: string | null
}

export interface RescuedRow {
  id: string
  type: string
  attempt: number
  worker: number
  dead: boolean
}

export interface CrashRow {
  id: string
  attempt: number
  outcome: string
  at: Date
  worker: number | null
  message: string | null
}

export interface JobRow {
  id: string
  type: string
  status: string
  lane: string
  priority: number | null
  attempt: number
  max_attempts: number
  payload: string
  idempotency_key: string | null
  created_at: Date
  due_at: Date | null
  started_at: Date | null
  finished_at: Date | null
  worker_id: number | null
  error: unknown
}

export interface AttemptRow {
  attempt: number
  outcome: string
  started_at: Date | null
  ended_at: Date
  worker_id: number | null
  worker: string | null
  error: unknown
}

export interface StatusCount {
  type: string
  status: string
  count: number
}
