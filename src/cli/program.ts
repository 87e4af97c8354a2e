// The commands and their options. Commands are loaded when they are run, so that --help does not wait for an HTTP server.
import { Command, Help, Option } from 'commander'
import { version } from '../version.js'
import { Cli } from './cli.js'
import { addBatches } from './commands/batches.js'
import { addCompletion } from './commands/completion.js'
import { addDeadLetters } from './commands/dead-letters.js'
import { addDependencies } from './commands/dependencies.js'
import { addEnqueue } from './commands/enqueue.js'
import { addLanes, addPause, addTypes, addWorkers } from './commands/flow.js'
import { addJobs } from './commands/jobs.js'
import { addKeys } from './commands/keys.js'
import { addMigrate } from './commands/migrate.js'
import { addOneJob } from './commands/one-job.js'
import { addAlerts, addApprovals, addAudit } from './commands/people.js'
import { addReencrypt } from './commands/reencrypt.js'
import { addSchedules } from './commands/schedules.js'
import { addServe } from './commands/serve.js'
import { addUp } from './commands/up-command.js'
import { addWork } from './commands/work.js'
import { addWorkflows } from './commands/workflows.js'
import type { Io } from './io.js'

/** Every command, reading from and writing to `io`. */
export function makeProgram(io: Io): { program: Command; cli: Cli } {
  const cli = new Cli(io)
  const program = new Command('holdfast')
    .description('Background jobs on PostgreSQL that are never lost and never fail in silence.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or that of a command')
    .helpCommand(false)
    .showHelpAfterError('(holdfast --help lists the commands)')
    .configureOutput({
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void io.err.write(text),
      getOutHelpWidth: () => io.out.columns ?? 80,
      getErrHelpWidth: () => io.err.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ visibleOptions: ownFirst })
    .exitOverride()
    .addOption(new Option('--schema <name>', 'the database schema that Holdfast uses (default: holdfast)').env('HOLDFAST_SCHEMA'))
    .hook('preAction', (_, command) => {
      // Everything a command opens, and every process it starts, reads it there.
      const { schema } = command.optsWithGlobals()
      if (schema !== undefined) process.env.HOLDFAST_SCHEMA = schema
    })
  addUp(program)
  addServe(program)
  addWork(program)
  const adders = [
    ...[addMigrate, addReencrypt, addEnqueue, addJobs, addOneJob, addDeadLetters, addApprovals, addSchedules, addWorkflows],
    ...[addBatches, addLanes, addTypes, addPause, addDependencies, addWorkers, addAlerts, addAudit, addKeys, addCompletion],
  ]
  for (const add of adders) add(program, cli)
  return { program, cli }
}

/** What most commands take stands under what only this one does. */
const everywhere = ['--database-url', '--url', '--json', '--watch', '--why', '--by', '--yes', '--help']

function ownFirst(command: Command): Option[] {
  const options = new Help().visibleOptions(command)
  const place = ({ long }: Option) => everywhere.indexOf(long ?? '')
  return options.sort((a, b) => place(a) - place(b))
}
