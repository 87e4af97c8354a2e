import { checkAddress } from '../client/address.js'
import { Checker } from '../job/checker.js'
import type { Duration } from '../job/duration.js'
import { hookNames, type JobHooks } from '../job/hooks.js'
import { refuseMisspelt } from '../job/variable-names.js'
import type { Logger } from '../worker/logger.js'
import { readWorkerOptions, type WorkerSettings } from '../worker/options.js'

/** The server whose jobs a remote worker runs. */
export interface RemoteServerOptions {
  /** Where the server is, such as https://jobs.example.com. */
  url: string | undefined
  /** A key with the role `worker`. */
  key: string | undefined
  /**
   * How long one request may take, beside the time that a claim waits for a job.
   * @range 1 to 86,400,000
   * @default 30_000
   */
  timeoutMs?: number
}

/** What a remote worker is started with. */
export interface RemoteWorkerOptions extends JobHooks {
  /**
   * How many handlers run at once.
   * @range 1 to 10,000
   * @default 10
   */
  concurrency?: number
  /**
   * What this worker is called in history. Not its identity: that is new at every start.
   * @default host:pid
   */
  name?: string
  /**
   * Which code this worker runs: a label, a version or a commit. It is shown with workers and attempts, and a canary is told by it.
   * @default HOLDFAST_BUILD of the environment, or what the file of handlers exports as `build`; otherwise none
   */
  build?: string
  /**
   * A job whose worker goes silent is free again after this. 60 s to 1 h; anything else needs `unsafe`.
   * @range 60 s to 1 h; with `unsafe` 1 s to 24 h
   * @default '60s'
   */
  lease?: Duration
  /**
   * How long running handlers may go on after stop() before their jobs are handed back.
   * @range 0 to 1 day
   * @default '30s'
   */
  drain?: Duration
  /**
   * After how long without an answer from the server `health()` is unhealthy.
   * @range 30 s to 1 day; with a shorter `lease` two heartbeats of it
   * @default '30s'
   */
  unhealthyAfter?: Duration
  /**
   * The file that exports the handlers (`import.meta.url` of it): what runs in a thread or process is loaded from there.
   * @default the file given to `startRemoteWorker`, if it was given one
   */
  module?: string | URL
  /**
   * Where log lines go: anything shaped like pino.
   * @default JSON lines on standard error, from HOLDFAST_LOG_LEVEL (info) on
   */
  logger?: Logger
  /**
   * Stop in good order on SIGTERM and SIGINT, then exit. Off when the program does that itself.
   * @default false
   */
  handleSignals?: boolean
  /**
   * Takes values that are dangerous in production, such as a lease of one second.
   * @default false
   */
  unsafe?: boolean
}

const known = ['concurrency', 'name', 'build', 'lease', 'drain', 'unhealthyAfter', 'module', 'logger', 'handleSignals', 'unsafe']

/** Checks everything and reports every problem at once. */
export function readRemoteOptions(
  server: RemoteServerOptions,
  options: RemoteWorkerOptions,
  environment: Readonly<Record<string, string | undefined>>,
): { server: { url: string; key: string; timeoutMs: number }; settings: WorkerSettings } {
  const { url, key, timeoutMs = 30_000 } = server
  const check = new Checker()
  check.known(server, ['url', 'key', 'timeoutMs'])
  const address = checkAddress(check, { url, key, timeoutMs }, 'holdfast keys create <service> --role worker')
  check.known(options, [...known, ...hookNames])
  refuseMisspelt(check, environment)
  const settings = check.read(() => readWorkerOptions(options), undefined)
  if (settings && (settings.leaseMs < 1_000 || settings.leaseMs > 86_400_000)) {
    check.wrong('lease', 'is outside of 1s to 24h, which is what a server takes')
  }
  check.done('invalid_configuration', 'the remote worker cannot start')
  return { server: { ...address, timeoutMs }, settings: settings as WorkerSettings }
}
