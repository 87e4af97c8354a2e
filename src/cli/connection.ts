import { HoldfastClient } from '../client/client.js'
import type { Holdfast } from '../holdfast.js'
import { addressOfUp, checkDatabaseUrl } from './database-url.js'
import { UsageError } from './exit.js'
import type { Io } from './io.js'
import type { Operator } from './operator/operator.js'

/** What every command that looks or operates can be told about where. */
export interface Where {
  databaseUrl?: string
  url?: string
  by?: string
  schema?: string
}

type Chosen = { database: string } | { url: string; key: string }

/** Runs `use` with what was given to connect to, a database or a server, and closes it. */
export async function withOperator<Result>(
  io: Io,
  where: Where,
  actor: { by: string; from: string },
  use: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const chosen = choose(io.env, where)
  if ('database' in chosen) {
    const { DatabaseOperator } = await import('./operator/database.js')
    return withHoldfast(chosen.database, where, (holdfast) => use(new DatabaseOperator(holdfast, actor)))
  }
  if (where.by !== undefined) {
    throw new UsageError('--by is for the database alone: over HTTP the audit log names the service that the key is of', '--by')
  }
  return use(new HoldfastClient({ url: chosen.url, key: chosen.key, tries: 3 }))
}

/** The same for a command that needs the database itself. `purpose`: what for. */
export async function withDatabase<Result>(
  io: Io,
  where: Where,
  purpose: string,
  use: (holdfast: Holdfast) => Promise<Result>,
): Promise<Result> {
  const url = where.databaseUrl ?? (io.env.DATABASE_URL || undefined)
  if (where.url === undefined && url !== undefined) {
    checkDatabaseUrl(url, where.databaseUrl === undefined ? 'DATABASE_URL' : '--database-url')
    return withHoldfast(url, where, use)
  }
  const server = where.url !== undefined || io.env.HOLDFAST_URL ? '; a server cannot do this' : ''
  const said = `no database was given ${purpose}: set DATABASE_URL, or pass --database-url postgres://user:password@host:port/name`
  throw new UsageError(said + server + (server ? '' : addressOfUp()), 'databaseUrl', 'invalid_configuration')
}

/** An option of the command line goes before the environment; two that say different things are not guessed about. */
function choose(env: Io['env'], { databaseUrl, url }: Where): Chosen {
  if (databaseUrl !== undefined && url !== undefined) {
    throw new UsageError(
      '--database-url and --url were both given; one of them says where to look',
      'url',
      'invalid_configuration',
    )
  }
  if (databaseUrl !== undefined) return database(databaseUrl, '--database-url')
  if (url !== undefined) return server(url, '--url', env)
  if (env.DATABASE_URL && env.HOLDFAST_URL) {
    const said =
      'DATABASE_URL and HOLDFAST_URL are both set: pass --url or --database-url to say which is meant, or unset one of them'
    throw new UsageError(said, 'url', 'invalid_configuration')
  }
  if (env.DATABASE_URL) return database(env.DATABASE_URL, 'DATABASE_URL')
  if (env.HOLDFAST_URL) return server(env.HOLDFAST_URL, 'HOLDFAST_URL', env)
  const said =
    'no database and no server was given: set DATABASE_URL, or HOLDFAST_URL and HOLDFAST_KEY, or pass --database-url or --url'
  throw new UsageError(said + addressOfUp(), 'databaseUrl', 'invalid_configuration')
}

function database(url: string, givenAs: string): Chosen {
  checkDatabaseUrl(url, givenAs)
  return { database: url }
}

function server(url: string, givenAs: string, { HOLDFAST_KEY: key }: Io['env']): Chosen {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    const said = `${givenAs} is "${url}"; it must be the address of a Holdfast server, such as https://jobs.example.com`
    throw new UsageError(said, 'url', 'invalid_configuration')
  }
  if (key) return { url, key }
  const said = `a server was given without a key: set HOLDFAST_KEY to one that holdfast keys create printed`
  throw new UsageError(said, 'HOLDFAST_KEY', 'invalid_configuration')
}

async function withHoldfast<Result>(
  url: string,
  { schema }: Where,
  use: (holdfast: Holdfast) => Promise<Result>,
): Promise<Result> {
  // Loaded here and not above, so that `holdfast --help` does not load the driver.
  const { Holdfast } = await import('../holdfast.js')
  // A person at a terminal is told at once that the database is away.
  const holdfast = new Holdfast({ connectionString: url, connections: 2, retryEnqueueFor: 0, ...(schema && { schema }) })
  try {
    return await use(holdfast)
  } finally {
    await holdfast.close()
  }
}
