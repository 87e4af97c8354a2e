import pg from 'pg'
import { monotonicMs } from '../clock.js'
import { type Connections, connectTimeoutMs, ignoreHandledElsewhere, PoolConnections } from './connections.js'
import { type LentConnection, LentFirst } from './lent-connection.js'
import type { Statement } from './queries.js'
import { resultTypes } from './result-types.js'
import { defaultSchema, inSchema } from './schema-name.js'
import { isConnectionTrouble, tooSlow, wasTooSlow } from './sqlstate.js'
import { asText, type Queryable } from './transaction.js'

export interface DatabaseOptions {
  connectionString?: string | undefined
  /** A pool of the caller's own. It is used and never closed. */
  pool?: pg.Pool | undefined
  /** Where LISTEN goes; undefined: where everything goes. */
  listenUrl?: string | undefined
  /** Most connections held at once. */
  connections?: number | undefined
  /** Whether statements are prepared by name once per connection. Off behind a pooler in transaction mode. */
  preparedStatements?: boolean | undefined
  /** How long a statement may take before its connection is given up: nothing here is meant to run long. */
  statementTimeoutMs?: number | undefined
  /** What a connection is made with, in place of connectionString and pool. */
  like?: pg.ClientConfig | undefined
  /** For connections that only read: the server itself ends a statement after so long, and lets none of them write. */
  readWithinMs?: number | undefined
  applicationName?: string | undefined
  /** The schema that holds everything. */
  schema?: string | undefined
}

const defaultStatementTimeoutMs = 20_000
const shortStatementMs = 10_000
/** A connection that nobody has used for so long is closed. */
const restMs = 10_000

/**
 * The statements of one process. Every call ends within its time, also when the network swallows everything and says nothing: connecting within five seconds, a
 * statement within its timeout.
 */
export class Database {
  readonly #options: DatabaseOptions
  readonly #pool: PoolConnections
  readonly #connections: Connections
  readonly #prepared: boolean
  readonly #timeoutMs: number
  readonly #readWithinMs: number | undefined
  /** A client with which a lone connection (LISTEN, heartbeat) can be opened the same way. */
  readonly clientConfig: pg.ClientConfig
  /** The same for LISTEN alone, where that goes to another address: statements do not, so a wrong one costs latency alone. */
  readonly listenConfig: pg.ClientConfig | undefined
  readonly schema: string
  readonly #rendered = new Map<string, Statement>()

  /** `over`: the connections of another, with a line of its own before them. */
  constructor(options: DatabaseOptions, over?: { pool: PoolConnections; lent: LentConnection }) {
    this.#options = options
    this.schema = options.schema ?? defaultSchema
    this.#prepared = options.preparedStatements ?? true
    this.#timeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs
    this.#readWithinMs = options.readWithinMs
    const common = {
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      // Soon enough that a firewall which forgets silent connections after a minute does not forget ours.
      keepAliveInitialDelayMillis: 10_000,
      application_name: options.applicationName ?? 'holdfast',
    }
    const where = options.like ?? (options.pool ? ownConfig(options.pool) : { connectionString: options.connectionString })
    this.clientConfig = { ...where, ...common }
    this.listenConfig = options.listenUrl === undefined ? undefined : { connectionString: options.listenUrl, ...common }
    this.#pool = over?.pool ?? new PoolConnections(options.pool ?? this.#newPool(), options.pool === undefined)
    this.#connections = over ? new LentFirst(over.lent, over.pool) : this.#pool
  }

  #newPool(): pg.Pool {
    return new pg.Pool({ ...this.clientConfig, max: this.#options.connections ?? 4, idleTimeoutMillis: restMs })
  }

  /** The same database, whose statements use this lent connection before they take a connection of the pool. It is closed with this one. */
  over(lent: LentConnection): Database {
    return new Database(this.#options, { pool: this.#pool, lent })
  }

  /** What a thread needs to reach the same installation over a connection of its own. */
  get forThread(): { connection: pg.ClientConfig; schema: string } {
    return { connection: this.clientConfig, schema: this.schema }
  }

  /** The longest one try of anything can take: to connect, and one statement. */
  get patienceMs(): number {
    return connectTimeoutMs + this.#timeoutMs
  }

  /** Whether a connection can be had without waiting for one that the caller holds. */
  get hasFreeConnection(): boolean {
    return this.#pool.hasFree
  }

  /** How many connections the pool may have. */
  /** How many connections of the pool are open. */
  get openConnections(): number {
    return this.#pool.open
  }

  get mostConnections(): number {
    return this.#pool.most
  }

  /** How long ago the database last answered this process, in milliseconds. */
  get silentMs(): number {
    return monotonicMs() - this.#pool.lastAnswerAt
  }

  /** How many statements failed since the last call because the database could not be reached: whoever asks first gets them. */
  takeTroubles(): number {
    return this.#pool.takeTroubles()
  }

  /**
   * Whether the database answers a new connection within that time. If not, those that are open and have said nothing for a second are cut, so that
   * nobody waits for them any longer, and is served over new ones as soon as the database is back.
   */
  async answers(withinMs: number): Promise<boolean> {
    const begun = monotonicMs()
    const client = new pg.Client({ ...this.clientConfig, connectionTimeoutMillis: withinMs })
    client.on('error', ignoreHandledElsewhere)
    try {
      await client.connect()
      return true
    } catch (error) {
      // A server that is full or starts up has answered.
      if (/^(53300|57P03)$/.test((error as { code?: string }).code ?? '')) return true
      this.#pool.cutSilent(begun)
      return false
    } finally {
      client.end().catch(ignoreHandledElsewhere)
    }
  }

  /** Many statements are to be sent at once, over several connections. */
  hurry(): void {
    this.#connections.hurry()
  }

  async query<Row>(statement: Statement, values: readonly unknown[], timeoutMs = this.#timeoutMs): Promise<Row[]> {
    const { name, text } = this.rendered(statement)
    const run = (client: pg.ClientBase) =>
      this.#run<Row>(client, text, asText(values), timeoutMs, this.#prepared ? name : undefined)
    return this.#readWithinMs === undefined ? this.withClient(run) : this.#read(run, this.#readWithinMs)
  }

  /**
   * The price is two round trips. A timeout of ours alone would give up the connection and leave the server at work; one set for
   * the connection would be that of others behind a pooler.
   */
  async #read<Row>(run: (client: pg.ClientBase) => Promise<Row[]>, withinMs: number): Promise<Row[]> {
    let open = true
    const say = (client: pg.ClientBase, text: string) => this.#run(client, text, [], this.#timeoutMs)
    return this.withClient(
      async (client) => {
        await say(client, `begin read only; set local statement_timeout = ${withinMs}`)
        try {
          const rows = await run(client)
          await say(client, 'commit')
          return rows
        } catch (error) {
          if (!isConnectionTrouble(error) || wasTooSlow(error)) {
            await say(client, 'rollback').then(() => {
              open = false
            }, ignoreHandledElsewhere)
          }
          throw wasTooSlow(error) ? tooSlow(withinMs, error) : error
        }
      },
      () => !open,
    )
  }

  /** The statement for this schema, under a name that no other schema's has on the same connection. */
  rendered(statement: Statement): Statement {
    let found = this.#rendered.get(statement.name)
    if (!found) {
      found = { name: `${this.schema} ${statement.name}`, text: inSchema(statement.text, this.schema) }
      this.#rendered.set(statement.name, found)
    }
    return found
  }

  /** For what takes milliseconds and is asked again anyway: a worker cut off without a word should notice soon. */
  async queryShort<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.query(statement, values, this.shortMs)
  }

  /** How long a statement is waited for, at most. */
  get timeoutMs(): number {
    return this.#timeoutMs
  }

  /** How long a short statement is waited for. */
  get shortMs(): number {
    return Math.min(shortStatementMs, this.#timeoutMs)
  }

  /** Runs `work` inside one transaction; commits when it resolves, rolls back when it throws. The timeout is for each statement. */
  async transaction<Result>(work: (tx: Queryable) => Promise<Result>, timeoutMs = this.#timeoutMs): Promise<Result> {
    const perform = (client: pg.ClientBase) => {
      const query = <Row>(text: string, values: readonly unknown[]) =>
        this.#run<Row>(client, inSchema(text, this.schema), asText(values), timeoutMs)
      return work({ query })
    }
    return this.#transact(perform, timeoutMs, this.#connections)
  }

  /** The same with the client itself, which is always one of the pool. */
  async transactionOfPool<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    return this.#transact((client) => work(client as pg.PoolClient), this.#timeoutMs, this.#pool)
  }

  async #transact<Result>(
    work: (client: pg.ClientBase) => Promise<Result>,
    timeoutMs: number,
    from: Connections,
  ): Promise<Result> {
    let open = true
    const perform = async (client: pg.ClientBase): Promise<Result> => {
      const say = (text: string) => this.#run(client, text, [], timeoutMs)
      await say('begin')
      try {
        const result = await work(client)
        await say('commit')
        return result
      } catch (error) {
        if (!isConnectionTrouble(error)) {
          await say('rollback').then(() => {
            open = false
          }, ignoreHandledElsewhere)
        }
        throw error
      }
    }
    // A connection whose transaction may still be open must not reach anybody else.
    return this.withClient(perform, () => !open, from)
  }

  /** Resolves when every connection of ours has gone. A caller's pool stays open. */
  close(): Promise<void> {
    return this.#pool.close()
  }

  async withClient<Result>(
    work: (client: pg.ClientBase) => Promise<Result>,
    mayBeKept: (error: unknown) => boolean = (error) => !isConnectionTrouble(error),
    from = this.#connections,
  ): Promise<Result> {
    let client: pg.ClientBase | undefined
    let spoiled = false
    try {
      client = await from.take()
      return await work(client)
    } catch (error) {
      this.#pool.hadTrouble(error)
      spoiled = !mayBeKept(error)
      throw error
    } finally {
      if (client) from.giveBack(client, spoiled)
    }
  }

  async #run<Row>(
    client: pg.ClientBase,
    text: string,
    values: (string | null)[],
    timeoutMs: number,
    name?: string,
  ): Promise<Row[]> {
    const begun = monotonicMs()
    try {
      const query = { text, values, name, query_timeout: timeoutMs, types: resultTypes }
      const { rows } = await this.#connections.readCommitted.run(client, query as pg.QueryConfig)
      this.#connections.answered(client)
      return rows as Row[]
    } catch (error) {
      if (isSilence(error)) this.#connections.silentSince(begun)
      throw error
    }
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** What a lone connection needs of a caller's pool. The driver hides password and key from copies, so they are named here. */
function ownConfig(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, options, ssl: given } = pool.options
  const ssl = typeof given === 'object' && given.key !== undefined ? { ...given, key: given.key } : given
  const where = connectionString ? { connectionString } : { host, port, user, password, database }
  return { ...where, ...(options === undefined ? {} : { options }), ...(ssl === undefined ? {} : { ssl }) }
}
