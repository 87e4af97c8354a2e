import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** A build that workers have. Moments are milliseconds since 1970. */
export interface BuildRow {
  name: string
  seen: number
  completed: number
  failed: number
  drained: boolean
  by: string | null
  why: string | null
  workers: number
}

/** Which code workers run, and what it is told. */
export class BuildStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async all(): Promise<BuildRow[]> {
    return this.#database.query<BuildRow>(statement('readBuilds'), [])
  }

  /** False: there is no such build. */
  async drain(build: string, drain: boolean, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('drainBuild'), [
      build,
      drain,
      who.by,
      who.why,
      who.from,
    ])
    return rows[0]?.known === true
  }

  /** Tells one worker. Undefined: none of that id is signed on. A build: that is drained, so its worker was not resumed. */
  async drainWorker(worker: number, drain: boolean, who: RecordedActor): Promise<{ build: string | null } | undefined> {
    const values = [worker, drain, who.by, who.why, who.from]
    return (await this.#database.query<{ build: string | null }>(statement('drainWorker'), values))[0]
  }

  /** Pins a job that is enqueued next. False: no worker of the build lives, runs the type and claims. */
  async pin(job: string, build: string, type: string, forMs: number): Promise<boolean> {
    const rows = await this.#database.query<{ pinned: boolean }>(statement('pinJob'), [job, build, type, forMs])
    return rows[0]?.pinned === true
  }

  async unpin(job: string): Promise<void> {
    await this.#database.query(statement('unpinJob'), [job])
  }

  /** Undefined: there is no such build. */
  async canaryFacts<Facts>(build: string, baseline: string | null): Promise<Facts | undefined> {
    const rows = await this.#database.query<{ facts: Facts | null }>(statement('canaryFacts'), [build, baseline])
    return rows[0]?.facts ?? undefined
  }
}
