import { type AppliedMigration, migrationScript, rolesScript } from '../../store/migrate.js'
import { withDatabase } from '../connect.js'
import { print } from '../print.js'

export interface MigrateOptions {
  databaseUrl?: string
  sql?: boolean
  roles?: boolean
  json?: boolean
}

export async function migrate(options: MigrateOptions): Promise<void> {
  if (options.sql) return print((options.roles ? rolesScript() : migrationScript()).trimEnd())
  const { applied, ahead } = await withDatabase(options.databaseUrl, 'to migrate', async (holdfast) => {
    const done = { applied: await holdfast.migrate(), ahead: await holdfast.store.inspect.schemaAhead() }
    if (options.roles) await holdfast.grantRoles()
    return done
  })
  if (options.json) return print(JSON.stringify({ applied, ...(ahead && { ahead }), ...(options.roles && { roles: true }) }))
  print(ahead ? `Nothing to do: ${ahead}.` : inWords(applied))
  if (options.roles) print('Roles: holdfast_producer, _reader, _worker, _operator and _server have their rights.')
}

function inWords(applied: readonly AppliedMigration[]): string {
  if (applied.length === 0) return 'Nothing to do: the schema is up to date.'
  const lines = applied.map(({ number, name }) => `  ${String(number).padStart(4, '0')}  ${name.replaceAll('_', ' ')}`)
  return [`Applied ${applied.length} ${applied.length === 1 ? 'migration' : 'migrations'}:`, ...lines].join('\n')
}
