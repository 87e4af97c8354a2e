import pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import type { Statement } from './queries.js'
import { ReadCommitted } from './read-committed.js'
import { resultTypes } from './result-types.js'
import { defaultSchema, inSchema } from './schema-name.js'
import { isConnectionTrouble, tooSlow, wasTooSlow } from './sqlstate.js'
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
const connectTimeoutMs = 5_000
const goodbyeMs = 1_000

/**
 * The connections of one process. A connection that failed in any way is thrown away, never put back. Every call ends
 * within its time, also when the network swallows everything and says nothing: connecting within five seconds, a
 * statement within its timeout.
 */
export class Database {
  readonly #pool: pg.Pool
  readonly #ownsPool: boolean
  readonly #prepared: boolean
  readonly #timeoutMs: number
  readonly #readWithinMs: number | undefined
  /** Connections of our own pool that are not closed yet. */
  readonly #open = new Set<pg.PoolClient>()
  /** When each connection last answered. */
  readonly #provenAt = new WeakMap<pg.PoolClient, number>()
  #suspectBefore = 0
  readonly #readCommitted = new ReadCommitted()
  /** A client with which a lone connection (LISTEN, heartbeat) can be opened the same way. */
  readonly clientConfig: pg.ClientConfig
  readonly schema: string
  readonly #rendered = new Map<string, Statement>()

  constructor(options: DatabaseOptions) {
    this.schema = options.schema ?? defaultSchema
    this.#prepared = options.preparedStatements ?? true
    this.#timeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs
    this.#readWithinMs = options.readWithinMs
    this.#ownsPool = options.pool === undefined
    this.clientConfig = {
      ...(options.like ?? (options.pool ? ownConfig(options.pool) : { connectionString: options.connectionString })),
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      // Soon enough that a firewall which forgets silent connections after a minute does not forget ours.
      keepAliveInitialDelayMillis: 10_000,
      application_name: options.applicationName ?? 'holdfast',
    }
    this.#pool = options.pool ?? new pg.Pool({ ...this.clientConfig, max: options.connections ?? 4, idleTimeoutMillis: 30_000 })
    // Without a listener an error on an idle connection would end the process.
    this.#pool.on('error', ignoreHandledElsewhere)
    this.#pool.on('connect', this.#readCommitted.ask)
    if (!this.#ownsPool) return
    this.#pool.on('connect', (client) => this.#open.add(client as pg.PoolClient))
    this.#pool.on('remove', (client) => this.#open.delete(client as pg.PoolClient))
  }

  /** What a thread needs to reach the same installation over a connection of its own. */
  get forThread(): { connection: pg.ClientConfig; schema: string } {
    return { connection: this.clientConfig, schema: this.schema }
  }

  /** The longest one try of anything can take: to connect, and one statement. */
  get patienceMs(): number {
    return connectTimeoutMs + this.#timeoutMs
  }

  /** Whether a connection can be had without waiting for one that the caller holds. Of a pool of our own they never hold any. */
  get hasFreeConnection(): boolean {
    if (this.#ownsPool) return true
    const { idleCount, totalCount, waitingCount, options } = this.#pool
    return idleCount + options.max - totalCount > waitingCount
  }

  async query<Row>(statement: Statement, values: readonly unknown[], timeoutMs = this.#timeoutMs): Promise<Row[]> {
    const { name, text } = this.rendered(statement)
    const run = (client: pg.PoolClient) =>
      this.#run<Row>(client, text, asText(values), timeoutMs, this.#prepared ? name : undefined)
    return this.#readWithinMs === undefined ? this.withClient(run) : this.#read(run, this.#readWithinMs)
  }

  /**
   * The price is two round trips. A timeout of ours alone would give up the connection and leave the server at work; one set for
   * the connection would be that of others behind a pooler.
   */
  async #read<Row>(run: (client: pg.PoolClient) => Promise<Row[]>, withinMs: number): Promise<Row[]> {
    let open = true
    const say = (client: pg.PoolClient, text: string) => this.#run(client, text, [], this.#timeoutMs)
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
    let open = true
    const perform = async (client: pg.PoolClient): Promise<Result> => {
      const tx: Queryable = {
        query: <Row>(text: string, values: readonly unknown[]) =>
          this.#run<Row>(client, inSchema(text, this.schema), asText(values), timeoutMs),
      }
      await tx.query('begin', [])
      try {
        const result = await work(tx)
        await tx.query('commit', [])
        return result
      } catch (error) {
        if (!isConnectionTrouble(error)) {
          await tx.query('rollback', []).then(() => {
            open = false
          }, ignoreHandledElsewhere)
        }
        throw error
      }
    }
    // A connection whose transaction may still be open must not reach anybody else.
    return this.withClient(perform, () => !open)
  }

  /** Resolves when every connection of ours has gone, the politely closed and the silent ones. A caller's pool stays open. */
  async close(): Promise<void> {
    if (!this.#ownsPool) {
      this.#pool.off('error', ignoreHandledElsewhere)
      this.#pool.off('connect', this.#readCommitted.ask)
      return
    }
    if (!this.#pool.ending) await this.#pool.end()
    const deadline = monotonicMs() + goodbyeMs
    while (this.#open.size > 0 && monotonicMs() < deadline) await sleep(5)
    for (const client of this.#open) cutOff(client)
  }

  async withClient<Result>(
    work: (client: pg.PoolClient) => Promise<Result>,
    mayBeKept: (error: unknown) => boolean = (error) => !isConnectionTrouble(error),
  ): Promise<Result> {
    const client = await this.#connect()
    let spoiled = false
    try {
      return await work(client)
    } catch (error) {
      spoiled = !mayBeKept(error)
      throw error
    } finally {
      giveBack(client, spoiled)
    }
  }

  /** A connection that can be trusted. */
  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await (this.#ownsPool ? this.#checkOut() : this.#checkOutInTime())
      const provenAt = this.#provenAt.get(client)
      if (provenAt === undefined || provenAt >= this.#suspectBefore) return client
      giveBack(client, true)
    }
  }

  /**
   * The pool listens for errors only while a connection is idle, so we do while we have it. With the callback and not with the
   * promise: the server's last word can stand in the same packet as its first, and is heard before a promise goes on.
   */
  #checkOut(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client) => {
        if (!client) return reject(error)
        client.on('error', ignoreHandledElsewhere)
        resolve(client)
      })
    })
  }

  /** A caller's pool may be set to wait for ever, for the network or for those who hold all its connections. */
  async #checkOutInTime(): Promise<pg.PoolClient> {
    const checkingOut = this.#checkOut()
    const waited = new AbortController()
    const client = await Promise.race([checkingOut, sleep(connectTimeoutMs, { signal: waited.signal })]).finally(() =>
      waited.abort(),
    )
    if (client) return client
    checkingOut.then((late) => giveBack(late, false), ignoreHandledElsewhere)
    const all = `the pool has ${this.#pool.totalCount} of at most ${this.#pool.options.max} connections and none became free`
    throw new Error(`timeout exceeded when trying to connect: ${all}`)
  }

  async #run<Row>(
    client: pg.PoolClient,
    text: string,
    values: (string | null)[],
    timeoutMs: number,
    name?: string,
  ): Promise<Row[]> {
    const begun = monotonicMs()
    try {
      const query = { text, values, name, query_timeout: timeoutMs, types: resultTypes }
      const { rows } = await this.#readCommitted.run(client, query as pg.QueryConfig)
      this.#provenAt.set(client, monotonicMs())
      return rows as Row[]
    } catch (error) {
      // What was cut off without a word was not cut off alone. Connections that have answered since are fine; the others
      // are not tried one by one, a timeout each.
      if (isSilence(error)) this.#suspectBefore = Math.max(this.#suspectBefore, begun)
      throw error
    }
  }
}

function giveBack(client: pg.PoolClient, spoiled: boolean): void {
  client.off('error', ignoreHandledElsewhere)
  client.release(spoiled)
}

/** The failure reaches whoever runs the statement; the event only says it a second time. */
function ignoreHandledElsewhere(): void {}

function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Closes the socket itself. The driver's end() waits for a server that may never answer. */
export function cutOff(client: pg.ClientBase): void {
  const { stream } = (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection ?? {}
  stream?.destroy()
}

/** What a lone connection needs of a caller's pool. The driver hides password and key from copies, so they are named here. */
function ownConfig(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, options, ssl: given } = pool.options
  const ssl = typeof given === 'object' && given.key !== undefined ? { ...given, key: given.key } : given
  const where = connectionString ? { connectionString } : { host, port, user, password, database }
  return { ...where, ...(options === undefined ? {} : { options }), ...(ssl === undefined ? {} : { ssl }) }
}
