// The commands and their options. Commands are loaded when they are run, so that --help does not wait for an HTTP server.
import { Command, Help, type Option } from 'commander'
import { checkVariableNames } from '../job/variable-names.js'
import { version } from '../version.js'
import { Cli } from './cli.js'
import { addAlerts } from './commands/alerts.js'
import { addArchive } from './commands/archive.js'
import { addBatches } from './commands/batches.js'
import { addBuilds, addCanary } from './commands/builds.js'
import { addBulk } from './commands/bulk.js'
import { addCompletion } from './commands/completion.js'
import { addConfig } from './commands/config.js'
import { addDeadLetters } from './commands/dead-letters.js'
import { addDependencies } from './commands/dependencies.js'
import { addDepths } from './commands/depths.js'
import { addDoctor } from './commands/doctor.js'
import { addEnqueue } from './commands/enqueue.js'
import { addLanes, addWorkers } from './commands/flow.js'
import { addJobs } from './commands/jobs.js'
import { addKeys } from './commands/keys.js'
import { addMembers } from './commands/members.js'
import { addMigrate } from './commands/migrate.js'
import { addOneJob } from './commands/one-job.js'
import { addApprovals, addAudit } from './commands/people.js'
import { addReencrypt } from './commands/reencrypt.js'
import { addRoles } from './commands/roles.js'
import { addSchedules } from './commands/schedules.js'
import { addServe } from './commands/serve.js'
import { addSettings } from './commands/settings.js'
import { addSmoke } from './commands/smoke.js'
import { addTop } from './commands/top.js'
import { addPause, addTypes } from './commands/types.js'
import { addUp } from './commands/up-command.js'
import { addWork } from './commands/work.js'
import { addWorkflows } from './commands/workflows.js'
import { addExamples } from './examples.js'
import type { Io } from './io.js'
import { chooseMember, refuseUnsaid } from './member.js'

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
    .option('--schema <name>', 'the database schema that Holdfast uses (HOLDFAST_SCHEMA; default: holdfast)')
    .option('--member <name>', 'which of the databases in HOLDFAST_DATABASES')
    .hook('preAction', (_, command) => {
      cli.schema = (command.optsWithGlobals().schema as string | undefined) ?? (io.env.HOLDFAST_SCHEMA || undefined)
      if (!checksItself.includes(command.name())) refuseEnvironment(io.env)
      const { member } = command.optsWithGlobals() as { member?: string }
      if (member !== undefined) cli.schema = chooseMember(command, io.env, member) ?? cli.schema
      else refuseUnsaid(command, io.env)
    })
  addUp(program, cli)
  addServe(program, cli)
  addWork(program, cli)
  const adders = [
    ...[
      addMigrate,
      addReencrypt,
      addArchive,
      addEnqueue,
      addJobs,
      addOneJob,
      addBulk,
      addDeadLetters,
      addApprovals,
      addSchedules,
      addWorkflows,
    ],
    ...[
      addBatches,
      addLanes,
      addTypes,
      addPause,
      addDependencies,
      addDepths,
      addWorkers,
      addBuilds,
      addCanary,
      addSmoke,
      addAlerts,
      addSettings,
      addAudit,
      addKeys,
      addRoles,
      addTop,
      addDoctor,
      addMembers,
    ],
    ...[addConfig, addCompletion],
  ]
  for (const add of adders) add(program, cli)
  addExamples(program)
  return { program, cli }
}

/** Commands that say everything that is wrong with the environment at once, or read none of it. */
const checksItself = ['up', 'serve', 'work', 'check', 'completion']

/** A misspelt name would send the command elsewhere than it was meant. */
function refuseEnvironment(env: Io['env']): void {
  checkVariableNames(env)
}

/** What most commands take stands under what only this one does. */
const everywhere = ['--database-url', '--url', '--json', '--watch', '--why', '--by', '--yes', '--help']

function ownFirst(command: Command): Option[] {
  const options = new Help().visibleOptions(command)
  const place = ({ long }: Option) => everywhere.indexOf(long ?? '')
  return options.sort((a, b) => place(a) - place(b))
}
