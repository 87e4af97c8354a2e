import { monotonicMs } from '../clock.js'
import { Database, type DatabaseOptions } from './database.js'
import { Lag } from './lag.js'
import { type Statement, statement } from './queries.js'
import { isWorthAnotherTry, wasTooSlow } from './sqlstate.js'

const checkEveryMs = 1_000
/** A standby further behind is not read from: people would take what they see for what is. */
const mostBehindMs = 10_000
/** A standby that says nothing is given up after this, so that whoever asked still gets an answer. */
const answerWithinMs = 2_500

/** How reads fare that may go to a standby. */
export interface ReplicaState {
  /** Whether they go there now. */
  used: boolean
  /** How far it is behind; null: nobody can tell. */
  lagMs: number | null
  /** Why they do not. */
  why: string | null
}

interface Position {
  position: number | null
  identity: string
}

/**
 * Reads from a standby while it is there and at most ten seconds behind, and where everything else goes otherwise: a statement that it
 * leaves unanswered, or cancels because of what it replays, runs once more there. Nothing is decided by what was read here.
 */
export class ReplicaFirst extends Database {
  readonly #replica: Database
  readonly #lag = new Lag()
  #state: ReplicaState = { used: false, lagMs: null, why: 'it has not been asked yet' }
  #checking: Promise<void> | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  /** Which server and database the primary was when it last answered: a standby of another one does not become right while it is away. */
  #identity: string | undefined

  constructor(options: DatabaseOptions, url: string) {
    super(options)
    const { schema, connections, preparedStatements, readWithinMs } = options
    const same = { schema, connections, preparedStatements, readWithinMs }
    this.#replica = new Database({ ...same, connectionString: url, statementTimeoutMs: answerWithinMs })
  }

  /** Undefined for connections that have no replica. */
  static stateOf(database: Database): ReplicaState | undefined {
    return database instanceof ReplicaFirst ? database.#state : undefined
  }

  override async query<Row>(statement: Statement, values: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    const isFirst = this.#checkedAt === Number.NEGATIVE_INFINITY
    const checked = this.#checkNow()
    // The first one waits for it; later ones go by what the last check found.
    if (isFirst) await checked
    if (!this.#state.used) return super.query(statement, values, timeoutMs)
    try {
      return await this.#replica.query(statement, values)
    } catch (error) {
      if (!isWorthAnotherTry(error) || wasTooSlow(error)) throw error
      if (!isConflict(error)) this.#away(error)
      return super.query(statement, values, timeoutMs)
    }
  }

  override async close(): Promise<void> {
    await this.#checking
    await Promise.all([super.close(), this.#replica.close()])
  }

  #checkNow(): Promise<void> {
    if (monotonicMs() - this.#checkedAt < checkEveryMs) return Promise.resolve()
    this.#checking ??= this.#check().finally(() => {
      this.#checkedAt = monotonicMs()
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<void> {
    // Without a primary to compare it with, what the standby has is the best there is.
    const primary = await super.query<Position>(statement('writtenPosition'), []).then(first, () => undefined)
    const atMs = monotonicMs()
    try {
      const replica = first(await this.#replica.query<Position>(statement('replayedPosition'), []))
      if (replica.position === null) return this.#refuse('it is no standby')
      this.#identity = primary?.identity ?? this.#identity
      if (this.#identity !== undefined && this.#identity !== replica.identity)
        return this.#refuse('it belongs to another server or database')
      if (primary) this.#lag.wrote(primary.position as number, atMs)
      const lagMs = Math.round(this.#lag.behindMs(replica.position, monotonicMs()))
      const late = lagMs > mostBehindMs
      this.#state = { used: !late, lagMs, why: late ? 'it is more than ten seconds behind' : null }
    } catch (error) {
      this.#away(error)
    }
  }

  #away(error: unknown): void {
    this.#refuse(`it cannot be read from: ${error instanceof Error ? error.message : String(error)}`)
  }

  #refuse(why: string): void {
    this.#state = { used: false, lagMs: null, why }
  }
}

const first = ([row]: readonly Position[]): Position => row as Position

/** The standby gave the statement up for what it had to replay. It is there, and may answer the next one. */
function isConflict(error: unknown): boolean {
  return (error as { code?: string }).code === '40001'
}
