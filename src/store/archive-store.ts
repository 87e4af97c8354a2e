import type { Database } from './database.js'
import { statement } from './queries.js'

/** A job that has ended, as it is handed on. */
export interface ArchivedJob {
  id: string
  /** All of it as JSON, on one line. Payload, result and errors are as they are stored. */
  line: string
}

/** Days of history that are handed on before retention drops them. */
export class ArchiveStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The days that are over and have not been handed on, the oldest first. */
  async days(): Promise<string[]> {
    return (await this.#database.query<{ day: string }>(statement('daysToArchive'), [])).map(({ day }) => day)
  }

  /** False: somebody has handed it on. */
  async begin(day: string, run: string): Promise<boolean> {
    const rows = await this.#database.query<{ begun: boolean }>(statement('beginArchive'), [day, run])
    return rows[0]?.begun === true
  }

  page(day: string, after: string, limit: number): Promise<ArchivedJob[]> {
    return this.#database.query<ArchivedJob>(statement('archivePage'), [day, after, limit])
  }

  /** False: what was handed on does not count, and the day is to be begun again. */
  async finish(day: string, run: string, jobs: number): Promise<boolean> {
    const rows = await this.#database.query<{ finished: boolean }>(statement('finishArchive'), [day, run, jobs])
    return rows[0]?.finished === true
  }
}
