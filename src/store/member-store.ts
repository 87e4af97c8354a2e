import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import type { Queryable } from './transaction.js'

/** What this database says of itself among several. */
export interface MembershipRow {
  name: string
  routed: boolean
}

/** What is left in a member. */
export interface MemberLoadRow {
  live: number
  dead: number
  schedules: number
}

/** This database as a member of a system of several. */
export class MemberStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Gives the database its name, unless it has one. Answers with the name it has. */
  async be(name: string): Promise<string> {
    const rows = await this.#database.query<{ name: string }>(statement('beMember'), [name])
    return (rows[0] as { name: string }).name
  }

  /** Undefined: it has no name yet. */
  async read(tx?: Queryable): Promise<MembershipRow | undefined> {
    const ask = statement('readMembership')
    if (tx) return (await tx.query<MembershipRow>(this.#database.rendered(ask).text, []))[0]
    return (await this.#database.query<MembershipRow>(ask, []))[0]
  }

  async route(routed: boolean, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('routeMember'), [routed, who.by, who.why, who.from])
  }

  async load(): Promise<MemberLoadRow> {
    return (await this.#database.query<MemberLoadRow>(statement('memberLoad'), []))[0] as MemberLoadRow
  }
}
