import { relative } from 'node:path'
import { sleep } from '../../clock.js'
import { startPostgres } from '../../dev/postgres/index.js'
import { HoldfastError } from '../../errors.js'
import { Presence } from '../../store/presence.js'
import { describeDatabaseUrl } from '../database-url.js'
import type { Home } from './home.js'

export interface LocalDatabase {
  url: string
  /** What the database is and where, in a few words. */
  description: string
  embedded: boolean
  /** Stops it if it is ours and no other process uses it. Returns a sentence for the person, if there is something to say. */
  stop(): Promise<string | undefined>
}

const tries = 20

export function givenDatabase(url: string): LocalDatabase {
  return { url, description: describeDatabaseUrl(url), embedded: false, stop: async () => undefined }
}

/** The Postgres of this directory: started now, left by a process that was killed, or shared with one that still runs. */
export async function embeddedDatabase(home: Home, onNotice: (line: string) => void): Promise<LocalDatabase> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const postgres = await startPostgres({ dataDir: home.postgres, onNotice })
    const presence = await Presence.enter(postgres.connectionString)
    if (!presence) {
      // The last process that used it is stopping it right now; when it has stopped, it can be started again.
      await sleep(250)
      continue
    }
    home.keepDatabaseUrl(postgres.connectionString)
    return {
      url: postgres.connectionString,
      description: `PostgreSQL ${postgres.version} in ${shownPath(postgres.dataDir)}`,
      embedded: true,
      async stop() {
        const { alone, gone } = await presence.leave()
        if (alone) await postgres.stop()
        await gone()
        return alone ? undefined : 'Postgres stays up: another Holdfast that was started here still uses it.'
      },
    }
  }
  throw new HoldfastError(
    'database_unavailable',
    `the Postgres in ${home.postgres} stopped again and again while it was being started`,
  )
}

/** The path relative to the working directory, if it is inside of it. */
function shownPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}
