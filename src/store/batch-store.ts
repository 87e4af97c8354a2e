import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { type Statement, statement } from './queries.js'
import type { MovedRow } from './rows.js'
import type { Queryable } from './transaction.js'

/** What the database and the library call alike about a batch. */
export interface BatchFacts {
  id: string
  name: string | null
  /** The service whose batch it is; null: the application's own. */
  owner: string | null
  /**
   * `succeeded`: all members completed. `failed`: some ended dead, cancelled or discarded. `cancelled`: somebody cancelled what was left.
   */
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  /** 1, and one more each time a member of the ended batch was made live again. */
  round: number
  /** It waits to be closed. */
  open: boolean
  /** How many members there are, and of these how many have not ended, and how the others did. */
  total: number
  live: number
  completed: number
  dead: number
  cancelled: number
  discarded: number
  /** The jobs that its ends have enqueued. A list of batches leaves them out. */
  callbacks: { round: number; kind: 'success' | 'failure' | 'complete'; job: string }[]
}

export interface BatchRow extends BatchFacts {
  created_at: number
  finished_at: number | null
  cancelled_by: string | null
  cancelled_why: string | null
}

/** Which batches are listed; null: whatever it is. */
export interface BatchListed {
  owner: string | null
  status: string | null
  name: string | null
  createdAfter: string | null
  createdBefore: string | null
}

/** A batch as it is written; the callbacks as JSON. */
export interface NewBatch {
  id: string
  name: string | null
  callbacks: string
  open: boolean
}

/** What is done about batches. `owner`: the service that asks; null: the application itself, whose all batches are. */
export class BatchStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** False: there is one with this id. */
  async create({ id, name, callbacks, open }: NewBatch, owner: string | null, tx: Queryable): Promise<boolean> {
    return (
      (await this.#in<{ created: boolean }>(tx, statement('createBatch'), [id, name, owner, callbacks, open]))[0]?.created ===
      true
    )
  }

  /** Makes jobs of this transaction members. `isNew`: the batch is of this transaction, too. */
  async join(id: string, jobs: readonly string[], owner: string | null, isNew: boolean, tx: Queryable): Promise<void> {
    await this.#in(tx, statement('joinBatch'), [id, jobs, owner, isNew])
  }

  /** False: it was closed before. */
  async close(id: string, owner: string | null): Promise<boolean> {
    return (await this.#database.query<{ closed: boolean }>(statement('closeBatch'), [id, owner]))[0]?.closed === true
  }

  /** Answers with what the batch was. */
  async cancel(id: string, owner: string | null, who: RecordedActor): Promise<BatchRow['status']> {
    const rows = await this.#database.query(statement('cancelBatch'), [id, owner, who.by, who.why, who.from])
    return (rows[0] as { was: BatchRow['status'] }).was
  }

  /** Cancels the next members. Answers with whether there are more. */
  async cancelOn(id: string): Promise<boolean> {
    return (await this.#database.query<{ more: boolean }>(statement('cancelOn'), [id]))[0]?.more === true
  }

  /** Replays all dead members in one transaction, so that they are one round. Answers with a row for each that it found. */
  async replayDead(id: string, confirmed: readonly string[], who: RecordedActor, atOnce: number): Promise<MovedRow[]> {
    return this.#database.transaction(async (tx) => {
      const all: MovedRow[] = []
      for (let after = lowestId; ; ) {
        const ids = (await this.#in<{ id: string }>(tx, statement('deadMembers'), [id, after, atOnce])).map((row) => row.id)
        if (ids.length > 0) {
          const rows = await this.#in<MovedRow>(tx, statement('replayDead'), [ids, who.by, who.why, who.from, null, confirmed])
          all.push(...rows, ...passedOver(ids, rows))
        }
        after = ids.at(-1) ?? after
        if (ids.length < atOnce) break
      }
      if (all.length > 0) {
        const done = JSON.stringify({ replayed: all.filter((row) => row.done).length })
        await this.#in(tx, statement('auditBatch'), ['retry_batch', id, done, who.by, who.why, who.from])
      }
      return all
    })
  }

  async progress(id: string, owner: string | null, tx?: Queryable): Promise<BatchRow | undefined> {
    const values = [id, owner]
    const rows = tx
      ? this.#in<BatchRow>(tx, statement('batchProgress'), values)
      : this.#database.query<BatchRow>(statement('batchProgress'), values)
    return (await rows)[0]
  }

  /** The batch that a job is a member or a callback of. */
  async ofJob(job: string): Promise<string | undefined> {
    return (await this.#database.query<{ id: string }>(statement('batchOfJob'), [job]))[0]?.id
  }

  /** Newest first, those before that id. */
  async list(filter: BatchListed, before: string | null, limit: number): Promise<BatchRow[]> {
    const { owner, status, name, createdAfter, createdBefore } = filter
    return this.#database.query(statement('listBatches'), [owner, before, limit, status, name, createdAfter, createdBefore])
  }

  #in<Row>(tx: Queryable, named: Statement, values: readonly unknown[]): Promise<Row[]> {
    return tx.query(this.#database.rendered(named).text, values)
  }
}

const lowestId = '00000000-0000-0000-0000-000000000000'

/** Whoever works on a dead letter at this moment decides about it. */
function passedOver(ids: readonly string[], rows: readonly MovedRow[]): MovedRow[] {
  const answered = new Set(rows.map((row) => row.id))
  const because = 'somebody else replays or discards it at this moment, or its body is missing'
  return ids.filter((id) => !answered.has(id)).map((id) => ({ id, done: false, was: 'dead', status: 'dead', because }))
}
