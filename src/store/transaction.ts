/**
 * One way to run a statement on whatever client the caller opened a transaction with. None of those libraries is
 * imported: they are told apart by their shape.
 *
 * The rule for statements that go through here, so that one text means the same to every client:
 *
 * 1. A scalar is written `$n::text` and converted from there: `$1::text::smallint`, `$2::text::json`. Values travel as
 *    text, and postgres.js re-encodes what it believes to be of another type: JSON a second time, 'true' to false,
 *    timestamps cut to milliseconds.
 * 2. A list is written with its type, `$n::text[]`, `$n::smallint[]`, `$n::json[]`. It travels as an array literal.
 * 3. Every placeholder from $1 to the last is used. PostgreSQL cannot type one that is not.
 * 4. Result columns are named by one lower-case word (`id`, not `job_id`), because callers have plugins that turn snake
 *    case into camel case, and are text, uuid, boolean or int: clients differ in what they make of anything else.
 *    Prisma fails on void and regclass. A bigint or a timestamp leaves as `::text`.
 * 5. One statement per text, without a backslash right before a question mark, which Knex cannot express.
 */
import { HoldfastError } from '../errors.js'
import type { CallerTransaction } from '../job/caller-transaction.js'
import { arrayLiteral } from './array-literal.js'

export type {
  CallerTransaction,
  DrizzleLike,
  KnexLike,
  KyselyLike,
  PgClientLike,
  PostgresJsLike,
  PrismaLike,
} from '../job/caller-transaction.js'

/** The least that a statement needs: text with $1… placeholders, values, rows back. */
export interface Queryable {
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>
}

type Run = (text: string, values: (string | null)[]) => unknown

/**
 * Statements through the result run on the caller's connection, inside the transaction that is open there. Whether a
 * bare `pg` client has one open cannot be seen reliably from outside; without BEGIN each statement commits by itself.
 * A failure is thrown as the caller's library wraps it, because it is their transaction that is now aborted.
 */
export function asQueryable(tx: CallerTransaction): Queryable {
  const run = runnerOf(tx)
  return {
    async query<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
      return rowsOf(await run(text, asText(values))) as Row[]
    },
  }
}

/** Each value as every client sends it alike: text, or null. For our own connections too, so that one rule holds. */
export function asText(values: readonly unknown[]): (string | null)[] {
  return values.map((value, index) => {
    if (value === null || typeof value === 'string') return value
    if (Array.isArray(value)) return arrayLiteral(value)
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
    throw new TypeError(`$${index + 1} must be a string, number, bigint, boolean, null or a list of those, not ${typeof value}`)
  })
}

/** Every method that is called below, so that each is called on the caller's object and under its own name. */
interface Shapes {
  $queryRawUnsafe(text: string, ...values: unknown[]): unknown
  withoutPlugins(): { executeQuery(query: unknown): unknown }
  raw(text: string, values: unknown[]): unknown
  unsafe(text: string, values: unknown[]): unknown
  execute(query: unknown): unknown
  query(text: string, values: unknown[]): unknown
}

/** The most telling shapes come first: a Prisma client may have a model called `query`, and Drizzle has a field of that name. */
function runnerOf(tx: unknown): Run {
  const it = (tx ?? {}) as Shapes & Record<string, unknown>
  const can = (name: string) => typeof it[name] === 'function'

  if (can('$queryRawUnsafe')) {
    if (can('$connect')) throw noTransaction('a PrismaClient', 'pass the client given to prisma.$transaction(async (tx) => …)')
    return (text, values) => it.$queryRawUnsafe(text, ...values)
  }
  if (can('executeQuery') && can('withoutPlugins')) {
    if (it.isTransaction !== true) throw noTransaction('a Kysely instance', 'pass the one given to db.transaction().execute(…)')
    // Their plugins rename columns and parse text that looks like JSON; both are meant for their own queries.
    const bare = it.withoutPlugins()
    return (sql, parameters) => bare.executeQuery(compiledForKysely(sql, parameters))
  }
  if (can('raw') && can('queryBuilder')) {
    if (!can('isCompleted')) throw noTransaction('a Knex instance', 'pass the one given to knex.transaction(…)')
    return (text, values) => it.raw(placeholdersForKnex(text, values.length), values)
  }
  if (can('unsafe')) {
    if (can('begin') && !can('release')) throw noTransaction('the root sql of postgres.js', 'pass the one given to sql.begin(…)')
    return (text, values) => it.unsafe(text, values)
  }
  if (can('execute') && can('selectDistinctOn')) {
    if (!can('setTransaction')) throw noTransaction('a Drizzle database', 'pass the one given to db.transaction(…)')
    // Built by their `sql` tag a value could become a list of parameters; a finished query is taken as it is.
    return (sql, params) => it.execute({ getSQL: () => ({ toQuery: () => ({ sql, params }) }) })
  }
  if (can('query')) {
    if ('totalCount' in it)
      throw noTransaction('a pg.Pool', 'it spreads statements over connections; pass a client from pool.connect()')
    return (text, values) => it.query(text, values)
  }
  throw new HoldfastError('unknown_transaction', `tx is ${nameOf(tx)}; it must be one of ${accepted}`, { field: 'tx' })
}

const accepted =
  'a pg client, a postgres.js transaction, a Drizzle, Kysely, Knex or Prisma transaction, an object with query(text, values)'

function noTransaction(what: string, instead: string): HoldfastError {
  return new HoldfastError('unknown_transaction', `tx is ${what}, which is not a transaction: ${instead}`, { field: 'tx' })
}

function nameOf(tx: unknown): string {
  if (tx === null || tx === undefined) return String(tx)
  if (typeof tx !== 'object') return `a ${typeof tx}`
  const name = tx.constructor?.name
  return name && name !== 'Object' ? `a ${name}` : `an object with the keys ${Object.keys(tx).slice(0, 8).join(', ') || '(none)'}`
}

function compiledForKysely(sql: string, parameters: readonly unknown[]): object {
  return { sql, parameters, query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] }, queryId: { queryId: 'holdfast' } }
}

/**
 * Knex counts `?` and leaves `$n` alone. So the statement keeps its own placeholders, and the question marks Knex wants
 * to see stand in a comment behind it, where they become a harmless `-- $1 $2`. Nothing in the statement is parsed.
 */
function placeholdersForKnex(text: string, count: number): string {
  return `${text.replaceAll('?', '\\?')}\n--${' ?'.repeat(count)}`
}

/** Plain rows out of a list (postgres.js, Prisma) or a result that holds one. Undoes a caller's PascalCase of column names. */
function rowsOf(result: unknown): unknown[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows
  if (!Array.isArray(rows))
    throw new HoldfastError('unknown_transaction', 'tx ran the statement but returned no rows', { field: 'tx' })
  const renamed = Object.keys(rows[0] ?? {}).some((name) => name !== name.toLowerCase())
  return Array.from(rows, (row) =>
    renamed ? Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value])) : row,
  )
}
