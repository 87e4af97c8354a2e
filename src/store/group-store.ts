import { sleep } from '../clock.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** How long two looks at the groups lie apart at least, and how often somebody else's work is waited for. */
const pauseMs = 20
const most = 10

/**
 * Advances groups after members have ended. Ends that come in meanwhile share the next statement. What fails or is left here is done by the
 * next tick of any worker, which says so where it cannot.
 */
export class GroupStore {
  readonly #database: Database
  #advancing: Promise<void> | undefined
  #again = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Begins to advance the groups, or does so again if it is at it. Does not wait for it. */
  advanceSoon(): void {
    this.#again = true
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined
    })
  }

  /** One look. Answers with how many groups somebody else was just advancing. */
  async advance(): Promise<number> {
    const rows = await this.#database.query<{ left: number }>(statement('advanceGroups'), [])
    return rows[0]?.left ?? 0
  }

  /** Ends when the groups are advanced as far as was asked for. */
  async close(): Promise<void> {
    await this.#advancing
  }

  async #advance(): Promise<void> {
    for (let look = 0; this.#again && look < most; look++) {
      if (look > 0) await sleep(pauseMs * (0.5 + Math.random()))
      this.#again = false
      try {
        if ((await this.advance()) > 0) this.#again = true
        else look = 0
      } catch {
        return
      }
    }
  }
}
