import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import type { MovedRow } from './rows.js'

/** Which jobs are meant; null: whatever it is. */
export interface EncodedFilter {
  type: string | null
  status: string | null
  lane: string | null
  concurrencyKey: string | null
  priority: number | null
  createdBefore: string | null
  payload: string | null
  tags: readonly string[] | null
}

export interface DecidedRow extends MovedRow {
  approvals: number
  quorum: number | null
}

/** What operators do to jobs. One job always has a row; of many, those that somebody works on may have none. */
export class MoveStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async cancelJobs(ids: readonly string[], who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('cancelJobs'), [ids, who.by, who.why, who.from])
  }

  async setPriority(ids: readonly string[], priority: number, who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('setPriority'), [ids, who.by, who.why, who.from, priority])
  }

  async rescheduleJobs(
    ids: readonly string[],
    runAt: string | null,
    delayMs: number | null,
    who: RecordedActor,
  ): Promise<MovedRow[]> {
    return this.#database.query(statement('rescheduleJobs'), [ids, who.by, who.why, who.from, runAt, delayMs])
  }

  async runNow(ids: readonly string[], who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('runNow'), [ids, who.by, who.why, who.from])
  }

  async buryJobs(ids: readonly string[], who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('buryJobs'), [ids, who.by, who.why, who.from])
  }

  async resumeJob(id: string, who: RecordedActor, confirmed: readonly string[]): Promise<MovedRow[]> {
    return this.#database.query(statement('resumeJob'), [id, who.by, who.why, who.from, confirmed])
  }

  /** Removes what is kept of a job that has ended. */
  async forgetJob(id: string, who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('forgetJob'), [id, who.by, who.why, who.from])
  }

  /** The next live jobs after that id which fit, by id. */
  async matchingJobs(filter: EncodedFilter, after: string, limit: number): Promise<string[]> {
    const { type, status, lane, concurrencyKey, priority, createdBefore, payload, tags } = filter
    const values = [type, status, lane, concurrencyKey, priority, createdBefore, payload, after, limit, tags]
    return (await this.#database.query<{ id: string }>(statement('matchingJobs'), values)).map((row) => row.id)
  }

  async decideApproval(
    id: string,
    verdict: 'approve' | 'reject',
    who: RecordedActor,
    revision: number | null,
  ): Promise<DecidedRow> {
    const values = [id, verdict, who.by, who.why, who.from, revision]
    const rows = await this.#database.query<DecidedRow>(statement('decideApproval'), values)
    return rows[0] as DecidedRow
  }
}
