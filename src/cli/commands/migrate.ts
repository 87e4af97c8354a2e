import { HoldfastError } from '../../errors.js'
import { Holdfast } from '../../holdfast.js'
import { type AppliedMigration, migrationScript } from '../../store/migrate.js'
import { checkDatabaseUrl } from '../database-url.js'
import { print } from '../print.js'

export interface MigrateOptions {
  databaseUrl?: string
  sql?: boolean
  json?: boolean
}

export async function migrate(options: MigrateOptions): Promise<void> {
  if (options.sql) return print(migrationScript().trimEnd())
  if (!options.databaseUrl) {
    throw new HoldfastError(
      'invalid_configuration',
      'no database to migrate: set DATABASE_URL, or give --database-url postgres://user:password@host:port/name',
      { field: 'databaseUrl' },
    )
  }
  checkDatabaseUrl(options.databaseUrl, '--database-url')
  const holdfast = new Holdfast({ connectionString: options.databaseUrl, connections: 1 })
  try {
    const applied = await holdfast.migrate()
    print(options.json ? JSON.stringify({ applied }) : inWords(applied))
  } finally {
    await holdfast.close()
  }
}

function inWords(applied: readonly AppliedMigration[]): string {
  if (applied.length === 0) return 'Nothing to do: the schema is up to date.'
  const lines = applied.map(({ number, name }) => `  ${String(number).padStart(4, '0')}  ${name.replaceAll('_', ' ')}`)
  return [`Applied ${applied.length} ${applied.length === 1 ? 'migration' : 'migrations'}:`, ...lines].join('\n')
}
