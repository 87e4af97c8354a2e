/** How much there is to do, and who does it. Numbers of milliseconds, and counts. */
export interface TypeDepthRow {
  type: string
  lane: string
  waiting: number
  scheduled: number
  blocked: number
  running: number
  oldest: number | null
}

/** How busy a lane is. */
export interface LaneLoadRow {
  lane: string
  enabled: boolean
  /** How many jobs of it may run at once in all; null: as many as workers take. */
  slots: number | null
  /** Jobs that are due, of types that nothing holds back. */
  waiting: number
  running: number
  /** Attempts that ended in a second, in the last minute. */
  ended: number
  /** Workers of its types that were heard of within three minutes. */
  live: number
}

/** One limit on what may wait, and how much does. */
export interface Depth {
  scope: string
  name: string
  soft: number | null
  hard: number | null
  waiting: number
  /** How long the oldest job there has been waiting; null where none waits. */
  ageMs: number | null
  oldestMs: number | null
  /** How many jobs wait otherwise than for a worker, and how many may; null: not limited. */
  counts: Record<WaitReason, number>
  most: Record<WaitReason, number | null>
  /** Whether one of the types that were asked about wants its jobs approved. */
  approves: boolean
}

/** What a job waits for that does not wait for a worker. */
export type WaitReason = 'scheduled' | 'retrying' | 'unapproved' | 'blocked'

export interface DepthRow extends Omit<Depth, 'ageMs' | 'oldestMs'> {
  age: string | number | null
  oldest: string | number | null
}

/** A worker that was heard of within the last day. Moments are milliseconds since 1970. */
export interface LiveWorkerRow {
  id: number
  name: string
  host: string
  pid: number
  version: string
  /** Which code it runs, and whether it or its build was told to claim no more. */
  build: string | null
  drained: boolean
  started: number
  seen: number
  silent: number
  /** When it last asked for jobs and was answered; null where it never was or does not say. */
  looked: number | null
  stalled: boolean
  /** Whether it works over HTTP. */
  remote: boolean
  /** What it said of its process with its last heartbeat; null: it does not say. */
  lag_ms: number | null
  memory_bytes: number | null
  connections: number | null
  types: string[]
  leased: number
}
