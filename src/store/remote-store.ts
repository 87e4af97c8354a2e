import type { Vitals } from '../background/vital-signs.js'
import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import type { HeldAttemptRow, NamedType, RemoteWorkerRow } from './remote-rows.js'
import type { LostRow } from './rows.js'

/** What the HTTP server does for workers in other languages, beyond what the store does for every worker. */
export class RemoteStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async register(worker: {
    name: string
    host: string
    pid: number
    version: string
    build: string | null
    types: readonly number[]
    versions: readonly (number | null)[] | null
    hash: string
  }): Promise<number> {
    const { name, host, pid, version, build, types, versions, hash } = worker
    const values = [name, host, pid, version, types, hash, build, versions]
    return ((await this.#database.query(statement('registerRemoteWorker'), values))[0] as { id: number }).id
  }

  /** Makes types known, each with what it names alone; with `may`, what is named of a known one is changed where it can be. */
  async registerTypes(types: readonly NamedType[], may: boolean, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('registerRemoteTypes'), [JSON.stringify(types), may, who.by, who.from])
  }

  /** Notes the versions of payloads that a worker knows of registered types; newer ones than any worker knew only with `may`. */
  async knowVersions(versions: ReadonlyMap<string, number>, may: boolean, who: RecordedActor): Promise<void> {
    const values = [[...versions.keys()], [...versions.values()], may, who.by, who.from]
    await this.#database.query(statement('knowRemoteVersions'), values)
  }

  /** Says what those of these types use that name it. */
  async defineUses(types: readonly NamedType[], who: RecordedActor): Promise<void> {
    const named = types.filter(({ uses }) => uses !== undefined)
    if (named.length === 0) return
    const values = [named.map(({ type }) => type), named.map(({ uses }) => JSON.stringify(uses)), who.by, who.from]
    await this.#database.query(statement('defineRemoteUses'), values)
  }

  async worker(id: number, hash: string, vitals: Partial<Vitals>): Promise<RemoteWorkerRow | undefined> {
    return (await this.#database.queryShort<RemoteWorkerRow>(statement('remoteWorker'), [id, hash, ...said(vitals)]))[0]
  }

  /** The types of the jobs a worker holds: under these leases, of these jobs; null: all. */
  async typesHeld(worker: number, leases: readonly string[] | null, jobs: readonly string[] | null): Promise<string[]> {
    const rows = await this.#database.queryShort<{ name: string }>(statement('typesHeld'), [worker, leases, jobs])
    return rows.map(({ name }) => name)
  }

  async runningInLane(worker: number, lane: number): Promise<number> {
    const rows = await this.#database.queryShort<{ running: number }>(statement('runningInLane'), [worker, lane])
    return rows[0]?.running ?? 0
  }

  /**
   * Renews leases, each for that long, or for as long as it was claimed for. Answers with those that are still held, each with the
   * jobs under it that were cancelled.
   */
  async renew(
    worker: number,
    leases: readonly string[],
    ms: number | null,
    vitals: Partial<Vitals>,
  ): Promise<{ lease: string; cancelled: string[] }[]> {
    return this.#database.queryShort(statement('renewRemoteLeases'), [worker, leases, ms, ...said(vitals)])
  }

  /** Of these attempts, those that still hold a lease of this worker. */
  async held(
    worker: number,
    attempts: readonly { job: string; lease: string }[],
    withPayload: boolean,
  ): Promise<HeldAttemptRow[]> {
    const values = [worker, attempts.map(({ job }) => job), attempts.map(({ lease }) => lease), withPayload]
    return this.#database.query(statement('attemptsUnderLease'), values)
  }

  /** Of these leases, those that are this worker's. */
  async leasesOf(worker: number, leases: readonly string[]): Promise<Set<string>> {
    const rows = await this.#database.query<{ lease: string }>(statement('leasesOfWorker'), [worker, leases])
    return new Set(rows.map(({ lease }) => lease))
  }

  async howTheyStand(worker: number, ended: readonly { job: string; lease: string; outcome: string }[]): Promise<LostRow[]> {
    const values = [worker, ended.map(({ job }) => job), ended.map(({ lease }) => lease), ended.map(({ outcome }) => outcome)]
    return this.#database.query(statement('howTheyStand'), values)
  }

  async typesOf(jobs: readonly string[]): Promise<{ id: string; type: string }[]> {
    return this.#database.query(statement('typesOfJobs'), [jobs])
  }

  async closeEmpty(worker: number, leases: readonly string[]): Promise<void> {
    await this.#database.query(statement('closeEmptyLeases'), [worker, leases])
  }

  /** How many lines are kept of these attempts; no more than so many are counted. */
  async linesOf(attempts: readonly { jobId: string; attempt: number }[], most: number): Promise<Map<string, number>> {
    const values = [attempts.map(({ jobId }) => jobId), attempts.map(({ attempt }) => attempt), most]
    const rows = await this.#database.query<{ id: string; lines: number }>(statement('linesOfAttempts'), values)
    return new Map(rows.map(({ id, lines }) => [id, lines]))
  }

  /** Where jobs are to go on, as JSON. */
  async checkpoints(jobs: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#database.query<{ id: string; value: string }>(statement('checkpointsOfJobs'), [jobs])
    return new Map(rows.map(({ id, value }) => [id, value]))
  }
}

function said({ lagMs = null, memoryBytes = null, connections = null }: { [Sign in keyof Vitals]?: number | null }): unknown[] {
  return [lagMs, memoryBytes, connections]
}
