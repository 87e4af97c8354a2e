import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import { leanHeapFlags } from '../../worker/lean-heap.js'
import type { Cli } from '../cli.js'
import { defined } from '../defined.js'

export interface WorkOptions {
  databaseUrl?: string
  concurrency?: number
  name?: string
  drain?: string
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
      'Runs a worker for the job types a file exports (what defineType returns, by name or in an array).\n' +
        'SIGTERM and Ctrl-C let running jobs end first. TypeScript works if Node reads it or tsx is installed.',
    )
    .argument('<file>', 'the file with the handlers, such as ./handlers.js')
    .addOption(
      new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name (default: DATABASE_URL)'),
    )
    .addOption(new Option('--concurrency <n>', 'how many inline handlers run at once').argParser(Number))
    .option('--name <name>', 'what this worker is called in history')
    .option('--drain <time>', 'how long running handlers may go on after SIGTERM, such as 30s')
    .option('--no-listen', 'do not listen for notifications, for a pooler in transaction mode')
    .option('--alerts', 'also send the webhooks of alerts')
    .option('--health-port <n>', 'answer /healthz, /readyz and /metrics of this process there (HOLDFAST_HEALTH_PORT)')
    .option('--health-host <address>', 'the address of that port (HOLDFAST_HEALTH_HOST; default: 127.0.0.1)')
    .action((file: string, options: WorkOptions) => work(file, cli.schema, options))
}

async function work(file: string, schema: string | undefined, options: WorkOptions): Promise<void> {
  setFlagsFromString(leanHeapFlags)
  const { readWorkSettings } = await import('../work/settings.js')
  const { databaseUrl, healthPort, healthHost, ...rest } = options
  const settings = readWorkSettings(process.env, defined({ databaseUrl, healthPort, healthHost }))
  const { Holdfast } = await import('../../holdfast.js')
  const { startWorker } = await import('../../worker/start.js')
  const { alertHosts } = settings
  const holdfast = new Holdfast({ connectionString: settings.databaseUrl, alertHosts, ...(schema !== undefined && { schema }) })
  try {
    let worker: Awaited<ReturnType<typeof startWorker>> | undefined
    // Open before the worker starts: until then it lives and is not ready.
    if (settings.healthPort !== undefined) {
      const { openHealthPort } = await import('../work/health-port.js')
      await openHealthPort(settings.healthHost, settings.healthPort, () => worker?.health())
    }
    worker = await startWorker(holdfast, file, { ...rest, handleSignals: true })
  } catch (error) {
    await holdfast.close()
    throw error
  }
}
