/**
 * Every client whose transactions Holdfast can enqueue in, opened the way its own manual says. Tests that must hold for
 * all of them run over `clients`; adding a client here adds it to every such test.
 */
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CamelCasePlugin, Kysely, ParseJSONResultsPlugin, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import type { CallerTransaction, PrismaLike } from '../../src/store/transaction.js'

export interface OpenClient {
  /** The object a hurried caller hands over instead of the transaction. */
  readonly root: unknown
  /** Runs the work inside a transaction of the client's own making, and ends it as told. A failure of the work is thrown. */
  transact<T>(work: (tx: CallerTransaction) => Promise<T>, end: 'commit' | 'rollback'): Promise<T>
  close(): Promise<void>
}

export interface TransactionalClient {
  readonly name: string
  open(url: string): Promise<OpenClient>
}

/** Libraries roll back because their callback threw. This is what it throws when the work itself went well. */
class RolledBack extends Error {}

async function throughCallback<T, Tx>(
  begin: (callback: (tx: Tx) => Promise<void>) => PromiseLike<unknown>,
  work: (tx: Tx) => Promise<T>,
  end: 'commit' | 'rollback',
): Promise<T> {
  let result: { value: T } | undefined
  try {
    await begin(async (tx) => {
      result = { value: await work(tx) }
      if (end === 'rollback') throw new RolledBack('on purpose')
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
  if (!result) throw new Error('the client never ran the work')
  return result.value
}

const withPg: TransactionalClient = {
  name: 'pg',
  async open(url) {
    const pool = new pg.Pool({ connectionString: url })
    return {
      root: pool,
      async transact(work, end) {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const value = await work(client)
          await client.query(end)
          return value
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
      close: () => pool.end(),
    }
  },
}

function withPostgresJs(name: string, options: postgres.Options<Record<string, postgres.PostgresType>>): TransactionalClient {
  return {
    name,
    async open(url) {
      const sql = postgres(url, options)
      return {
        root: sql,
        transact: (work, end) => throughCallback((run) => sql.begin(run), work, end),
        close: () => sql.end(),
      }
    },
  }
}

const withDrizzleOnPg: TransactionalClient = {
  name: 'Drizzle on node-postgres',
  async open(url) {
    const pool = new pg.Pool({ connectionString: url })
    const db = drizzleOnPg({ client: pool })
    return {
      root: db,
      transact: (work, end) => throughCallback((run) => db.transaction(run), work, end),
      close: () => pool.end(),
    }
  },
}

const withDrizzleOnPostgresJs: TransactionalClient = {
  name: 'Drizzle on postgres.js',
  async open(url) {
    const sql = postgres(url)
    const db = drizzleOnPostgresJs({ client: sql })
    return {
      root: db,
      transact: (work, end) => throughCallback((run) => db.transaction(run), work, end),
      close: () => sql.end(),
    }
  },
}

/** With the two plugins that would change our rows if they were let near them. */
const withKysely: TransactionalClient = {
  name: 'Kysely',
  async open(url) {
    const db = new Kysely<unknown>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
      plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()],
    })
    return {
      root: db,
      transact: (work, end) => throughCallback((run) => db.transaction().execute(run), work, end),
      close: () => db.destroy(),
    }
  },
}

const withKnex: TransactionalClient = {
  name: 'Knex',
  async open(url) {
    const db = knex({ client: 'pg', connection: url })
    return {
      root: db,
      transact: (work, end) => throughCallback((run) => db.transaction(run), work, end),
      close: () => db.destroy(),
    }
  },
}

interface PrismaRoot {
  $transaction(run: (tx: PrismaLike) => Promise<void>, options: { maxWait: number; timeout: number }): Promise<unknown>
  $disconnect(): Promise<void>
}

/**
 * The client that `prisma generate` would write for a schema without models, minus the types. The generator itself is
 * left out on purpose: the `prisma` package brings 150 others and fetches a binary from a host that a CI may not reach.
 * The price is that the shape of this configuration is Prisma's own affair, so its version is pinned exactly.
 */
const withPrisma: TransactionalClient = {
  name: 'Prisma',
  async open(url) {
    const load = (name: string) => import(name)
    const { getPrismaClient } = await load('@prisma/client/runtime/client')
    const { PrismaPg } = await load('@prisma/adapter-pg')
    const PrismaClient = getPrismaClient({
      previewFeatures: [],
      clientVersion: '7.10.0',
      engineVersion: '7.10.0',
      activeProvider: 'postgresql',
      inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
      runtimeDataModel: { models: {}, enums: {}, types: {} },
      parameterizationSchema: { strings: [], graph: 'AAAA' },
      compilerWasm: {
        getRuntime: () => load('@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs'),
        getQueryCompilerWasmModule: async () => {
          const { wasm } = await load('@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs')
          // Read off the global because neither our lib setting nor Node's types declare it.
          return new (Reflect.get(globalThis, 'WebAssembly').Module)(Buffer.from(wasm, 'base64'))
        },
        importName: './query_compiler_fast_bg.js',
      },
    })
    const prisma: PrismaRoot = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
    return {
      root: prisma,
      // Its own limit of five seconds is too short for a machine that is busy with other tests.
      transact: (work, end) =>
        throughCallback((run) => prisma.$transaction(run, { maxWait: 60_000, timeout: 60_000 }), work, end),
      close: () => prisma.$disconnect(),
    }
  },
}

export const clients: readonly TransactionalClient[] = [
  withPg,
  withPostgresJs('postgres.js', {}),
  withPostgresJs('postgres.js with PascalCase columns and no prepared statements', {
    transform: postgres.pascal,
    prepare: false,
  }),
  withDrizzleOnPg,
  withDrizzleOnPostgresJs,
  withKysely,
  withKnex,
  withPrisma,
]
