import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import { misconfigured } from '../../job/refused.js'
import { type HoldfastsOptions, membersFrom } from '../../members/options.js'
import type { Health } from '../../worker/health.js'
import { leanHeapFlags } from '../../worker/lean-heap.js'
import type { WorkerOptions } from '../../worker/options.js'
import type { Cli } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { isForAll } from '../member.js'

export interface WorkOptions {
  databaseUrl?: string
  concurrency?: number
  memory?: number
  name?: string
  build?: string
  drain?: string
  types?: string[]
  lanes?: string[]
  listen?: boolean
  alerts?: boolean
  healthPort?: string
  healthHost?: string
}

/** `holdfast work ./handlers.js`. What it needs is loaded when it is run. */
export function addWork(program: Command, cli: Cli): void {
  program
    .command('work')
    .summary('run a worker for the job types a file exports')
    .description(
      'Runs a worker for what a file exports, by name or in an array: job types, workflows and schedules.\n' +
        'SIGTERM and Ctrl-C let running jobs end first. TypeScript works if Node reads it or tsx is installed.',
    )
    .argument('<file>', 'the file with the handlers, such as ./handlers.js')
    .addOption(
      new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name (default: DATABASE_URL)'),
    )
    .addOption(new Option('--concurrency <n>', 'how many inline handlers run at once').argParser(Number))
    .addOption(
      new Option('--memory <mb>', 'megabytes that its isolated types share (default: as much as they take)').argParser(Number),
    )
    .option('--types <type...>', 'run only these of the types in the file; all are registered')
    .option('--lanes <lane...>', 'run only types that are in these lanes when the worker starts')
    .option('--name <name>', 'what this worker is called in history')
    .option('--build <name>', 'which code it runs, such as a commit; git: the one that is checked out (HOLDFAST_BUILD)')
    .option('--drain <time>', 'how long running handlers may go on after SIGTERM, such as 30s')
    .option('--no-listen', 'do not listen for notifications, for a pooler in transaction mode')
    .option('--alerts', 'also send the webhooks of alerts')
    .option('--health-port <n>', 'answer /healthz, /readyz and /metrics of this process there (HOLDFAST_HEALTH_PORT)')
    .option('--health-host <address>', 'the address of that port (HOLDFAST_HEALTH_HOST; default: 127.0.0.1)')
    .addHelpText(
      'after',
      examples(
        'work ./handlers.js --concurrency 20',
        'work ./handlers.js --types send_email send_invoice',
        'work ./handlers.js --lanes interactive',
      ),
    )
    .action((file: string, options: WorkOptions) => work(file, cli.schema, options))
}

async function work(file: string, schema: string | undefined, options: WorkOptions): Promise<void> {
  setFlagsFromString(leanHeapFlags)
  const { readWorkSettings } = await import('../work/settings.js')
  const { databaseUrl, healthPort, healthHost, ...rest } = options
  const several = isForAll(process.env, options)
  const { HOLDFAST_DATABASES: databases = '', ...env } = process.env
  if (databases !== '' && !several && databaseUrl === undefined) {
    throw misconfigured(['DATABASE_URL'], 'and HOLDFAST_DATABASES are both set; unset one, or say --member or --database-url')
  }
  const url = several ? Object.values(membersFrom(databases))[0] : databaseUrl
  const settings = readWorkSettings(env, defined({ databaseUrl: url, healthPort, healthHost }))
  const { alertHosts } = settings
  const common = { alertHosts, ...(schema !== undefined && { schema }) }
  const { system, start } = several ? await severalDatabases(common) : await oneDatabase(settings.databaseUrl, common)
  try {
    let worker: { health(): Health } | undefined
    // Open before the worker starts: until then it lives and is not ready.
    if (settings.healthPort !== undefined) {
      const { openHealthPort } = await import('../work/health-port.js')
      await openHealthPort(settings.healthHost, settings.healthPort, () => worker?.health())
    }
    worker = await start(file, { ...rest, handleSignals: true })
  } catch (error) {
    await system.close()
    throw error
  }
}

/** What is worked for, and how a worker for it is started. */
interface Work {
  system: { close(): Promise<void> }
  start(file: string, options: WorkerOptions): Promise<{ health(): Health }>
}

async function oneDatabase(connectionString: string, common: Omit<HoldfastsOptions, 'members'>): Promise<Work> {
  const { Holdfast } = await import('../../holdfast.js')
  const { startWorker } = await import('../../worker/start.js')
  const system = new Holdfast({ ...common, connectionString })
  return { system, start: (file, how) => startWorker(system, file, how) }
}

/** Those of HOLDFAST_DATABASES. */
async function severalDatabases(common: HoldfastsOptions): Promise<Work> {
  const { Holdfasts } = await import('../../members/holdfasts.js')
  const { startWorkers } = await import('../../worker/workers.js')
  const system = new Holdfasts(common)
  return { system, start: (file, how) => startWorkers(system, file, how) }
}
