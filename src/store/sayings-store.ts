import type { LogLevel } from '../job/saying.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** What a handler said: how far it is, or one line. */
export interface SaidRow {
  jobId: string
  attempt: number
  fraction: number | null
  note: string | null
  line: string | null
  level: LogLevel | null
}

/** What handlers say while they run, and where a retry goes on. */
export class SayingsStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Keeps what handlers said while they run. */
  async note(said: readonly (SaidRow & { agoMs: number })[]): Promise<void> {
    await this.#database.query(statement('noteSayings'), [
      said.map((s) => s.jobId),
      said.map((s) => s.attempt),
      said.map((s) => s.fraction),
      said.map((s) => s.note),
      said.map((s) => s.line),
      said.map((s) => s.agoMs),
      said.map((s) => s.level),
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
