import type { Vitals } from '../background/vital-signs.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import type { RescuedRow } from './rows.js'

/** A lease and for how many milliseconds it is renewed. */
export type HeldLease = readonly [lease: string, ms: number]

/** A lease that is not lost, with the jobs under it that were cancelled. Without a lease: who told this worker to claim no more, and why. */
export type RenewedRow = { lease: string; cancelled: string[] } | { lease: null; cancelled: [by: string, why: string | null] }

/** What keeps a lease, and what becomes of one that nobody kept. */
export class LeaseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** One heartbeat. `lookedMsAgo`: when the database last answered a claim of this worker. */
  async renew(worker: number, leases: readonly HeldLease[], lookedMsAgo: number | null, vitals: Vitals): Promise<RenewedRow[]> {
    const { lagMs, memoryBytes, connections } = vitals
    const values = [
      worker,
      leases.map(([lease]) => lease),
      leases.map(([, ms]) => ms),
      lookedMsAgo,
      lagMs,
      memoryBytes,
      connections,
    ]
    return this.#database.queryShort(statement('renewLeases'), values)
  }

  /** Holds one lease for at least that long from now. False: it is lost. */
  async extend(worker: number, lease: string, ms: number): Promise<boolean> {
    return (await this.#database.query(statement('extendLease'), [lease, worker, ms])).length > 0
  }

  /** Whether any lease has run out. Writes nothing. */
  async anyExpired(): Promise<boolean> {
    const rows = await this.#database.queryShort<{ expired: boolean }>(statement('anyLeaseExpired'), [])
    return rows[0]?.expired === true
  }

  /**
   * Ends the attempts of at most so many leases that nobody renewed, fewer where they hold many jobs. A job that dies of it
   * after `crashes` crashes is poison.
   */
  async rescue(most: { leases: number; jobs: number }, crashes = 2): Promise<RescuedRow[]> {
    return this.#database.query(statement('rescueLeases'), [most.leases, most.jobs, crashes])
  }
}
