import type pg from 'pg'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** A statement as any client can run it: text with $1… placeholders, and values that are texts. */
export interface CompletionStatement {
  text: string
  values: (string | null)[]
}

/** What became of an attempt that was completed in a transaction. */
export type CompletionState = 'written' | 'open' | 'lost'

/** Attempts that end in a transaction of the handler's. */
export class CompletionStore {
  readonly #database: Database
  #open = 0
  readonly #waiting: (() => void)[] = []

  constructor(database: Database) {
    this.#database = database
  }

  /** Answers with one row that says whether the attempt held its lease. */
  statement(
    worker: number,
    job: { id: string; lease: string },
    startedAgoMs: number,
    result: string | null,
  ): CompletionStatement {
    const { text } = this.#database.rendered(statement('completeAttempt'))
    return { text, values: [job.id, job.lease, String(worker), String(startedAgoMs), result] }
  }

  async stands(worker: number, { id, lease }: { id: string; lease: string }): Promise<CompletionState> {
    const rows = await this.#database.query<{ stands: CompletionState }>(statement('completionStands'), [id, lease, worker])
    return rows[0]?.stands ?? 'lost'
  }

  /**
   * Runs `work` inside a transaction on a connection of the pool, as `Database.transaction` does, with the client itself. All but two
   * connections may be in such transactions at once: the worker needs the others to claim and to write results.
   */
  async transact<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#open >= Math.max(1, this.#database.mostConnections - 2)) await new Promise<void>((go) => this.#waiting.push(go))
    this.#open += 1
    try {
      return await this.#database.transactionOfPool(work)
    } finally {
      this.#open -= 1
      this.#waiting.shift()?.()
    }
  }
}
