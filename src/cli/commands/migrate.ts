import { insideOf } from '../../inside.js'
import { type Migrated, migrationScript, rolesScript } from '../../store/migrate.js'
import { checkSchemaName, defaultSchema } from '../../store/schema-name.js'
import { withDatabase } from '../connect.js'
import { print } from '../print.js'

export interface MigrateOptions {
  databaseUrl?: string
  sql?: boolean
  roles?: boolean
  json?: boolean
}

export async function migrate(options: MigrateOptions): Promise<void> {
  const schema = checkSchemaName(process.env.HOLDFAST_SCHEMA ?? defaultSchema)
  if (options.sql) return print((options.roles ? rolesScript(schema) : migrationScript(schema)).trimEnd())
  const { migrated, ahead } = await withDatabase(options.databaseUrl, 'to migrate', async (holdfast) => {
    const done = { migrated: await holdfast.migrate(), ahead: await insideOf(holdfast).store.inspect.schemaAhead() }
    if (options.roles) await holdfast.grantRoles()
    return done
  })
  if (options.json) return print(JSON.stringify({ ...migrated, ...(ahead && { ahead }), ...(options.roles && { roles: true }) }))
  print(ahead ? `Nothing to do: ${ahead}.` : inWords(migrated))
  if (options.roles) print(`Roles: ${schema}_producer, _reader, _worker, _operator and _server have their rights.`)
}

function inWords({ files, functions }: Migrated): string {
  const steps = files.map(({ number, name }) => `  ${String(number).padStart(4, '0')}  ${name.replaceAll('_', ' ')}`)
  if (functions) steps.push('  functions and views')
  return steps.length === 0 ? 'Nothing to do: the schema is up to date.' : ['Brought up to this version:', ...steps].join('\n')
}
