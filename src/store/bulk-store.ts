import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** A bulk action as it is stored. */
export interface NewBulk {
  action: string
  filter: string | null
  jobs: readonly string[] | null
  settings: string
  owner: string | null
  pace: number | null
  estimate: number
  atLeast: boolean
}

export interface BulkRow {
  id: string
  action: string
  filter: Record<string, unknown> | null
  jobs: number | null
  settings: Record<string, unknown>
  owner: string | null
  actor: string
  why: string | null
  pace: number | null
  status: string
  estimate: number
  at_least: boolean
  matched: number
  done: number
  refused: Record<string, number>
  created_at: number
  started_at: number | null
  ended_at: number | null
  aborted_by: string | null
  aborted_why: string | null
}

export interface PortionRow {
  more: boolean
  taken: number
  matched: number
  estimate: number
}

/** Bulk actions: what is done to many jobs, a portion at a time. */
export class BulkStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The next jobs that an action would mean. */
  async candidates(
    { action, filter, owner }: Pick<NewBulk, 'action' | 'filter' | 'owner'>,
    cursor: string | null,
    limit: number,
  ): Promise<{ ids: string[]; next: string | null }> {
    const rows = await this.#database.query<{ ids: string[]; next: string | null }>(statement('bulkCandidates'), [
      action,
      filter,
      owner,
      cursor,
      limit,
    ])
    return rows[0] as { ids: string[]; next: string | null }
  }

  async create({ action, filter, jobs, settings, owner, pace, estimate, atLeast }: NewBulk, who: RecordedActor): Promise<string> {
    const values = [action, filter, jobs, settings, owner, pace, estimate, atLeast, who.by, who.why, who.from]
    return ((await this.#database.query<{ id: string }>(statement('createBulk'), values))[0] as { id: string }).id
  }

  /** Does the action to its next jobs, and says whether there are more. */
  async portion(id: string, limit: number): Promise<PortionRow> {
    return (await this.#database.query<PortionRow>(statement('bulkPortion'), [id, limit]))[0] as PortionRow
  }

  /** False: it had ended, or there is none. */
  async abort(id: string, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ aborted: boolean }>(statement('abortBulk'), [id, who.by, who.why, who.from])
    return rows[0]?.aborted === true
  }

  /** Newest first, before that id; only the one of `id` if it is given, only those of `owner` if it is. */
  async list(
    { id, before, owner }: { id?: string | undefined; before?: string | undefined; owner?: string | undefined },
    limit: number,
  ): Promise<BulkRow[]> {
    return this.#database.query(statement('bulkActions'), [id ?? null, before ?? null, limit, owner ?? null])
  }
}
