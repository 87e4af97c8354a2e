import { hostname } from 'node:os'
import { VitalSigns } from '../background/vital-signs.js'
import { sleep } from '../clock.js'
import type { AnyJobType } from '../job/type.js'
import { buildOf } from '../worker/build.js'
import { collectHandlers } from '../worker/handlers.js'
import { defaultLogger, type Logger } from '../worker/logger.js'
import type { AnyWorkflow } from '../workflow/typed.js'
import { isAway, WorkerCalls } from './calls.js'
import { type RemoteServerOptions, type RemoteWorkerOptions, readRemoteOptions } from './options.js'
import { registerRemotely } from './registration.js'
import { RemoteWorker } from './remote-worker.js'

const pauseMs = { first: 200, most: 30_000 }

/**
 * Starts a worker for a server that is reached over HTTP alone, with the handlers that `startWorker` takes. It registers its types by name, and
 * resolves when it claims. While the server is away it tries again, for as long as that takes; what the server refuses, such as a wrong key,
 * rejects at once.
 * @example
 * import { startRemoteWorker } from 'holdfast/remote-worker'
 *
 * const server = { url: 'https://jobs.example.com', key: process.env.HOLDFAST_KEY ?? '' }
 * const worker = await startRemoteWorker(server, [sendEmail], { concurrency: 5, handleSignals: true })
 * await worker.stopped
 */
export async function startRemoteWorker(
  server: RemoteServerOptions,
  source: readonly AnyJobType[] | URL | string,
  options: RemoteWorkerOptions = {},
): Promise<RemoteWorker> {
  const { server: reached, settings: read } = readRemoteOptions(server, options, process.env)
  const { handlers, module, build } = await collectHandlers(source as readonly (AnyJobType | AnyWorkflow)[], read)
  const settings = { ...read, module, build: await buildOf(read.build, build) }
  const log = options.logger ?? defaultLogger()
  const name = settings.name ?? `${hostname()}:${process.pid}`
  const vitals = new VitalSigns()
  const calls = new WorkerCalls(reached, () => {
    const { lagMs, memoryBytes } = vitals.take()
    return { lag_ms: lagMs, memory_bytes: memoryBytes }
  })
  const register = () => untilAnswered(log, () => registerRemotely(calls, name, settings.build, handlers))
  const id = await register()
  return RemoteWorker.start({ calls, id, name, handlers, settings, log, vitals, register })
}

/** Tries for as long as the server is away. */
async function untilAnswered<Answer>(log: Logger, ask: () => Promise<Answer>): Promise<Answer> {
  for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
    try {
      return await ask()
    } catch (error) {
      if (!isAway(error)) throw error
      log.warn({ error: (error as Error).message }, 'the worker cannot register yet and tries again')
      await sleep(pause * (0.75 + Math.random() / 2))
    }
  }
}
