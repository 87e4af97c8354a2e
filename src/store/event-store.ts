import type { Database } from './database.js'
import { statement } from './queries.js'

/** An event as it is stored, with what its job has of it. */
export interface EventRow {
  cursor: string
  kind: string
  job: string
  type: string
  tags: string[]
  owner: string | null
  at: number
  attempt: number
  reason: string | null
  error: { name: string; message: string } | null
}

/** One page of events. */
export interface EventPageRow {
  events: EventRow[]
  next: string
  /** There may be more already. */
  more: boolean
  /** Since when events are kept, where the cursor is before that. */
  lost: number | null
  /** No event has had that cursor yet. */
  ahead: boolean
  /** Nothing is recorded. */
  closed: boolean
}

/** Which events a page has; null: whichever. */
export interface EventQuestion {
  /** Null: from the first that is kept. */
  after: string | null
  types: readonly string[] | null
  kinds: readonly string[] | null
  /** The job of the event has all of these. */
  tags: readonly string[] | null
  owner: string | null
  limit: number
  look: number
}

/** The feed of events. */
export class EventStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Says that somebody reads; the first who does opens the feed. */
  async open(): Promise<void> {
    await this.#database.query(statement('openFeed'), [])
  }

  async read({ after, types, kinds, tags, owner, limit, look }: EventQuestion): Promise<EventPageRow> {
    const values = [after, types, kinds, tags, owner, limit, look]
    const [row] = await this.#database.query<EventPageRow>(statement('readEvents'), values)
    return row as EventPageRow
  }

  /** The cursor of one who reads only what comes. */
  async now(): Promise<string> {
    const [row] = await this.#database.query<{ cursor: string }>(statement('eventsNow'), [])
    return (row as { cursor: string }).cursor
  }
}
