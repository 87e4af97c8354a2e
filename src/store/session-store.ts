import type { RecordedActor } from '../job/actor.js'
import type { FoundSessionRow } from './access-rows.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** Sessions of people, known by hashes. */
export class SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** When it ends, in milliseconds since 1970. */
  async open(hash: string, key: number | null, livesMs: number, who: RecordedActor): Promise<number> {
    const rows = await this.#database.query<{ expires: number }>(statement('openSession'), [hash, key, livesMs, who.by, who.from])
    return (rows[0] as { expires: number }).expires
  }

  /** The session of either hash, if it lives; that of the installation's own key only by the second. */
  async find(hash: string, installationHash: string): Promise<FoundSessionRow | undefined> {
    return (await this.#database.query<FoundSessionRow>(statement('findSession'), [hash, installationHash]))[0]
  }

  /** False: there is none. */
  async end(hash: string, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('endSession'), [hash, who.by, who.from])
    return rows[0]?.known === true
  }
}
