import { HoldfastError } from '../errors.js'
import type { Holdfast } from '../holdfast.js'
import { checkDatabaseUrl } from './database-url.js'

/** Runs `use` with the database that a command was given, and closes its connections. */
export async function withDatabase<Result>(
  databaseUrl: string | undefined,
  purpose: string,
  use: (holdfast: Holdfast) => Promise<Result>,
): Promise<Result> {
  if (!databaseUrl) {
    throw new HoldfastError(
      'invalid_configuration',
      `no database was given ${purpose}: set DATABASE_URL, or pass --database-url postgres://user:password@host:port/name`,
      { field: 'databaseUrl' },
    )
  }
  checkDatabaseUrl(databaseUrl, '--database-url')
  // Loaded here and not above, so that `holdfast --help` does not load the driver.
  const { Holdfast } = await import('../holdfast.js')
  const holdfast = new Holdfast({ connectionString: databaseUrl, connections: 1 })
  try {
    return await use(holdfast)
  } finally {
    await holdfast.close()
  }
}
