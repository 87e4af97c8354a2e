import type { Database } from './database.js'
import { statement } from './queries.js'

/** An error group; times are milliseconds since 1970. */
export interface ErrorGroupRow {
  type: string
  fingerprint: string
  name: string | null
  message: string | null
  job: string | null
  first_at: number
  last_at: number
  count: number
  /** Days of UTC, and how many failures each had. */
  days: [string, number][]
  /** How many dead letters, counted up to 1001. */
  dead: number
}

/** Which error groups are asked for; null: of all types, of any fingerprint. */
export interface ErrorQuestion {
  types: readonly string[] | null
  fingerprint: string | null
  since: Date
  byCount: boolean
  /** Only groups with dead letters. */
  withDead: boolean
  limit: number
}

/** Error groups: which failures are the same, and how many there were. */
export class ErrorStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async groups({ types, fingerprint, since, byCount, limit, withDead }: ErrorQuestion): Promise<ErrorGroupRow[]> {
    return this.#database.query(statement('errorGroups'), [types, fingerprint, since.toISOString(), byCount, limit, withDead])
  }
}
