import type { Database } from './database.js'
import { statement } from './queries.js'

/** A completed job with what verifies it. */
export interface FinishedRow {
  payload: string
  version: number
  result: string | null
}

/** How many completed jobs of a type were looked at again, and found done or not. */
export interface VerifiedRow {
  type: string
  confirmed: number
  refuted: number
}

/** Whether completed jobs have truly done their work, of those that were looked at again. */
export class VerificationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Undefined: it is not kept any more, or has not completed. */
  async finished(job: string): Promise<FinishedRow | undefined> {
    return (await this.#database.query<FinishedRow>(statement('readFinished'), [job]))[0]
  }

  async note(type: string, confirmed: boolean): Promise<void> {
    await this.#database.query(statement('noteVerified'), [type, confirmed])
  }

  /** Of the types of which any were looked at in this time. */
  async between(fromMs: number, toMs: number): Promise<VerifiedRow[]> {
    return this.#database.query<VerifiedRow>(statement('readVerified'), [
      new Date(fromMs).toISOString(),
      new Date(toMs).toISOString(),
    ])
  }
}
