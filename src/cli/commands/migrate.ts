import { type AppliedMigration, migrationScript } from '../../store/migrate.js'
import { withDatabase } from '../connect.js'
import { print } from '../print.js'

export interface MigrateOptions {
  databaseUrl?: string
  sql?: boolean
  json?: boolean
}

export async function migrate(options: MigrateOptions): Promise<void> {
  if (options.sql) return print(migrationScript().trimEnd())
  const applied = await withDatabase(options.databaseUrl, 'to migrate', (holdfast) => holdfast.migrate())
  print(options.json ? JSON.stringify({ applied }) : inWords(applied))
}

function inWords(applied: readonly AppliedMigration[]): string {
  if (applied.length === 0) return 'Nothing to do: the schema is up to date.'
  const lines = applied.map(({ number, name }) => `  ${String(number).padStart(4, '0')}  ${name.replaceAll('_', ' ')}`)
  return [`Applied ${applied.length} ${applied.length === 1 ? 'migration' : 'migrations'}:`, ...lines].join('\n')
}
