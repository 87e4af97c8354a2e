import pg from 'pg'
import type { Statement } from './queries.js'
import { isConnectionTrouble } from './sqlstate.js'
import { asText, type Queryable } from './transaction.js'

export interface DatabaseOptions {
  connectionString?: string | undefined
  /** A pool of the caller's own. It is used and never closed. */
  pool?: pg.Pool | undefined
  /** Most connections held at once. */
  connections?: number | undefined
  /** Whether statements are prepared by name once per connection. Off behind a pooler in transaction mode. */
  preparedStatements?: boolean | undefined
  /** How long a statement may take before its connection is given up: nothing here is meant to run long. */
  statementTimeoutMs?: number | undefined
  applicationName?: string | undefined
}

const defaultStatementTimeoutMs = 30_000
const connectTimeoutMs = 5_000

/** The connections of one process. A connection that failed in any way is thrown away, never put back. */
export class Database {
  readonly #pool: pg.Pool
  readonly #ownsPool: boolean
  readonly #prepared: boolean
  readonly #timeoutMs: number
  /** A client with which a lone connection (LISTEN, heartbeat) can be opened the same way. */
  readonly clientConfig: pg.ClientConfig

  constructor(options: DatabaseOptions) {
    this.#prepared = options.preparedStatements ?? true
    this.#timeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs
    this.#ownsPool = options.pool === undefined
    this.clientConfig = {
      ...(options.pool ? ownConfig(options.pool) : { connectionString: options.connectionString }),
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      application_name: options.applicationName ?? 'holdfast',
    }
    this.#pool = options.pool ?? new pg.Pool({ ...this.clientConfig, max: options.connections ?? 4, idleTimeoutMillis: 30_000 })
    // Without a listener an error on an idle or a checked-out connection would end the process.
    this.#pool.on('error', ignoreHandledElsewhere)
    this.#pool.on('connect', (client) => client.on('error', ignoreHandledElsewhere))
  }

  async query<Row>(statement: Statement, values: readonly unknown[], timeoutMs = this.#timeoutMs): Promise<Row[]> {
    return this.withClient((client) => this.#run<Row>(client, statement, values, timeoutMs))
  }

  /** Runs `work` inside one transaction; commits when it resolves, rolls back when it throws. */
  async transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result> {
    return this.withClient(async (client) => {
      const tx: Queryable = {
        query: async <Row>(text: string, values: readonly unknown[]) =>
          (await client.query({ text, values: asText(values), query_timeout: this.#timeoutMs } as pg.QueryConfig)).rows as Row[],
      }
      await client.query('begin')
      try {
        const result = await work(tx)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(ignoreHandledElsewhere)
        throw error
      }
    })
  }

  async withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect()
    let trouble: unknown
    try {
      return await work(client)
    } catch (error) {
      trouble = error
      throw error
    } finally {
      client.release(trouble !== undefined && isConnectionTrouble(trouble))
    }
  }

  async close(): Promise<void> {
    if (this.#ownsPool && !this.#pool.ended) await this.#pool.end()
  }

  async #run<Row>(client: pg.PoolClient, statement: Statement, values: readonly unknown[], timeoutMs: number): Promise<Row[]> {
    const config = {
      text: statement.text,
      values: asText(values),
      query_timeout: timeoutMs,
      ...(this.#prepared ? { name: statement.name } : {}),
    }
    return (await client.query(config as pg.QueryConfig)).rows as Row[]
  }
}

/** The failure reaches whoever runs the statement; the event only says it a second time. */
function ignoreHandledElsewhere(): void {}

function ownConfig(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = pool.options
  return connectionString ? { connectionString, ssl } : { host, port, user, password, database, ssl }
}
