import { monotonicMs } from '../../clock.js'
import { newJobId } from '../../job/id.js'
import { version } from '../../version.js'
import { dim, isInstalled, print, printForNow, takeBack, yellow } from '../print.js'
import { embeddedDatabase, givenDatabase } from '../up/database.js'
import { Home } from '../up/home.js'
import { listen } from '../up/listen.js'
import { agreedTo, installAndRunAgain, missingPackages } from '../up/missing-packages.js'
import { readStartSettings, type StartSettings } from '../up/settings.js'
import { fired, hearSignals, type Wishes } from '../up/signals.js'
import { closeServer, drain, stopWorker, type Undo, undoAll } from '../up/undo.js'
import { welcome } from '../up/welcome.js'

/** Runs everything until it is asked to stop, then stops everything. Ends the process. */
export async function up({ install = false, schema }: { install?: boolean; schema?: string }): Promise<void> {
  const settings = readStartSettings(process.env)
  const wishes = hearSignals()
  const missing = await missingPackages(settings.databaseUrl)
  if (missing) {
    if (!install && !(await agreedTo(missing))) throw missing.error
    await installAndRunAgain(missing, schema)
  }
  const undo: Undo[] = []
  try {
    await bringUp(settings, schema, wishes, undo)
    await fired(wishes.stop)
  } catch (error) {
    takeBack()
    await undoAll(undo, wishes)
    throw error
  }
  const inOrder = await undoAll(undo, wishes)
  print(dim('  Stopped.\n'))
  // What a hurried stop left half way must not keep the process alive.
  process.exit(inOrder ? 0 : 1)
}

/** Each step adds how to undo it. A stop that is asked for meanwhile takes effect after the current step. */
async function bringUp(settings: StartSettings, schema: string | undefined, wishes: Wishes, undo: Undo[]): Promise<void> {
  const { tls, allowInsecure } = settings
  const home = new Home(process.cwd())
  const adminKey = home.adminKey()
  const log = home.log(settings.logLevel)
  printForNow('  Starting …')
  // Loaded while Postgres starts.
  const modules = Promise.all([
    import('../../holdfast.js'),
    import('../../worker/start.js'),
    import('../../server/app.js'),
    import('../../dev/demo/demo.js'),
    import('../../dev/demo/schedules.js'),
  ])
  const database = settings.databaseUrl ? givenDatabase(settings.databaseUrl) : await embeddedDatabase(home, notice)
  undo.push(() => database.stop())
  const [{ Holdfast }, { startWorker }, { createServer }, { demoTypes, startDemo }, { demoSchedules }] = await modules

  if (wishes.stop.aborted) return
  const holdfast = new Holdfast({
    connectionString: database.url,
    alertHosts: settings.alertHosts,
    ...(schema !== undefined && { schema }),
  })
  undo.push(({ hurry }) => Promise.race([holdfast.close(), fired(hurry)]))
  await holdfast.migrate()

  if (wishes.stop.aborted) return
  const worker = settings.demo
    ? await startWorker(holdfast, demoTypes, { drain, logger: log, alerts: true, schedules: demoSchedules, scheduleSet: 'demo' })
    : await startWorker(holdfast, [], { drain, logger: log, alerts: true, upkeepOnly: true })
  worker.events.on('duty.failed', ({ duty, error }) => print(yellow(`  The worker's duty ${duty} failed: ${error}`)))
  worker.events.on('database.away', ({ error }) => print(yellow(`  The database does not answer: ${error}`)))
  worker.events.on('database.back', ({ awayMs }) => print(`  The database is back after ${Math.ceil(awayMs / 1000)} s.`))
  const server = createServer(holdfast, {
    ...{ adminKey, worker, logger: log, allowInsecure },
    ...(tls && { tls }),
    ...(settings.traceUrl !== undefined && { traceUrl: settings.traceUrl }),
  })
  undo.push(async (wishes) => {
    // The server answers until the worker has stopped, so that the page and health checks can see it stopping.
    await stopWorker(worker, wishes)
    await closeServer(server)
  })

  if (wishes.stop.aborted) return
  const address = await listen(server, settings.host, settings.port)
  if (settings.demo) {
    const demo = startDemo(holdfast, (error) => log.warn({ error: String(error) }, 'a demo job could not be enqueued'))
    undo.push(({ hurry }) => Promise.race([demo.stop(), fired(hurry)]))
  }
  takeBack()
  const seconds = (monotonicMs() / 1000).toFixed(1)
  const facts = { version, seconds, address, adminKey, database, demo: settings.demo }
  print(welcome({ ...facts, freshId: newJobId(), psql: isInstalled('psql') }))
}

function notice(line: string): void {
  takeBack()
  print(yellow(`  ${line}`))
}
