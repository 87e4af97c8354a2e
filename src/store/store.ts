import type { Settlement } from '../settle/decide.js'
import { Database, type DatabaseOptions } from './database.js'
import { statement } from './queries.js'
import type { AttemptRow, ClaimedRow, CrashRow, JobRow, RescuedRow, StatusCount, TypeRow } from './rows.js'
import type { Queryable } from './transaction.js'

/** A job as it is handed to the store: checked, with its id, ready to be written. Null means the type's default. */
export interface NewJob {
  id: string
  /** Whether the producer brought the id, so that it may exist already. */
  brought: boolean
  type: string
  payload: string
  priority: number | null
  maxAttempts: number | null
  delayMs: number | null
  runAt: string | null
  idempotencyKey: string | null
}

export interface RegisteredType {
  type: string
  lane: string
  priority: number
  maxAttempts: number
  timeoutMs: number
}

/** One ended attempt on its way to history. */
export interface EndedAttempt {
  jobId: string
  lease: string
  settlement: Settlement
  error: string | null
  /** Milliseconds before now, by this machine's monotonic clock; null where the handler never started. */
  startedAgoMs: number | null
  endedAgoMs: number
}

/**
 * Everything Holdfast does to the database, in the order a job meets it. Each verb is one statement, and either happens
 * whole or not at all.
 */
export class Store {
  readonly database: Database

  constructor(options: DatabaseOptions) {
    this.database = new Database(options)
  }

  /** Makes types known. With `update`, a known type takes the new values; without, it keeps its own. */
  async registerTypes(types: readonly RegisteredType[], { update }: { update: boolean }): Promise<void> {
    await this.database.query(statement('registerTypes'), [
      types.map((t) => t.type),
      types.map((t) => t.lane),
      types.map((t) => t.priority),
      types.map((t) => t.maxAttempts),
      types.map((t) => t.timeoutMs),
      update,
    ])
  }

  async types(names: readonly string[] | null): Promise<TypeRow[]> {
    return this.database.query(statement('readTypes'), [names])
  }

  async lanes(): Promise<{ id: number; name: string }[]> {
    return this.database.query(statement('readLanes'), [])
  }

  /**
   * Stores jobs, all or none; on the caller's connection where one is given. Answers with the id of the job that stands
   * for each one that existed before, by its place from 0. `fresh` is a promise that no id can exist yet.
   */
  async enqueue(
    jobs: readonly NewJob[],
    options: { fresh: boolean; wakeAlways: boolean; tx?: Queryable },
  ): Promise<Map<number, string>> {
    const values = [
      jobs.map((job) => job.id),
      jobs.map((job) => job.type),
      jobs.map((job) => job.payload),
      jobs.map((job) => job.priority),
      jobs.map((job) => job.maxAttempts),
      jobs.map((job) => job.delayMs),
      jobs.map((job) => job.runAt),
      jobs.map((job) => job.idempotencyKey),
      options.fresh,
      options.wakeAlways,
    ]
    const enqueueJobs = statement('enqueueJobs')
    const rows: { place: number; id: string }[] = options.tx
      ? await options.tx.query(enqueueJobs.text, values)
      : await this.database.query(enqueueJobs, values)
    return new Map(rows.map((row) => [Number(row.place) - 1, row.id]))
  }

  /** A new identity for this process start, never given out before. */
  async registerWorker(worker: { name: string; host: string; pid: number; version: string }): Promise<number> {
    const rows = await this.database.query<{ id: number }>(statement('registerWorker'), [
      worker.name,
      worker.host,
      worker.pid,
      worker.version,
    ])
    return (rows[0] as { id: number }).id
  }

  /** At most `limit` free jobs of one lane under one new lease; never one that another worker is claiming. */
  async claim(ask: {
    worker: number
    lane: number
    types: readonly number[] | null
    limit: number
    leaseMs: number
    after: readonly bigint[]
  }): Promise<ClaimedRow[]> {
    return this.database.query(statement('claimJobs'), [ask.worker, ask.lane, ask.types, ask.limit, ask.leaseMs, ask.after])
  }

  /** Every time a host died under one of these jobs, first to last. */
  async crashes(jobs: readonly string[]): Promise<CrashRow[]> {
    return this.database.query(statement('crashesOfJobs'), [jobs])
  }

  /** Moves jobs whose time has come into the queue. `nextInMs` is null when nothing waits for a time. */
  async promoteDue(limit: number, after: string): Promise<{ promoted: number; readTo: string | null; nextInMs: number | null }> {
    const rows = await this.database.query<{ promoted: number; readto: string | null; nextin: number | null }>(
      statement('promoteDue'),
      [limit, after],
    )
    const row = rows[0] as { promoted: number; readto: string | null; nextin: number | null }
    return { promoted: row.promoted, readTo: row.readto, nextInMs: row.nextin }
  }

  async fallAsleep(worker: number, lanes: readonly number[]): Promise<void> {
    await this.database.query(statement('fallAsleep'), [lanes, worker])
  }

  async stayAwake(worker: number): Promise<void> {
    await this.database.query(statement('stayAwake'), [worker])
  }

  /** Holds one lease for at least that long from now. False: it is lost. */
  async extendLease(worker: number, lease: string, ms: number): Promise<boolean> {
    return (await this.database.query(statement('extendLease'), [lease, worker, ms])).length > 0
  }

  /** Ends attempts, fenced. Answers with the jobs whose lease was lost: for them nothing was changed. */
  async settle(worker: number, ended: readonly EndedAttempt[], closedLeases: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(statement('settleJobs'), [
      ended.map((e) => e.jobId),
      ended.map((e) => e.lease),
      ended.map((e) => e.settlement.move),
      ended.map((e) => e.settlement.outcome),
      ended.map((e) => e.error),
      ended.map((e) => e.startedAgoMs),
      ended.map((e) => e.endedAgoMs),
      ended.map((e) => e.settlement.delayMs),
      worker,
      closedLeases,
    ])
    return rows.map((row) => row.id)
  }

  /** Whether any lease has run out. Writes nothing. */
  async anyLeaseExpired(): Promise<boolean> {
    const rows = await this.database.query<{ expired: boolean }>(statement('anyLeaseExpired'), [])
    return rows[0]?.expired === true
  }

  /** Ends the attempts of at most `limit` leases that nobody renewed. From how many crashes on a dead job is poison: `crashes`. */
  async rescue(limit: number, crashes = 2): Promise<RescuedRow[]> {
    return this.database.query(statement('rescueLeases'), [limit, crashes])
  }

  /** Makes the partitions of the days ahead. */
  async makeDays(): Promise<void> {
    await this.database.query(statement('makeDays'), [])
  }

  /** Drops the oldest day that has had its time; its name, or null where none has. Never waits for a lock. */
  async dropOneDay(keep: { completedMs: number; deadMs: number }): Promise<string | null> {
    const rows = await this.database.query<{ dropped: string | null }>(statement('dropOneDay'), [keep.completedMs, keep.deadMs])
    return rows[0]?.dropped ?? null
  }

  /** Removes at most `limit` rows of each kind that outlived their day. */
  async sweepRest(keep: { completedMs: number; deadMs: number }, limit: number): Promise<number> {
    const rows = await this.database.query<{ swept: number }>(statement('sweepRest'), [keep.completedMs, keep.deadMs, limit])
    return rows[0]?.swept ?? 0
  }

  async workerStopped(worker: number): Promise<void> {
    await this.database.query(statement('workerStopped'), [worker])
  }

  async job(id: string): Promise<JobRow | undefined> {
    return (await this.database.query<JobRow>(statement('jobById'), [id]))[0]
  }

  async attempts(id: string): Promise<AttemptRow[]> {
    return this.database.query(statement('attemptsOfJob'), [id])
  }

  async countByStatus(): Promise<StatusCount[]> {
    return this.database.query(statement('countByStatus'), [])
  }

  async close(): Promise<void> {
    await this.database.close()
  }
}
