import { sleep } from '../../clock.js'
import { HoldfastError } from '../../errors.js'
import { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { explained } from '../../store/sqlstate.js'
import { version } from '../../version.js'
import type { Logger } from '../../worker/logger.js'
import type { Worker } from '../../worker/worker.js'
import { listenOn, usualPort } from '../up/listen.js'
import { requireServer } from '../up/missing-packages.js'
import { fired, hearSignals, type Wishes } from '../up/signals.js'
import { closeServer, hurryWithinMs, type Undo } from '../up/undo.js'
import { readServeSettings, type ServeOptions, type ServeSettings } from './settings.js'

/** Runs the server until it is asked to stop, then stops it. Ends the process. */
export async function serve(options: ServeOptions): Promise<void> {
  const settings = readServeSettings(process.env, options)
  const wishes = hearSignals()
  requireServer()
  const { defaultLogger } = await import('../../worker/logger.js')
  const log = defaultLogger()
  const undo: Undo[] = []
  try {
    await bringUp(settings, options, log, wishes, undo)
    await fired(wishes.stop)
  } catch (error) {
    for (const step of undo.reverse()) await step(wishes).catch(() => {})
    throw error
  }
  let inOrder = true
  for (const step of undo.reverse()) {
    await step(wishes).catch((error: Error) => {
      inOrder = false
      log.error({ error: error.message }, 'the server did not stop in good order')
    })
  }
  log.info({}, 'server stopped')
  // What a hurried stop left half way must not keep the process alive.
  process.exit(inOrder ? 0 : 1)
}

/** Each step adds how to undo it. A stop that is asked for meanwhile takes effect after the current step. */
async function bringUp(settings: ServeSettings, options: ServeOptions, log: Logger, wishes: Wishes, undo: Undo[]): Promise<void> {
  const { tls, allowInsecure, adminKey, oidc, prefix, trustProxy, host, port } = settings
  const { schema } = options
  const holdfast = new Holdfast({
    connectionString: settings.databaseUrl,
    alertHosts: settings.alertHosts,
    ...(schema !== undefined && { schema }),
  })
  undo.push(({ hurry }) => Promise.race([holdfast.close(), fired(hurry)]))
  if (options.migrate) await holdfast.migrate()
  else await checkSchema(holdfast)
  if (adminKey === undefined) await warnWithoutKeys(holdfast, log)

  if (wishes.stop.aborted) return
  const worker = await startWorkerOf(settings, options, holdfast, log)
  if (worker) undo.push((wishes) => stopWorker(worker, wishes))

  if (wishes.stop.aborted) return
  const { createServer } = await import('../../server/app.js')
  const server = createServer(holdfast, {
    ...{ logger: log, allowInsecure, prefix, trustProxy, stopping: wishes.stop },
    ...(adminKey !== undefined && { adminKey }),
    ...(oidc && { oidc }),
    ...(settings.traceUrl !== undefined && { traceUrl: settings.traceUrl }),
    ...(tls && { tls }),
    ...(worker && { worker }),
  })
  undo.push(async ({ stop, hurry }) => {
    if (!stop.aborted) return closeServer(server)
    log.info({ graceMs: settings.graceMs }, 'server stopping')
    // A worker begins to stop now. The server answers meanwhile, and until load balancers have noticed.
    const drained = worker?.stop()
    await Promise.race([Promise.all([sleep(settings.graceMs, { signal: hurry }), drained]), fired(hurry)])
    await closeServer(server)
  })
  const address = await listenOn(server, host, port ?? usualPort, ', or --port')
  log.info({ address: address + prefix, version }, 'server listening')
}

async function checkSchema(holdfast: Holdfast): Promise<void> {
  try {
    await insideOf(holdfast).store.inspect.checkSchema()
  } catch (error) {
    const known = explained(error)
    if (!(known instanceof HoldfastError) || known.code !== 'schema_outdated') throw known
    throw new HoldfastError('schema_outdated', `${known.message}; run holdfast migrate before, or give --migrate`, {
      cause: error,
    })
  }
}

async function warnWithoutKeys(holdfast: Holdfast, log: Logger): Promise<void> {
  if ((await holdfast.access.keys()).some(({ live }) => live)) return
  log.warn({}, 'there is no key, so nobody can use this server: holdfast keys create ops --role admin makes one')
}

async function startWorkerOf(
  settings: ServeSettings,
  { work, upkeep = false, concurrency }: ServeOptions,
  holdfast: Holdfast,
  log: Logger,
): Promise<Worker | undefined> {
  if (work === undefined && !upkeep) return undefined
  const { startWorker } = await import('../../worker/start.js')
  const common = { logger: log, alerts: true, drain: settings.drain }
  return startWorker(holdfast, work ?? [], { ...common, upkeepOnly: upkeep, ...(concurrency !== undefined && { concurrency }) })
}

async function stopWorker(worker: Worker, { hurry }: Wishes): Promise<void> {
  await Promise.race([worker.stop(), fired(hurry)])
  if (hurry.aborted) await Promise.race([worker.stop({ now: true }), sleep(hurryWithinMs, { unref: true })])
}
