import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import type { DeadLetterRow, DeadPositionRow, MovedRow } from './rows.js'

/** Which dead letters are meant; null: whatever it is. */
export interface EncodedDeadFilter {
  type: string | null
  reason: string | null
  error: string | null
  diedFrom: string | null
  diedBefore: string | null
  tags: readonly string[] | null
  batch: string | null
}

/** A cursor into the list of dead letters, to the microsecond. */
export interface DeadPosition {
  at: string
  id: string
}

/** How many are read where a text is looked for: about as many as take some tens of milliseconds. */
const scanned = 5_000

/** What is done about dead letters. One job always has a row; of many, those that somebody works on may have none. */
export class DeadLetterStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** What a list shows of the next dead letters behind that cursor, newest first. */
  async page(filter: EncodedDeadFilter, after: DeadPosition | null, limit: number): Promise<DeadLetterRow[]> {
    return this.#database.query(statement('deadLettersPage'), asked(filter, after, limit))
  }

  /** The same without what a list shows. */
  async matching(filter: EncodedDeadFilter, after: DeadPosition | null, limit: number): Promise<DeadPositionRow[]> {
    return this.#database.query(statement('matchingDead'), asked(filter, after, limit))
  }

  async one(id: string): Promise<Pick<DeadLetterRow, 'reason' | 'died_at' | 'error'> | undefined> {
    const rows = await this.#database.query(statement('deadLetterOfJob'), [id])
    return rows[0] as Pick<DeadLetterRow, 'reason' | 'died_at' | 'error'> | undefined
  }

  /** With the sensitive types that are meant; where another is among them, nothing happens. */
  async replay(
    ids: readonly string[],
    payload: string | null,
    confirmed: readonly string[],
    who: RecordedActor,
  ): Promise<MovedRow[]> {
    return this.#database.query(statement('replayDead'), [ids, who.by, who.why, who.from, payload, confirmed])
  }

  /** The sensitive types of what fits. */
  async sensitive(filter: EncodedDeadFilter): Promise<string[]> {
    const { type, reason, error, diedFrom, diedBefore, tags, batch } = filter
    const values = [type, reason, error, diedFrom, diedBefore, scanned, tags, batch]
    return (await this.#database.query<{ name: string }>(statement('sensitiveDead'), values)).map(({ name }) => name)
  }

  async discard(ids: readonly string[], who: RecordedActor): Promise<MovedRow[]> {
    return this.#database.query(statement('discardDead'), [ids, who.by, who.why, who.from])
  }
}

function asked(filter: EncodedDeadFilter, after: DeadPosition | null, limit: number): unknown[] {
  const { type, reason, error, diedFrom, diedBefore, tags, batch } = filter
  const scan = error === null && tags === null && batch === null ? limit : Math.max(limit, scanned)
  return [type, reason, error, diedFrom, diedBefore, after?.at ?? null, after?.id ?? null, limit, scan, tags, batch]
}
