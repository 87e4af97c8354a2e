import { sleep } from '../clock.js'
import { ArchiveStore } from './archive-store.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import { isLockTrouble } from './sqlstate.js'

const tries = 3
const againMs = 200

/** How long jobs are kept after their end. */
export interface Keep {
  completedMs: number
  deadMs: number
}

/** The partitions of the days: made ahead, dropped when they have had their time. */
export class PartitionStore {
  readonly #database: Database
  readonly archive: ArchiveStore

  constructor(database: Database) {
    this.#database = database
    this.archive = new ArchiveStore(database)
  }

  /**
   * Makes what is missing of today and the days ahead, each in a transaction of its own, so that one which cannot be made keeps no
   * other from it. Where somebody holds a lock it comes again twice. Throws the first error, when all have had their turn.
   */
  async make(): Promise<void> {
    const missing = await this.#database.query<{ family: string; day: string }>(statement('missingPartitions'), [])
    const errors: unknown[] = []
    for (const { family, day } of missing) await this.#makeOne(family, day).catch((error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }

  async #makeOne(family: string, day: string): Promise<void> {
    for (let left = tries - 1; ; left--) {
      try {
        await this.#database.query(statement('makePartition'), [family, day])
        return
      } catch (error) {
        if (left === 0 || !isLockTrouble(error)) {
          if (error instanceof Error) error.message = `the partition of ${family} for ${day} cannot be made: ${error.message}`
          throw error
        }
        // Those who waited behind the lock have their turn first.
        await sleep(againMs * (0.5 + Math.random()))
      }
    }
  }

  /** How long the installation keeps jobs, whatever worker asks. */
  async keep(): Promise<Keep> {
    const rows = await this.#database.query<{ completed: number; dead: number }>(statement('readRetention'), [])
    const { completed, dead } = rows[0] as { completed: number; dead: number }
    return { completedMs: completed, deadMs: dead }
  }

  /** Drops the oldest day that has had its time; its name, or null where none has. Never waits for a lock. */
  async dropOne(keep: Keep): Promise<string | null> {
    const rows = await this.#database.query<{ dropped: string | null }>(statement('dropOldestPartition'), [
      keep.completedMs,
      keep.deadMs,
    ])
    return rows[0]?.dropped ?? null
  }

  /** Notes that nothing is left that had its time. */
  async ran(keep: Keep): Promise<void> {
    await this.#database.query(statement('retentionRan'), [keep.completedMs, keep.deadMs])
  }

  /** Removes at most `limit` rows of each kind that outlived their day. */
  async sweep(keep: Keep, limit: number): Promise<number> {
    const rows = await this.#database.query<{ swept: number }>(statement('sweepDefaultPartitions'), [
      keep.completedMs,
      keep.deadMs,
      limit,
    ])
    return rows[0]?.swept ?? 0
  }
}
