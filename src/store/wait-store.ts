import { randomUUID } from 'node:crypto'
import type { Failure } from '../job/failure.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** How a job ended. */
export interface EndedRow {
  id: string
  /** Null where nothing is kept of it. */
  status: 'completed' | 'cancelled' | 'discarded' | 'dead' | null
  type: string | null
  encrypted: boolean | null
  /** Of a dead one. */
  reason: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried' | null
  attempt: number | null
  error: Failure | null
  /** What its handler returned, as it is stored. */
  result: string | null
}

/** What those need who wait for jobs to end. */
export class WaitStore {
  readonly #database: Database
  /** Registrations of this process, so that nobody takes away those of another. */
  readonly #process = randomUUID()

  constructor(database: Database) {
    this.#database = database
  }

  async register(ids: readonly string[]): Promise<void> {
    await this.#database.queryShort(statement('registerWaiters'), [ids, this.#process])
  }

  async unregister(ids: readonly string[]): Promise<void> {
    await this.#database.queryShort(statement('unregisterWaiters'), [ids, this.#process])
  }

  /** Those of these jobs that live no more; one that does is missing. */
  async ends(ids: readonly string[]): Promise<EndedRow[]> {
    return this.#database.queryShort(statement('endsOfJobs'), [ids])
  }
}
