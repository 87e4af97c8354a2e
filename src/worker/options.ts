import { readBuild } from '../job/build.js'
import { Checker } from '../job/checker.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { hookNames, type JobHooks, readHooks } from '../job/hooks.js'
import { refused, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import { moduleUrl } from '../run/isolate/load-types.js'
import type { SlotShares } from '../run/shared-slots.js'
import type { Schedule } from '../schedule/spec.js'
import type { Choice } from './chosen.js'
import type { Logger } from './logger.js'

/** What a worker is started with. */
export interface WorkerOptions extends JobHooks {
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
   * A job whose worker goes silent is free again after this. 60 s to 1 h; anything else needs `unsafe`. A lane that has a lease of its own uses that.
   * @range 60 s to 1 h; with `unsafe` 100 ms to 24 days
   * @default the setting lease (60 s) when the worker starts
   */
  lease?: Duration
  /**
   * How long running handlers may go on after stop() before their jobs are handed back.
   * @range 0 to 1 day
   * @default '30s'
   */
  drain?: Duration
  /**
   * The longest time between two polls of the queue while notifications can arrive.
   * @range 10 ms to 60 s
   * @default '2s'
   */
  poll?: Duration
  /**
   * Whether to listen for notifications. Off where LISTEN cannot work, as behind a pooler in transaction mode.
   * @default true
   */
  listen?: boolean
  /**
   * After how long without an answer from the database `health()` is unhealthy. At least two heartbeats, which come 15 s apart.
   * @range 30 s to 1 day; with a shorter `lease` two heartbeats of it
   * @default '30s'
   */
  unhealthyAfter?: Duration
  /**
   * How long finished jobs are kept. What is named here is written into the settings of the installation, which count for every worker; an
   * operator's value counts before it.
   * @range 1 day to 10 years
   * @default the settings retention_completed (7 days) and retention_dead (30 days)
   */
  retention?: { completed?: Duration; dead?: Duration }
  /**
   * The file that exports the handlers (`import.meta.url` of it): what runs in a thread or process is loaded from there.
   * @default the file given to `startWorker`, if it was given one
   */
  module?: string | URL
  /**
   * Megabytes that its isolated types share: it runs as many jobs of each at once as fit by the `memory` of their types, and leaves a type of
   * which none fits to other workers. Quarantined jobs come on top, one at a time.
   * @range 16 to 1,048,576
   * @default none: as many as the types say
   */
  memory?: number
  /**
   * A job that was there at this many crashes runs alone, in a process of its own.
   * @range 1 to 20
   * @default 2
   */
  quarantineAfter?: number
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
   * Runs no jobs and does upkeep for others: due jobs, lost leases, partitions. Without it, a worker needs types.
   * @default false
   */
  upkeepOnly?: boolean
  /**
   * The only types it runs, by name, of those it has handlers of; all are registered. So a few workers can be kept for urgent jobs.
   * @default all of them
   */
  types?: readonly string[]
  /**
   * Only types in these lanes, as they are when the worker starts.
   * @default all of them
   */
  lanes?: readonly string[]
  /**
   * The schedules that stand in code: all of this program, or of the set it names. Those that stood there before and do not any more are
   * reported, and go on until they are pruned.
   * @default those that the file of handlers exports; where it exports none, the schedules are left as they are
   */
  schedules?: readonly Schedule[]
  /**
   * What the code of this program is called beside that of others which define schedules in the same database.
   * @default 'default'
   */
  scheduleSet?: string
  /**
   * Also runs the jobs that notify the targets of alerts, which `holdfast.alerts` makes and lists.
   * @default false
   */
  alerts?: boolean
  /**
   * Takes values that are dangerous in production, such as a lease of one second.
   * @default false
   */
  unsafe?: boolean
}

export interface WorkerSettings {
  concurrency: number
  name: string | undefined
  build: string | null
  leaseMs: number
  drainMs: number
  pollMs: number
  listen: boolean
  heartbeatMs: number
  unhealthyAfterMs: number
  /** Null: the installation's, which this worker leaves as it is. */
  completedMs: number | null
  deadMs: number | null
  module: string | null
  /** What its isolated types share; null: as much as they take. */
  memoryMb: number | null
  quarantineAfter: number
  handleSignals: boolean
  upkeepOnly: boolean
  alerts: boolean
  /** Which of its types it runs. */
  choice: Choice
  hooks: JobHooks
  /** Where workers of this process share their slots. */
  shares?: SlotShares
}

const known = [
  'concurrency',
  'name',
  'build',
  'lease',
  'drain',
  'poll',
  'listen',
  'unhealthyAfter',
  'retention',
  'module',
  'memory',
  'quarantineAfter',
  'logger',
  'handleSignals',
  'upkeepOnly',
  'types',
  'lanes',
  'schedules',
  'scheduleSet',
  'alerts',
  'unsafe',
  ...hookNames,
]
const day = 86_400_000

/** Checks everything and reports every problem at once. */
export function readWorkerOptions(options: WorkerOptions): WorkerSettings {
  const check = new Checker()
  check.known(options, known)
  check.known(options.retention ?? {}, ['completed', 'dead'], ['retention'])
  const read = (value: Duration | undefined, field: string, standard: string, low: number, high: number, why: string): number =>
    check.read(() => {
      const ms = toMilliseconds(value ?? standard, field)
      if (ms < low || ms > high) throw refused(field, `is ${String(value)}, which ${why}`)
      return ms
    }, 0)
  const concurrency = check.read(() => wholeNumber(options.concurrency ?? 10, 'concurrency', 1, 10_000), 1)
  const quarantineAfter = check.read(() => wholeNumber(options.quarantineAfter ?? 2, 'quarantineAfter', 1, 20), 2)
  if (options.name !== undefined) check.read(() => storableText(options.name as string, 'name'), '')
  // Milliseconds of a lease are an integer in the database, which ends at 24 days.
  const [shortest, longest] = options.unsafe ? [100, 24 * day] : [60_000, 3_600_000]
  const outside = options.unsafe ? 'is outside of 100ms to 24d' : 'is outside of 60s to 1h; say unsafe: true if it is meant'
  const leaseMs = read(options.lease, 'lease', '60s', shortest, longest, outside)
  const heartbeatMs = Math.min(15_000, leaseMs / 4)
  const twoBeats = 'is less than two heartbeats, or more than a day'
  const kept = (what: 'completed' | 'dead'): number | null => {
    const given = options.retention?.[what]
    const wrong = 'is less than a day or more than 10 years'
    return given === undefined ? null : read(given, `retention.${what}`, '', day, 3650 * day, wrong)
  }
  const names = (given: readonly string[] | undefined, field: string) =>
    check.read(() => {
      if (given === undefined) return null
      if (Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === 'string')) return given
      throw refused(field, 'must be a list of names')
    }, null)
  const settings: WorkerSettings = {
    concurrency,
    name: options.name,
    build: check.read(() => readBuild(options.build), null),
    leaseMs,
    heartbeatMs,
    unhealthyAfterMs: read(options.unhealthyAfter, 'unhealthyAfter', '30s', 2 * heartbeatMs, day, twoBeats),
    drainMs: read(options.drain, 'drain', '30s', 0, day, 'is outside of 0 to 1 day'),
    pollMs: read(options.poll, 'poll', '2s', 10, 60_000, 'is outside of 10ms to 60s'),
    listen: options.listen ?? true,
    completedMs: kept('completed'),
    deadMs: kept('dead'),
    module: options.module === undefined ? null : moduleUrl(options.module),
    memoryMb:
      options.memory === undefined ? null : check.read(() => wholeNumber(options.memory as number, 'memory', 16, 1_048_576), 16),
    quarantineAfter,
    choice: { types: names(options.types, 'types'), lanes: names(options.lanes, 'lanes') },
    handleSignals: options.handleSignals ?? false,
    upkeepOnly: options.upkeepOnly ?? false,
    alerts: options.alerts ?? false,
    hooks: check.read(() => readHooks(options), {}),
  }
  check.done('invalid_configuration', 'the worker cannot start')
  return settings
}
