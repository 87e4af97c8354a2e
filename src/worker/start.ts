import type { EventEmitter } from 'node:events'
import { hostname } from 'node:os'
import { alertDelivery } from '../alerts/delivery.js'
import { webhookDelivery, webhooksOf } from '../alerts/webhook.js'
import { durabilityFindings } from '../doctor/durability.js'
import type { WorkerEvents } from '../events.js'
import { lanesFromEnvironment } from '../flow/lane-environment.js'
import { encodeLane } from '../flow/lane-fields.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { formatDuration } from '../job/duration.js'
import { misconfigured } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import { bulkWork } from '../operate/bulk-job.js'
import type { SlotShares } from '../run/shared-slots.js'
import type { Schedule } from '../schedule/spec.js'
import { schemaAheadOf } from '../store/inspect-store.js'
import { explained } from '../store/sqlstate.js'
import { threadsFile } from '../threads.js'
import { version } from '../version.js'
import type { AnyWorkflow } from '../workflow/typed.js'
import { buildOf } from './build.js'
import { checkChoice, chosen } from './chosen.js'
import { collectHandlers } from './handlers.js'
import { defaultLogger } from './logger.js'
import { readWorkerOptions, type WorkerOptions } from './options.js'
import { placed } from './placement.js'
import { verificationsOf } from './verification.js'
import { Worker } from './worker.js'

/** Types and workflows, or the file that exports them. */
export type HandlerSource = readonly (AnyJobType | AnyWorkflow)[] | URL | string

/**
 * Starts a worker for these types and workflows, or for those a file exports, with its schedules. It registers them all, and resolves
 * when it claims.
 * @example
 * import { startWorker } from 'holdfast/worker'
 *
 * const worker = await startWorker(holdfast, [sendEmail], { concurrency: 20, handleSignals: true })
 * worker.events.on('job.dead', ({ job, reason, error }) => console.error(job, reason, error))
 */
export async function startWorker(holdfast: Holdfast, source: HandlerSource, options: WorkerOptions = {}): Promise<Worker> {
  return beginWorker(holdfast, source, options)
}

/** The same. `among`: what it shares with the workers of this process for other databases, and which types it registers and leaves to others. */
export async function beginWorker(
  holdfast: Holdfast,
  source: HandlerSource,
  options: WorkerOptions,
  among: { shares?: SlotShares; events?: EventEmitter<WorkerEvents>; leaves?: readonly string[] } = {},
): Promise<Worker> {
  const { store, privacy, types, alertHosts, wakeUps } = insideOf(holdfast)
  const read = readWorkerOptions(options)
  // Before anything is registered: a worker without its heartbeat would lose every lease.
  threadsFile()
  refuseShortLease(read.leaseMs, store.database.timeoutMs, options.unsafe ?? false)
  const { handlers: given, module, workflows, schedules: exported, build: exportedBuild } = await collectHandlers(source, read)
  const schedules = options.schedules ?? (exported.length > 0 ? exported : undefined)
  const webhooks = webhooksOf([...given.values()], alertHosts, privacy)
  const verifications = verificationsOf(given, store.operate.verification, privacy)
  const own = [
    ...verifications.types,
    ...(read.alerts ? [alertDelivery(store.alerts, alertHosts, privacy)] : []),
    // Any job may have been enqueued with a webhook, so every worker sends them: otherwise one would wait for a worker that nobody starts.
    ...(read.upkeepOnly && !read.alerts ? [] : [webhookDelivery(store.webhooks, alertHosts, privacy), bulkWork(store.bulk)]),
  ]
  checkChoice(given, read.choice)
  const all = new Map([...given, ...own.map((type) => [type.type, type] as const)])
  const shares = among.shares && { shares: among.shares }
  let settings = { ...read, module, build: await buildOf(read.build, exportedBuild), ...shares }
  try {
    const unsafe = options.unsafe ?? false
    const differing: string[] = []
    for (const [lane, fields] of lanesFromEnvironment(process.env, { unsafe })) {
      const differs = await store.operate.seedLane(lane, encodeLane(fields, { unsafe }))
      if (differs.length > 0) differing.push(laneDiffers(lane, differs))
    }
    if (read.completedMs !== null) await store.operate.settings.define('retention_completed', read.completedMs)
    if (read.deadMs !== null) await store.operate.settings.define('retention_dead', read.deadMs)
    const {
      types: registered,
      webhooks: hadWebhooks,
      newest,
      lease,
      restored,
      ...durability
    } = await types.update([...all.values()])
    const asked = chosen(
      all,
      registered.filter((row) => !among.leaves?.includes(row.name)),
      read.choice,
    )
    const {
      handlers,
      known,
      warnings: left,
    } = read.memoryMb === null ? { ...asked, warnings: [] } : placed(asked.handlers, asked.known, read.memoryMb)
    if (options.lease === undefined) settings = { ...settings, leaseMs: lease }
    if (hadWebhooks || webhooks.length > 0) await store.webhooks.define([...given.keys()], webhooks)
    for (const workflow of workflows) await holdfast.executions.register(workflow)
    const name = settings.name ?? `${hostname()}:${process.pid}`
    const { id, order } = await store.registerWorker({
      name,
      host: hostname(),
      pid: process.pid,
      version,
      build: settings.build,
      types: known.map((row) => row.id),
      versions: known.map((row) => handlers.get(row.name)?.version ?? 1),
      ownChannel: settings.listen && wakeUps === undefined,
    })
    const ahead = schemaAheadOf(newest)
    const gone = schedules ? await defineSchedules(holdfast, schedules, options.scheduleSet) : []
    const careless = durabilityFindings(durability).map(({ message }) => message)
    const warnings = [
      ...careless,
      ...left,
      ...(ahead ? [ahead] : []),
      ...(restored === null ? [] : [restoredTo(restored)]),
      ...gone,
      ...differing,
    ]
    const log = options.logger ?? defaultLogger()
    const worker = await Worker.start({
      ...{ store, privacy, wakeUps, id, name, handlers, known, settings, log, warnings, order },
      events: among.events,
    })
    verifications.sample(worker.events, holdfast, log)
    return worker
  } catch (error) {
    throw explained(error)
  }
}

function restoredTo(target: string): string {
  return `the database was restored to ${target}, so every type is paused; docs/backup.md says what to decide before \`holdfast resume all\``
}

/** What there is to say of schedules that do not stand in code any more. */
async function defineSchedules(holdfast: Holdfast, schedules: readonly Schedule[], set: string | undefined): Promise<string[]> {
  const { gone } = await holdfast.schedules.define(schedules, set === undefined ? {} : { set })
  if (gone.length === 0) return []
  return [`${gone.join(', ')}: schedules that are gone from the code and go on; \`holdfast schedules prune\` removes them`]
}

/** The environment makes a lane and does not change it: an old deployment that starts again must not undo what the installation was told since. */
function laneDiffers(lane: string, fields: readonly string[]): string {
  const names = fields.map((field) => `HOLDFAST_LANE_${lane}_${field.replace(/_ms$/, '')}`.toUpperCase()).join(', ')
  return `${names}: not applied, because the lane ${lane} has another value from the environment of an earlier worker; change it with \`holdfast lanes set ${lane}\``
}

/** A statement that may run longer than a lease could give out, or end, jobs that others have by then. */
function refuseShortLease(leaseMs: number, statementMs: number, unsafe: boolean): void {
  if (unsafe || leaseMs >= statementMs) return
  const [lease, statement] = [formatDuration(leaseMs), formatDuration(statementMs)]
  const problem = `is ${lease}, shorter than statementTimeout, which is ${statement}; make the lease longer or the timeout shorter, or say unsafe: true if it is meant`
  throw misconfigured('lease', problem)
}
