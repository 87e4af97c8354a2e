import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** A setting as it is stored; times are milliseconds. */
export interface SettingRow {
  name: string
  value: number
  standard: number
  defined: number | null
  operator: number | null
  changed: { by: string; why: string | null; at: number } | null
}

/** Numbers that decide about data, once for the whole installation. */
export class SettingsStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async all(): Promise<SettingRow[]> {
    return this.#database.query<SettingRow>(statement('readSettings'), [])
  }

  /** An operator's value; null gives the setting back to the code. */
  async set(name: string, value: number | null, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('setSetting'), [name, value, who.by, who.why, who.from])
  }

  /** What the code says. */
  async define(name: string, value: number): Promise<void> {
    await this.#database.query(statement('defineSetting'), [name, value])
  }
}
