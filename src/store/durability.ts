import type { Database } from './database.js'
import { statement } from './queries.js'

/** Settings of the server as text: `fsync`, `full_page_writes`, `synchronous_commit`, `synchronous_standby_names`. */
export interface DurabilitySettings {
  fsync: string
  pages: string
  commits: string
  standbys: string
}

/** What this server is told to do so that a crash takes nothing it has committed. */
export async function readDurability(database: Database): Promise<DurabilitySettings> {
  return (await database.query<DurabilitySettings>(statement('readDurability'), []))[0] as DurabilitySettings
}
