import { type Command, Option } from 'commander'
import { insideOf } from '../../inside.js'
import type { Migrated } from '../../store/migrate.js'
import type { Cli, Common } from '../cli.js'
import { isForAll, withMembers } from '../member.js'

interface MigrateOptions extends Common {
  sql?: boolean
  roles?: boolean
}

/** `holdfast migrate`. */
export function addMigrate(program: Command, cli: Cli): void {
  cli
    .database(
      program,
      'migrate',
      'Brings the database schema up to this version. Safe to run again, and from many processes at once: each step runs once.',
    )
    .summary('bring the database schema up to this version')
    .addOption(new Option('--sql', 'print all migrations as one script, without connecting to a database').conflicts('json'))
    .option(
      '--roles',
      'also create the database roles for producers, readers, workers, operators and servers; with --sql, print only that script',
    )
    .action((options: MigrateOptions) => migrate(cli, options))
}

/** Every database of HOLDFAST_DATABASES, which also gets its name. */
async function migrateMembers(cli: Cli, { roles, json }: MigrateOptions): Promise<void> {
  const done = await withMembers(cli, async (holdfasts) => {
    const all = await holdfasts.migrate()
    if (roles) for (const name of holdfasts.names) await holdfasts.member(name).grantRoles()
    return all
  })
  if (json) return cli.screen.print(JSON.stringify(done))
  for (const [name, migrated] of Object.entries(done)) cli.screen.print(`${name}: ${inWords(migrated)}`)
}

async function migrate(cli: Cli, options: MigrateOptions): Promise<void> {
  const { migrationScript, rolesScript } = await import('../../store/migrate.js')
  const { checkSchemaName, defaultSchema } = await import('../../store/schema-name.js')
  const { screen } = cli
  const schema = checkSchemaName(cli.schema ?? defaultSchema)
  if (options.sql) return screen.print((options.roles ? rolesScript(schema) : migrationScript(schema)).trimEnd())
  if (isForAll(cli.io.env, options)) return migrateMembers(cli, options)
  const { migrated, ahead } = await cli.usingDatabase(options, 'to migrate', async (holdfast) => {
    const done = { migrated: await holdfast.migrate(), ahead: await insideOf(holdfast).store.inspect.schemaAhead() }
    if (options.roles) await holdfast.grantRoles()
    return done
  })
  if (options.json) {
    return screen.print(JSON.stringify({ ...migrated, ...(ahead && { ahead }), ...(options.roles && { roles: true }) }))
  }
  screen.print(ahead ? `Nothing to do: ${ahead}.` : inWords(migrated))
  if (options.roles) screen.print(`Roles: ${schema}_producer, _reader, _worker, _operator and _server have their rights.`)
}

function inWords({ files, functions }: Migrated): string {
  const steps = files.map(({ number, name }) => `  ${String(number).padStart(4, '0')}  ${name.replaceAll('_', ' ')}`)
  if (functions) steps.push('  functions and views')
  return steps.length === 0 ? 'Nothing to do: the schema is up to date.' : ['Brought up to this version:', ...steps].join('\n')
}
