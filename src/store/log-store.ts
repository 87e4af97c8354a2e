import type { LogLevel } from '../job/log-entry.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import { StepStore } from './step-store.js'

/** One thing a handler reported: its progress, or a log line. */
export interface LogRow {
  jobId: string
  attempt: number
  fraction: number | null
  note: string | null
  line: string | null
  level: LogLevel | null
}

/** Progress and log lines of running jobs, and the checkpoints and steps that a retry goes on from. */
export class LogStore {
  readonly steps: StepStore
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
    this.steps = new StepStore(database)
  }

  /** Keeps progress and log lines. */
  async write(rows: readonly (LogRow & { agoMs: number })[]): Promise<void> {
    await this.#database.query(statement('writeLog'), [
      rows.map((s) => s.jobId),
      rows.map((s) => s.attempt),
      rows.map((s) => s.fraction),
      rows.map((s) => s.note),
      rows.map((s) => s.line),
      rows.map((s) => s.agoMs),
      rows.map((s) => s.level),
    ])
  }

  /** Keeps where a retry is to go on. False: the lease is lost, and nothing was kept. */
  async saveCheckpoint(job: string, lease: string, value: string): Promise<boolean> {
    const rows = await this.#database.query<{ saved: boolean }>(statement('saveCheckpoint'), [job, lease, value])
    return rows[0]?.saved === true
  }

  /** Where the next attempt is to go on, as JSON; null: at the beginning. */
  async checkpoint(job: string): Promise<string | null> {
    return (await this.#database.query<{ value: string }>(statement('checkpointOfJob'), [job]))[0]?.value ?? null
  }
}
