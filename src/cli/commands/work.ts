import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import { leanHeapFlags } from '../../worker/lean-heap.js'
import { Given, readList, readPort } from '../given.js'

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
export function addWork(program: Command): void {
  program
    .command('work')
    .summary('run a worker for the job types a file exports')
    .description(
      'Runs a worker for the job types a file exports (what defineType returns, by name or in an array).\n' +
        'SIGTERM and Ctrl-C let running jobs end first. TypeScript works if Node reads it or tsx is installed.',
    )
    .argument('<file>', 'the file with the handlers, such as ./handlers.js')
    .addOption(new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL'))
    .addOption(new Option('--concurrency <n>', 'how many inline handlers run at once').argParser(Number))
    .option('--name <name>', 'what this worker is called in history')
    .option('--drain <time>', 'how long running handlers may go on after SIGTERM, such as 30s')
    .option('--no-listen', 'do not listen for notifications, for a pooler in transaction mode')
    .option('--alerts', 'also send the webhooks of alerts')
    .option('--health-port <n>', 'answer /healthz, /readyz and /metrics of this process there (HOLDFAST_HEALTH_PORT)')
    .option('--health-host <address>', 'the address of that port (HOLDFAST_HEALTH_HOST; default: 127.0.0.1)')
    .action(work)
}

async function work(file: string, options: WorkOptions): Promise<void> {
  setFlagsFromString(leanHeapFlags)
  const { Holdfast } = await import('../../holdfast.js')
  const { startWorker } = await import('../../worker/start.js')
  const { databaseUrl, healthPort, healthHost, ...rest } = options
  const given = new Given(process.env, { healthPort, healthHost })
  const port = readPort(given.of('HOLDFAST_HEALTH_PORT', '--health-port'))
  const host = given.of('HOLDFAST_HEALTH_HOST', '--health-host').value || '127.0.0.1'
  const holdfast = new Holdfast({
    ...(databaseUrl === undefined ? {} : { connectionString: databaseUrl }),
    alertHosts: readList(new Given(process.env).of('HOLDFAST_ALERT_HOSTS')),
  })
  try {
    let worker: Awaited<ReturnType<typeof startWorker>> | undefined
    // Open before the worker starts: until then it lives and is not ready.
    if (port !== undefined) {
      const { openHealthPort } = await import('../work/health-port.js')
      await openHealthPort(host, port, () => worker?.health())
    }
    worker = await startWorker(holdfast, file, { ...rest, handleSignals: true })
  } catch (error) {
    await holdfast.close()
    throw error
  }
}
