import pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { version } from '../version.js'
import type { Database } from './database.js'
import { type AppliedFunctions, currentFunctions, definers, dropLeftOver, toBeReplaced, withoutPublic } from './functions.js'
import { statement } from './queries.js'
import { hashOf, indexMadeBy, type SchemaFile, schemaFiles, statementsOf } from './schema-files.js'
import { inSchema, quotedSchema } from './schema-name.js'
import { explained, isLockTrouble } from './sqlstate.js'
import type { Queryable } from './transaction.js'

/** A schema file that was run: its number, and what it is about. */
export interface AppliedFile {
  number: number
  name: string
}

/** What a migration did: the schema files it ran, and whether it wrote the functions. */
export interface Migrated {
  files: AppliedFile[]
  functions: boolean
}

/** A migration may take its time, and so may waiting for another process that runs one. */
const longestMs = 3_600_000
const patienceMs = 600_000
const lookAgainMs = 50

/**
 * A migration takes the locks of tables that others are using, in an order that is not theirs. It waits for each less than the
 * second after which PostgreSQL looks for a deadlock and undoes somebody's work; what it cannot have it lets go, all of it, and
 * comes again. That is also the longest that those who queue up behind it stand still before it has what it needs.
 */
const lockWithinMs = 300
const comeAgainMs = 500

const ownTables = `create table if not exists holdfast.migrations (
  number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now());
create table if not exists holdfast.functions_applied (
  one boolean primary key default true constraint there_is_one check (one),
  release text not null, hash text not null, applied_at timestamptz not null default now());`

const takeLock = `pg_try_advisory_xact_lock(hashtextextended('holdfast.migrations', 0))`

const recordFile = 'insert into holdfast.migrations (number, name, checksum) values ($1::text::integer, $2::text, $3::text)'

const recordFunctions = `insert into holdfast.functions_applied (release, hash) values ($1::text, $2::text)
  on conflict (one) do update set release = excluded.release, hash = excluded.hash, applied_at = now()`

const makePartitions = 'select count(holdfast.make_partition(family, day))::int as made from holdfast.missing_partitions()'

/**
 * Runs the schema files that have not run yet, then writes the functions where they differ; all in one transaction, but for files
 * that have to run outside of one. Of many processes that start at once the first migrates and the others find nothing to do. Looks
 * first and locks only where something is missing, so that a user who may not create anything can start on a schema that is up to
 * date. A schema file that was changed after it ran is refused, not guessed at.
 */
export async function migrate(database: Database): Promise<Migrated> {
  const done: Migrated = { files: [], functions: false }
  try {
    for (;;) {
      const missing = await database.transaction(whatIsMissing)
      const [next] = missing.files
      if (!next && !missing.functions) return done
      const step = next?.outsideTransaction
        ? await comingAgain(() => runOutside(database, next))
        : await comingAgain(() => database.transaction((tx) => runInside(tx, database.schema), longestMs))
      done.files.push(...step.files.map(({ number, name }) => ({ number, name })))
      done.functions ||= step.functions
    }
  } catch (error) {
    throw explained(error)
  }
}

async function comingAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const begun = monotonicMs(); ; ) {
    try {
      return await work()
    } catch (error) {
      if (!isLockTrouble(error) || monotonicMs() - begun > patienceMs) throw error
      await sleep(comeAgainMs * (0.5 + Math.random()))
    }
  }
}

interface Missing {
  files: SchemaFile[]
  functions: boolean
}

/** Everything up to the first file that wants to be outside; the functions when no file is left. */
async function runInside(tx: Queryable, schema: string): Promise<Missing> {
  await lock(tx)
  await tx.query(`set local lock_timeout = ${lockWithinMs}`, [])
  const [present] = await tx.query<{ present: boolean }>("select to_regclass('holdfast.migrations') is not null as present", [])
  if (!present?.present) {
    // Not where it exists: a role that owns the schema may not have the right to make one.
    const [{ known } = { known: false }] = await tx.query<{ known: boolean }>(
      'select exists (select from pg_namespace where nspname = $1::text) as known',
      [schema],
    )
    if (!known) await tx.query(`create schema ${quotedSchema(schema)}`, [])
  }
  await tx.query(ownTables, [])
  const missing = await whatIsMissing(tx)
  const until = missing.files.findIndex((file) => file.outsideTransaction)
  const files = until < 0 ? missing.files : missing.files.slice(0, until)
  for (const file of files) {
    await run(tx, file.sql, `schema file ${file.number} (${file.name})`)
    await tx.query(recordFile, [file.number, file.name, file.checksum])
  }
  const functions = until < 0 && missing.functions
  if (functions) await writeFunctions(tx)
  return { files, functions }
}

async function writeFunctions(tx: Queryable): Promise<void> {
  const { sql, hash } = currentFunctions()
  const known = await definers(tx)
  await run(tx, sql, `writing the functions of ${version}`)
  await dropLeftOver(tx)
  await tx.query(withoutPublic(known), [])
  await tx.query(recordFunctions, [version, hash])
  await tx.query(makePartitions, [])
}

/**
 * Runs a file whose statements PostgreSQL does not take inside a transaction. It can be interrupted at any point and is run again
 * from its beginning, so each is written to be repeatable; an index that was left invalid is dropped first, since "if not exists" would
 * take it for made. The lock is held by a second connection whose transaction sees nothing, because building an index concurrently
 * waits for all who do. Of a process that was killed, PostgreSQL goes on building the index, and it and whoever drops the index may wait
 * for each other: PostgreSQL ends one of the two, and the caller comes again.
 */
async function runOutside(database: Database, file: SchemaFile): Promise<Missing> {
  return database.transaction(async (holder) => {
    await lock(holder)
    const missing = await whatIsMissing(holder)
    if (!missing.files.some(({ number }) => number === file.number)) return { files: [], functions: false }
    const client = new pg.Client(database.clientConfig)
    await client.connect()
    try {
      for (const text of statementsOf(file)) {
        const index = indexMadeBy(text)
        if (index && (await isInvalid(client, index, database.schema))) {
          await client.query(inSchema(`drop index concurrently holdfast.${index}`, database.schema))
        }
        await client.query(inSchema(text, database.schema))
      }
    } finally {
      await client.end()
    }
    await holder.query(recordFile, [file.number, file.name, file.checksum])
    return { files: [file], functions: false }
  }, longestMs)
}

async function isInvalid(client: pg.Client, index: string, schema: string): Promise<boolean> {
  const text = `select from pg_index as i join pg_class as c on c.oid = i.indexrelid
    where c.relname = $1 and c.relnamespace = 'holdfast'::regnamespace and not i.indisvalid`
  return (await client.query(inSchema(text, schema), [index])).rowCount === 1
}

/** Waits for its turn by asking again and again: whoever waits inside a statement holds a snapshot, which others may be waiting for. */
async function lock(tx: Queryable): Promise<void> {
  for (const begun = monotonicMs(); ; await sleep(lookAgainMs)) {
    const [row] = await tx.query<{ locked: boolean }>(`select ${takeLock} as locked`, [])
    if (row?.locked) return
    if (monotonicMs() - begun > patienceMs)
      throw new HoldfastError('database_unavailable', 'another process has been migrating this database for ten minutes')
  }
}

/** An error of SQL says what is wrong and not where. */
async function run(tx: Queryable, sql: string, what: string): Promise<void> {
  try {
    await tx.query(sql, [])
  } catch (error) {
    if (error instanceof Error) error.message = `${what} failed, and nothing was changed: ${error.message}`
    throw error
  }
}

async function whatIsMissing(tx: Queryable): Promise<Missing> {
  const [present] = await tx.query<{ present: boolean }>("select to_regclass('holdfast.migrations') is not null as present", [])
  if (!present?.present) return { files: schemaFiles(), functions: true }
  const applied = await tx.query<{ number: number; name: string; checksum: string }>(
    'select number, name, checksum from holdfast.migrations order by number',
    [],
  )
  const [functions] = await tx.query<AppliedFunctions>('select release, hash from holdfast.functions_applied', [])
  const ours = new Map(schemaFiles().map((file) => [file.number, file]))
  for (const { number, name, checksum } of applied) {
    const file = ours.get(number)
    // A newer version has migrated already. Its changes keep older workers working, so there is nothing to do here.
    if (file === undefined) continue
    if (file.checksum !== checksum) {
      const message = `schema file ${number} (${name}) is not the one that ran on this database; restore the file or use a new number`
      throw new HoldfastError('migration_changed', message)
    }
    ours.delete(number)
  }
  return { files: [...ours.values()], functions: toBeReplaced(functions, currentFunctions().hash) }
}

/**
 * Makes the roles that programs connect with, and gives each the rights it needs. What a role had before and does not need is taken
 * away. To be called after a migration by whoever ran it.
 */
export async function grantRoles(database: Database): Promise<void> {
  try {
    await comingAgain(() => database.query(statement('grantRoles'), []))
  } catch (error) {
    throw explained(error)
  }
}

/** The same as a script, for an administrator who may create roles. */
export function rolesScript(schema: string): string {
  return inSchema(`begin;\n${statement('grantRoles').text};\ncommit;\n`, schema)
}

/** Changes with every change of a table or function, and with nothing else. */
export function schemaFingerprint(): string {
  return hashOf([...schemaFiles().map(({ checksum }) => checksum), currentFunctions().hash].join()).slice(0, 12)
}

/** Everything as one script, for those who review and run SQL themselves. It records what it did, like migrate(). */
export function migrationScript(schema: string): string {
  const literal = (text: string) => `'${text}'`
  const files = schemaFiles().map((file) => {
    const record = `insert into holdfast.migrations (number, name, checksum) values (${file.number}, '${file.name}', '${file.checksum}');`
    const body = file.outsideTransaction ? `commit;\n${file.sql}\nbegin isolation level read committed;` : file.sql
    return `-- ── ${String(file.number).padStart(4, '0')} ${file.name}\n${body}\n${record}\n`
  })
  const { sql, hash } = currentFunctions()
  const functions = `-- ── functions\n${sql}\n${withoutPublic()};\n${recordFunctions.replace('$1::text', literal(version)).replace('$2::text', literal(hash))};\n${makePartitions};\n`
  const begin = `begin isolation level read committed;\nselect ${takeLock.replace('try_', '')};\ncreate schema if not exists ${quotedSchema(schema)};\n${ownTables}\n`
  return inSchema(`${begin}\n${files.join('\n')}\n${functions}\ncommit;\n`, schema)
}
