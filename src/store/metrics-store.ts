import type { Database } from './database.js'
import { statement } from './queries.js'

/**
 * What is counted of the fleet as a whole: statements that did not reach the database, workers that died and were started again, requests to enqueue and to see a job, and those of
 * the latter that failed.
 */
export type FleetCount = 'connection_errors' | 'worker_restarts' | 'enqueue_requests' | 'status_requests' | 'status_errors'

/** What a process noted since its last note. */
export interface Note {
  /** The same note may be sent again; it counts once. */
  readonly id: string
  readonly durations: readonly { type: string; bucket: number; count: number; seconds: number }[]
  /** How long attempts had been due when they began. */
  readonly waits: readonly { type: string; priority: number; bucket: number; count: number; seconds: number }[]
  readonly late: readonly { type: string; count: number }[]
  /** Requests to enqueue that were refused, by HTTP status. */
  readonly refusals: readonly { status: number; count: number }[]
  readonly duties: readonly { duty: string; runs: number; failures: number; seconds: number }[]
  readonly fleet: readonly { what: FleetCount; count: number }[]
  /** How attempts ended on workers that have a build. */
  readonly builds?: readonly object[]
}

/** What is kept of one type. Depths are priority, waiting and scheduled; durations are bucket, count and seconds. */
export interface TypeMetrics {
  type: string
  /** The one its jobs have where an enqueue names none. */
  priority: number
  enqueued: number
  running: number
  completed: number
  failed: number
  /** Of those that failed. */
  timedOut: number
  outOfMemory: number
  crashed: number
  rescued: number
  dead: number
  cancelled: number
  expired: number
  replayed: number
  resumed: number
  snoozed: number
  handedBack: number
  late: number
  deadLetters: number
  /** Completed jobs that were looked at again; null: none ever was. */
  confirmed: number | null
  refuted: number | null
  breakerOpen: boolean
  paused: boolean
  /** Priority, waiting, scheduled, blocked. */
  depths: [number, number, number, number][]
  durations: [number, number, number][]
  /** Priority, bucket, count, seconds. */
  waits: [number, number, number, number][]
}

export interface MetricsRow {
  types: TypeMetrics[]
  /** Priority, and seconds that the oldest job of it has been due. */
  oldest: [number, number][]
  lanes: { lane: string; slots: number | null; enabled: boolean; inUse: number }[]
  /** `inUse` is counted where there is a limit. */
  dependencies: { dependency: string; slots: number | null; inUse: number | null; paused: boolean; breakerOpen: boolean }[]
  /** HTTP status of requests to enqueue that were refused, and how many. */
  refusals: [number, number][]
  /** What was never counted is left out. */
  fleet: Partial<Record<FleetCount, number>>
  /** When a worker last went through everything whose time was over, in seconds since 1970; null: never. */
  retentionRan: number | null
  /** What disagreed with its jobs, and how often that was repaired. */
  drift: [string, number][]
  /** Those with a worker that was seen within the last day. */
  builds: { build: string; workers: number; completed: number; failed: number }[]
  /** Duty, how often it had something to do, failures, seconds it took, and how much it has set aside now. */
  duties: [string, number, number, number, number][]
  workers: number
  /** Table, and how many partitions of today and tomorrow it lacks. */
  missingPartitions: [string, number][]
  /** How full the queue of NOTIFY is, 0 to 1. */
  notifyQueue: number
  /** Those of them that take no jobs. */
  stalled: number
}

/** The counters behind /metrics. Nothing here looks at a job. */
export class MetricsStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** How many statements of this process failed since the last call because the database could not be reached. */
  takeConnectionErrors(): number {
    return this.#database.takeTroubles()
  }

  async note({ id, durations, waits, late, refusals, duties, fleet, builds = [] }: Note): Promise<void> {
    await this.#database.query(statement('takeNote'), [
      id,
      durations.map(({ type }) => type),
      durations.map(({ bucket }) => bucket),
      durations.map(({ count }) => count),
      durations.map(({ seconds }) => seconds),
      late.map(({ type }) => type),
      late.map(({ count }) => count),
      refusals.map(({ status }) => status),
      refusals.map(({ count }) => count),
      duties.map(({ duty }) => duty),
      duties.map(({ runs }) => runs),
      duties.map(({ failures }) => failures),
      duties.map(({ seconds }) => seconds),
      waits.map(({ type }) => type),
      waits.map(({ priority }) => priority),
      waits.map(({ bucket }) => bucket),
      waits.map(({ count }) => count),
      waits.map(({ seconds }) => seconds),
      fleet.map(({ what }) => what),
      fleet.map(({ count }) => count),
      builds.length > 0 ? JSON.stringify(builds) : null,
    ])
  }

  /** Adds up what was counted since. By whoever comes first; the others do nothing. */
  async keepTotals(): Promise<void> {
    await this.#database.query(statement('keepTotals'), [])
  }

  async read(): Promise<MetricsRow> {
    const rows = await this.#database.query<{ metrics: string }>(statement('readMetrics'), [])
    return JSON.parse((rows[0] as { metrics: string }).metrics)
  }
}
