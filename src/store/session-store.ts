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
  async open(
    hash: string,
    { key, person }: { key: number | null; person: { person: string; roles: readonly string[] } | null },
    livesMs: number,
    who: RecordedActor,
  ): Promise<number> {
    const whose = [person?.person ?? null, person ? JSON.stringify(person.roles) : null]
    const values = [hash, key, livesMs, who.by, who.from, ...whose]
    const rows = await this.#database.query<{ expires: number }>(statement('openSession'), values)
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

  /** How many there were. */
  async endOf(person: string, who: RecordedActor): Promise<number> {
    const rows = await this.#database.query<{ ended: number }>(statement('endSessionsOf'), [person, who.by, who.why, who.from])
    return (rows[0] as { ended: number }).ended
  }
}
