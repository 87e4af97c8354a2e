import { relative } from 'node:path'
import { sleep } from '../../clock.js'
import { startPostgres } from '../../dev/postgres/index.js'
import { HoldfastError } from '../../errors.js'
import { Presence } from '../../store/presence.js'
import { describeDatabaseUrl } from '../database-url.js'
import type { Home } from './home.js'

export interface LocalDatabase {
  url: string
  /** What and where it is, in a few words. */
  description: string
  embedded: boolean
  /** Ends it if it is ours and nobody else here uses it. Answers with what is left to say, if anything is. */
  stop(): Promise<string | undefined>
}

const tries = 20

export function givenDatabase(url: string): LocalDatabase {
  return { url, description: describeDatabaseUrl(url), embedded: false, stop: async () => undefined }
}

/** The Postgres of this directory: started, or taken over from a start that was killed, or shared with one that still runs. */
export async function embeddedDatabase(home: Home, onNotice: (line: string) => void): Promise<LocalDatabase> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const postgres = await startPostgres({ dataDir: home.postgres, onNotice })
    const presence = await Presence.enter(postgres.connectionString)
    if (!presence) {
      // Whoever used it last is stopping it at this very moment; when it has gone, it can be started again.
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
  throw new HoldfastError('database_unavailable', `the Postgres in ${home.postgres} keeps stopping while it is being started`)
}

/** From where the person stands, unless that is somewhere else altogether. */
function shownPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}
