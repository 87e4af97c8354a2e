import { HoldfastError } from '../errors.js'
import type { Database } from './database.js'
import type { ExplainFacts } from './explain-rows.js'
import type { LaneLoadRow, LiveWorkerRow, TypeDepthRow } from './load-rows.js'
import { statement } from './queries.js'
import { newestSchemaFile } from './query-files.js'
import type {
  ApprovalRow,
  AttemptRow,
  CappedCount,
  JobRow,
  LogLineRow,
  MoveRow,
  NewestJobRow,
  OneJobRow,
  ProgressRow,
  StartRow,
  StatusCount,
  WatchedRow,
} from './rows.js'
import { StepStore } from './step-store.js'
import type { Queryable } from './transaction.js'

const pingTimeoutMs = 2_000

/** Which jobs a page lists; null: whatever it is. */
export interface ListFilter {
  owner: string | null
  type: string | null
  status: string | null
  createdAfter: string | null
  createdBefore: string | null
  payload: string | null
  tags: readonly string[] | null
  lane: string | null
  concurrencyKey: string | null
  text: string | null
  /** The fingerprint of an error group. */
  errorGroup: string | null
  batch: string | null
  endedAfter: string | null
  endedBefore: string | null
}

/** Everything that is only looked at. Nothing here writes. */
export class InspectStore {
  readonly steps: StepStore
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
    this.steps = new StepStore(database)
  }

  /** One job, with what its handler returned as it is stored; null: nothing. */
  async job(id: string): Promise<OneJobRow | undefined> {
    return (await this.#database.query<OneJobRow>(statement('jobById'), [id]))[0]
  }

  /** What is known about why a job stands where it stands. */
  async explainFacts(id: string): Promise<ExplainFacts | undefined> {
    const rows = await this.#database.query<{ facts: ExplainFacts | null }>(statement('explainFacts'), [id])
    return rows[0]?.facts ?? undefined
  }

  /** The same of many jobs, by their ids. */
  async explainFactsOf(ids: readonly string[]): Promise<Map<string, ExplainFacts>> {
    const rows = await this.#database.query<{ id: string; facts: ExplainFacts | null }>(statement('explainFactsOfMany'), [ids])
    return new Map(rows.flatMap(({ id, facts }) => (facts ? [[id, facts]] : [])))
  }

  async attempts(id: string): Promise<AttemptRow[]> {
    return this.#database.query(statement('attemptsOfJob'), [id])
  }

  /** Many jobs, in no order; one that is not kept is missing. */
  async jobs(ids: readonly string[]): Promise<JobRow[]> {
    return this.#database.query(statement('jobsById'), [ids])
  }

  async attemptsOf(ids: readonly string[]): Promise<(AttemptRow & { job: string })[]> {
    return this.#database.query(statement('attemptsOfJobs'), [ids])
  }

  /** At most `limit` jobs that have not come to an end, in the order they were enqueued; with `tx` as that transaction sees them. */
  async jobsInQueue(type: string | null, limit: number, tx?: Queryable): Promise<JobRow[]> {
    const [asked, values] = [statement('jobsInQueue'), [type, limit]]
    const rows = tx
      ? await tx.query<{ job: string }>(this.#database.rendered(asked).text, values)
      : await this.#database.query<{ job: string }>(asked, values)
    return rows.map(({ job }) => JSON.parse(job))
  }

  /** Whether any job of these types runs or could run now, and when the next one is due, to the microsecond. */
  async openWork(types: readonly string[]): Promise<{ open: boolean; nextDue: string | null }> {
    const rows = await this.#database.query<{ open: boolean; nextdue: string | null }>(statement('openWork'), [types])
    return { open: rows[0]?.open === true, nextDue: rows[0]?.nextdue ?? null }
  }

  /** What time it is for everything that is decided by time. */
  async now(): Promise<Date> {
    return new Date(await this.#clock())
  }

  /**
   * The end of the millisecond that it is now. The database counts microseconds and a Date does not: what happened a moment ago is
   * before this time, and may be after `now`.
   */
  async endOfNow(): Promise<Date> {
    return new Date(Math.floor(await this.#clock()) + 1)
  }

  async #clock(): Promise<number> {
    return (await this.#database.query<{ now: number }>(statement('readClock'), []))[0]?.now as number
  }

  async progressOf(id: string): Promise<ProgressRow | undefined> {
    return (await this.#database.query<ProgressRow>(statement('progressOfJob'), [id]))[0]
  }

  /** Lines of a job's log that came after the one with that id, first to last. */
  async logLines(id: string, after: string, limit: number): Promise<LogLineRow[]> {
    return this.#database.query(statement('logLinesOfJob'), [id, after, limit])
  }

  async movesOf(id: string): Promise<MoveRow[]> {
    return this.#database.query(statement('movesOfJob'), [id])
  }

  async approvalOf(id: string): Promise<ApprovalRow[]> {
    return this.#database.query(statement('approvalOfJob'), [id])
  }

  /**
   * One page of job ids, newest first, and where the next one begins; null: there is none. Looks at `look` jobs at most, and reads
   * `bytes` of payloads at most.
   */
  async listJobs(
    filter: ListFilter,
    before: string | null,
    { limit, look, bytes, readable }: { limit: number; look: number; bytes: number; readable: readonly string[] },
  ): Promise<{ jobs: string[]; next: string | null }> {
    const { owner, type, status, createdAfter, createdBefore, payload, tags, lane, concurrencyKey, text, errorGroup } = filter
    const { batch, endedAfter, endedBefore } = filter
    const fields = [owner, type, status, createdAfter, createdBefore, payload]
    const values = [
      ...fields,
      before,
      limit,
      look,
      bytes,
      tags,
      lane,
      concurrencyKey,
      text,
      readable,
      errorGroup,
      batch,
      endedAfter,
      endedBefore,
    ]
    const rows = await this.#database.query<{ jobs: string[]; next: string | null }>(statement('listJobs'), values)
    return rows[0] as { jobs: string[]; next: string | null }
  }

  /** Where jobs stand that somebody watches. One that is not kept is missing. */
  async watched(ids: readonly string[]): Promise<WatchedRow[]> {
    return this.#database.query(statement('watchedJobs'), [ids])
  }

  async liveWorkers(): Promise<LiveWorkerRow[]> {
    return this.#database.query(statement('liveWorkers'), [])
  }

  /** How much waits and runs, by type, as it was counted last. */
  async depths(): Promise<TypeDepthRow[]> {
    return this.#database.query(statement('readDepths'), [])
  }

  async countByStatus(): Promise<StatusCount[]> {
    return this.#database.query(statement('countByStatus'), [])
  }

  /** What stands where, by type, at a price that does not grow with what there is. */
  async countForStatus(ask: { atMost: number; completedWithinMs: number; completedAtMost: number }): Promise<CappedCount[]> {
    return this.#database.query(statement('countForStatus'), [ask.atMost, ask.completedWithinMs, ask.completedAtMost])
  }

  async newestJobs(limit: number): Promise<NewestJobRow[]> {
    return this.#database.query(statement('newestJobs'), [limit])
  }

  /** How busy each lane is. */
  async laneLoads(): Promise<LaneLoadRow[]> {
    return this.#database.query(statement('laneLoads'), [])
  }

  /** What a worker with these definitions has to know at its start. */
  async readStart(
    types: readonly { type: string; limits: string | undefined; uses: readonly string[] }[],
    dependencies: readonly { name: string; limits: string | undefined }[],
  ): Promise<StartRow> {
    const [names, limits, uses] = [
      types.map((t) => t.type),
      types.map((t) => t.limits ?? null),
      types.map((t) => JSON.stringify(t.uses)),
    ]
    const values = [names, limits, uses, dependencies.map((d) => d.name), dependencies.map((d) => d.limits ?? null)]
    return (await this.#database.query<StartRow>(statement('readStart'), values))[0] as StartRow
  }

  /** What there is to say about a schema that a newer version has migrated; undefined where none has. */
  async schemaAhead(): Promise<string | undefined> {
    const [row] = await this.#database.query<{ newest: number }>(statement('newestMigration'), [])
    return row && schemaAheadOf(row.newest)
  }

  /** Throws where the schema is older than this version needs, or the database does not answer. */
  async checkSchema(): Promise<void> {
    const [row] = await this.#database.query<{ newest: number }>(statement('newestMigration'), [], pingTimeoutMs)
    if (!row || row.newest < newestSchemaFile()) {
      throw new HoldfastError('schema_outdated', 'the database has not been migrated to this version yet')
    }
  }

  async ping(): Promise<void> {
    await this.#database.query(statement('ping'), [], pingTimeoutMs)
  }
}

/**
 * The same where the last migration is known. Migrations keep the version before them working, so this is no error: it is how a rolling
 * deploy looks from the older side.
 */
export function schemaAheadOf(newest: number): string | undefined {
  if (newest <= newestSchemaFile()) return undefined
  return `the schema is at file ${newest} and this version knows ${newestSchemaFile()}: a newer version has migrated it; deploy that one here`
}
