import { AccessStore } from './access-store.js'
import { AlertStore } from './alert-store.js'
import { BatchStore } from './batch-store.js'
import { BulkStore } from './bulk-store.js'
import { type ClaimedColumns, claimedRows } from './claimed-columns.js'
import { CompletionStore } from './completion-store.js'
import { Database, type DatabaseOptions } from './database.js'
import { DeadLetterStore } from './dead-letter-store.js'
import { DoctorStore } from './doctor-store.js'
import type { TickRow } from './duty-rows.js'
import { type EnqueueOptions, enqueueJobsValues, enqueueJobValues, isPlain } from './enqueue-values.js'
import { ErrorStore } from './error-store.js'
import { EventStore } from './event-store.js'
import { ExecutionStore } from './execution-store.js'
import { GroupStore } from './group-store.js'
import { InspectStore } from './inspect-store.js'
import { LeaseStore } from './lease-store.js'
import type { LentConnection } from './lent-connection.js'
import { LogStore } from './log-store.js'
import { MetricsStore } from './metrics-store.js'
import { MoveStore } from './move-store.js'
import type { NewJob, Stands } from './new-job.js'
import { OperatorStore } from './operator-store.js'
import { PartitionStore } from './partition-store.js'
import { PrivacyStore } from './privacy-store.js'
import { type Statement, statement } from './queries.js'
import { type RegisteredType, registerValues } from './registered-type.js'
import { RemoteStore } from './remote-store.js'
import { ReplicaFirst } from './replica.js'
import type { ClaimedRow, CrashRow, GroupedRow, LostRow, RegisteredRow, TypeRow, WorkerLaneRow } from './rows.js'
import { SampleStore } from './sample-store.js'
import { ScheduleStore } from './schedule-store.js'
import { SessionStore } from './session-store.js'
import { type EndedAttempt, settleValues, withEnded } from './settle-values.js'
import type { Queryable } from './transaction.js'
import { WaitStore } from './wait-store.js'
import { WebhookStore } from './webhook-store.js'

export type { NewJob, Stands } from './new-job.js'

const leastPatienceMs = 1_000
/** Whoever claims so many jobs at once ends as many, and claims again meanwhile: one connection is too few for that. */
const many = 250

/** What the database is told of how long its answer is waited for: less than that, so that it gives up first. */
const inTime = (ms: number): number => Math.floor(ms * 0.8)

/**
 * Everything Holdfast does to the database, in the order a job meets it. Each verb is one statement, and either happens
 * whole or not at all.
 */
export class Store {
  readonly database: Database
  readonly #options: DatabaseOptions
  readonly inspect: InspectStore
  readonly operate: OperatorStore
  readonly move: MoveStore
  readonly log: LogStore
  readonly deadLetters: DeadLetterStore
  readonly remote: RemoteStore
  readonly access: AccessStore
  readonly metrics: MetricsStore
  readonly samples: SampleStore
  readonly sessions: SessionStore
  readonly privacy: PrivacyStore
  readonly alerts: AlertStore
  readonly partitions: PartitionStore
  readonly wait: WaitStore
  readonly completion: CompletionStore
  readonly groups: GroupStore
  readonly batches: BatchStore
  readonly executions: ExecutionStore
  readonly schedules: ScheduleStore
  readonly leases: LeaseStore
  readonly events: EventStore
  readonly webhooks: WebhookStore
  readonly bulk: BulkStore
  readonly errors: ErrorStore
  readonly doctor: DoctorStore

  constructor(options: DatabaseOptions, database = new Database(options)) {
    this.#options = options
    this.database = database
    this.inspect = new InspectStore(this.database)
    this.operate = new OperatorStore(this.database)
    this.move = new MoveStore(this.database)
    this.log = new LogStore(this.database)
    this.deadLetters = new DeadLetterStore(this.database)
    this.remote = new RemoteStore(this.database)
    this.access = new AccessStore(this.database)
    this.metrics = new MetricsStore(this.database)
    this.samples = new SampleStore(this.database)
    this.sessions = new SessionStore(this.database)
    this.privacy = new PrivacyStore(this.database)
    this.alerts = new AlertStore(this.database)
    this.partitions = new PartitionStore(this.database)
    this.wait = new WaitStore(this.database)
    this.completion = new CompletionStore(this.database)
    this.groups = new GroupStore(this.database)
    this.batches = new BatchStore(this.database)
    this.executions = new ExecutionStore(this.database)
    this.schedules = new ScheduleStore(this.database)
    this.leases = new LeaseStore(this.database)
    this.events = new EventStore(this.database)
    this.webhooks = new WebhookStore(this.database)
    this.bulk = new BulkStore(this.database)
    this.errors = new ErrorStore(this.database)
    this.doctor = new DoctorStore(this.database)
  }

  /** The same database over connections of its own, which only read and for no longer than that; its replica, where one is named. */
  forReading(connections: number, readWithinMs: number, replica: string | undefined): Store {
    const options = { ...this.#options, like: this.database.clientConfig, pool: undefined, connections, readWithinMs }
    return new Store(options, replica === undefined ? new Database(options) : new ReplicaFirst(options, replica))
  }

  /** The same store for a worker, whose statements use this lent connection before they take a connection of the pool. */
  over(lent: LentConnection): Store {
    return new Store(this.#options, this.database.over(lent))
  }

  /**
   * Makes types known. With `update`, a known type takes the new values; without, it keeps its own. Answers with the names of all lanes; where a
   * type names another, nothing was written.
   */
  async registerTypes(types: readonly RegisteredType[], { update }: { update: boolean }): Promise<string[]> {
    const rows = await this.database.query<{ lanes: string[] }>(statement('registerTypes'), registerValues(types, update))
    return rows[0]?.lanes ?? []
  }

  /** Applies the limits of definitions that changed since a worker last started with them. */
  async defineLimits(types: readonly { type: string; limits: string | undefined }[]): Promise<void> {
    await this.database.query(statement('defineLimits'), [types.map((t) => t.type), types.map((t) => t.limits ?? null)])
  }

  /** Says what types use, where their definitions changed it. */
  async defineUses(types: readonly { type: string; uses: readonly string[] }[]): Promise<void> {
    await this.database.query(statement('defineUses'), [types.map((t) => t.type), types.map((t) => JSON.stringify(t.uses))])
  }

  /** The registered types of these names, or all; on the caller's connection where one is given. */
  async types(names: readonly string[] | null, tx?: Queryable): Promise<TypeRow[]> {
    return this.#query(statement('readTypes'), [names], tx)
  }

  async lanes(): Promise<{ id: number; name: string }[]> {
    return this.database.query(statement('readLanes'), [])
  }

  /**
   * Stores jobs, all or none; on the caller's connection where one is given. Answers with the job that stands for each one not
   * simply created, by its index from 0. `fresh`: no id can exist yet; `keysTaken`: takeKeys was called for these jobs.
   */
  async enqueue(jobs: readonly NewJob[], options: EnqueueOptions & { tx?: Queryable }): Promise<Map<number, Stands>> {
    const [only] = jobs
    // enqueueJob would meet the key that was taken for this job and believe that another one has it.
    const mayTakeItsKey = !options.keysTaken || only?.idempotencyKey === null
    if (only && jobs.length === 1 && options.fresh && mayTakeItsKey && isPlain(only)) {
      const values = enqueueJobValues(only, options)
      const [answer] = await this.#query<{ stands: string | null }>(statement('enqueueJob'), values, options.tx)
      return standingForOne(answer?.stands ?? null)
    }
    return standing(await this.#query(statement('enqueueJobs'), enqueueJobsValues(jobs, options), options.tx))
  }

  /** Takes the idempotency keys of jobs about to be stored in this transaction, all in one order. Answers like enqueue. */
  async takeKeys(jobs: readonly NewJob[], tx: Queryable, owner: string | undefined): Promise<Map<number, Stands>> {
    const { text } = this.database.rendered(statement('takeKeys'))
    const values = [jobs.map((job) => job.id), jobs.map((job) => job.type), jobs.map((job) => job.idempotencyKey), owner ?? null]
    return standing(await tx.query(text, values))
  }

  /** A new identity for this process start, never given out before. `versions`: of each type, the version of payloads it knows. */
  async registerWorker(worker: {
    name: string
    host: string
    pid: number
    version: string
    build?: string | null
    types: readonly number[]
    versions?: readonly number[]
    ownChannel?: boolean
  }): Promise<RegisteredRow> {
    const { name, host, pid, version, build = null, types, versions = null, ownChannel = false } = worker
    const values = [name, host, pid, version, types, versions, this.database.mostConnections, build, ownChannel]
    return (await this.database.query<RegisteredRow>(statement('registerWorker'), values))[0] as RegisteredRow
  }

  /** At most `limit` free jobs of one lane under one new lease; never one that another worker is claiming. */
  async claim(ask: {
    worker: number
    lane: number
    types: readonly number[] | null
    limit: number
    /** How many jobs of a key with a limit may be taken for each that may run at once. */
    inARow: number
    leaseMs: number
    after: readonly bigint[]
  }): Promise<ClaimedRow[]> {
    // A job nobody has heard of before half its lease is over is better handed to somebody else.
    const withinMs = Math.min(this.database.shortMs, Math.max(leastPatienceMs, ask.leaseMs / 2))
    const values = [ask.worker, ask.lane, ask.types, ask.limit, ask.leaseMs, ask.after, ask.inARow, inTime(withinMs)]
    const [claimed] = await this.database.query<ClaimedColumns>(statement('claimJobs'), values, withinMs)
    const rows = claimed ? claimedRows(claimed) : []
    if (rows.length >= many) this.database.hurry()
    return rows
  }

  /** Every time a host died under one of these jobs, first to last. */
  async crashes(jobs: readonly string[]): Promise<CrashRow[]> {
    return this.database.query(statement('crashesOfJobs'), [jobs])
  }

  /**
   * Moves jobs whose time has come into the queue and does what else is due. `nextInMs` is null when nothing waits for a time; `lanes` are those these
   * types run in now. With `thorough` it also says whether any job of theirs is free and whether a lease has run out.
   */
  async tick(limit: number, after: string, types: readonly number[] = [], thorough = false): Promise<TickRow> {
    const values = [limit, after, types, thorough, inTime(this.database.shortMs)]
    const rows = await this.database.queryShort<TickRow>(statement('tick'), values)
    return rows[0] as TickRow
  }

  /** The lanes these types run in now, where tick cannot say it. */
  async lanesOf(types: readonly number[]): Promise<WorkerLaneRow[]> {
    const rows = await this.database.queryShort<{ lanes: WorkerLaneRow[] }>(statement('lanesOfTypes'), [types])
    return rows[0]?.lanes ?? []
  }

  /** Frees the jobs of claims whose answer never came, without spending an attempt. Answers with how many. */
  async releaseUnacknowledged(worker: number, knownLeases: readonly string[]): Promise<number> {
    const rows = await this.database.queryShort<{ jobs: number }>(statement('releaseUnacknowledged'), [worker, knownLeases])
    return rows[0]?.jobs ?? 0
  }

  /** Asks producers to call this worker. No news: they had been asked in all these lanes. */
  async subscribeIdle(worker: number, lanes: readonly number[]): Promise<{ news: boolean; others: number }> {
    const rows = await this.database.queryShort<{ news: boolean; others: number }>(statement('subscribeIdle'), [lanes, worker])
    return rows[0] as { news: boolean; others: number }
  }

  async unsubscribeIdle(worker: number): Promise<void> {
    await this.database.queryShort(statement('unsubscribeIdle'), [worker])
  }

  /** Removes idle workers that died, so that producers no longer notify them. */
  async forgetIdleWorkers(): Promise<void> {
    await this.database.query(statement('forgetIdleWorkers'), [])
  }

  /**
   * Ends attempts, fenced. Answers with those that held no lease any more, and why: for them nothing was changed; and with those that it ended
   * otherwise than it was asked to.
   * `nowMs` is now on the clock the attempts were timed with.
   */
  async settle(
    worker: number,
    ended: readonly EndedAttempt[],
    nowMs: number,
    closedLeases: readonly string[],
  ): Promise<LostRow[]> {
    const values = settleValues(worker, ended, nowMs, closedLeases)
    const rows = await this.database.query<LostRow | GroupedRow>(statement('settleJobs'), values)
    const lost = rows.filter((row) => row.id !== null)
    if (lost.length < rows.length) this.groups.advanceSoon()
    return withEnded(lost, ended)
  }

  async workerStopped(worker: number): Promise<void> {
    await this.database.query(statement('workerStopped'), [worker])
  }

  /** For tests: replaces the database's clock by one that runs on from the moved point, and wakes every worker. */
  async moveClock(move: { byMs: number } | { to: string }): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(statement('askForTime').text, 'to' in move ? [null, move.to] : [move.byMs, null])
      await tx.query(statement('moveClock').text, [])
    })
  }

  async close(): Promise<void> {
    await this.groups.close()
    await this.database.close()
  }

  #query<Row>(named: Statement, values: readonly unknown[], tx: Queryable | undefined): Promise<Row[]> {
    return tx ? tx.query(this.database.rendered(named).text, values) : this.database.query(named, values)
  }
}

function standing(rows: readonly ({ ordinal: number } & Stands)[]): Map<number, Stands> {
  return new Map(rows.map(({ ordinal, id, what }) => [Number(ordinal) - 1, { id, what }]))
}

/** `existing 0190…`: what happened, and to which job. */
function standingForOne(stands: string | null): Map<number, Stands> {
  if (stands === null) return new Map()
  const [what, id] = stands.split(' ') as [Stands['what'], string]
  return new Map([[0, { id, what }]])
}
