/** The transactions of other libraries, told apart by their shape: none of them is imported. store/transaction.ts runs statements on them. */

// The optional `never` fields are what only the root object has. They turn the commonest mistake, handing over the pool
// instead of the transaction, into a type error; the checks below repeat it for those without types.

/** `pg`'s Client or PoolClient after BEGIN, and anything else with `query(text, values)` that answers rows or `{ rows }`. */
export interface PgClientLike {
  query(text: string, values: string[]): unknown
  readonly totalCount?: never
}

/** What postgres.js hands to `sql.begin(…)`, or a connection from `sql.reserve()` after BEGIN. */
export type PostgresJsLike = { unsafe(text: string, values: string[]): PromiseLike<readonly unknown[]> } & (
  | { readonly begin?: never }
  | { release(): void }
)

/** What Drizzle hands to `db.transaction(…)`, on node-postgres as on postgres.js. */
export interface DrizzleLike {
  execute(query: never): PromiseLike<unknown>
  rollback(): never
  setTransaction(config: never): PromiseLike<unknown>
}

/** Kysely's Transaction or ControlledTransaction. */
export interface KyselyLike {
  readonly isTransaction: true
  withoutPlugins(): { executeQuery(query: never): PromiseLike<{ readonly rows: readonly unknown[] }> }
}

/** Knex's Transaction. */
export interface KnexLike {
  raw(text: string, values: readonly string[]): PromiseLike<unknown>
  isCompleted(): boolean
}

/** What Prisma hands to `prisma.$transaction(async (tx) => …)`. */
export interface PrismaLike {
  $queryRawUnsafe(text: string, ...values: string[]): PromiseLike<unknown>
  readonly $connect?: never
}

/** Whatever a library hands its user inside a transaction. */
export type CallerTransaction = PgClientLike | PostgresJsLike | DrizzleLike | KyselyLike | KnexLike | PrismaLike
