import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { Database } from './database.js'
import { statement } from './queries.js'
import { explained, isLockTrouble } from './sqlstate.js'
import type { Queryable } from './transaction.js'

export interface Migration {
  number: number
  name: string
  checksum: string
  sql: string
}

export type AppliedMigration = Pick<Migration, 'number' | 'name'>

const folder = new URL('./migrations/', import.meta.url)

/** Any number that no other program is likely to lock. Held only while migrations run. */
const lockKey = 7_203_115_904

/** A migration may take its time, and so may waiting for another process that runs one. */
const longestMs = 3_600_000

/**
 * A migration takes the locks of tables that others are using, in an order that is not theirs. It waits for each less than the
 * second after which PostgreSQL looks for a deadlock and undoes somebody's work; what it cannot have it lets go, all of it, and
 * comes again. That is also the longest that those who queue up behind it stand still before it has what it needs.
 */
const lockWithinMs = 300
const comeAgainMs = 500
const patienceMs = 600_000

const ownTable = `create schema if not exists holdfast;
create table if not exists holdfast.migrations (
  number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now());`

/** The migrations of this version, in order. */
export function readMigrations(): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, folder), 'utf8')
      const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
      return { number: Number(file.slice(0, 4)), name: file.slice(5, -4), checksum, sql }
    })
}

let newest: number | undefined

/** The number of the last migration of this version. */
export function newestMigration(): number {
  newest ??= readMigrations().at(-1)?.number ?? 0
  return newest
}

/**
 * Runs what has not run yet, in one transaction and under one lock: of many processes that start at once the first
 * migrates and the others find nothing to do. Looks first and locks only where something is missing, so that a user who
 * may not create anything can start on a schema that is up to date. A migration that was changed after it ran is refused,
 * not guessed at.
 */
export async function migrate(database: Database): Promise<AppliedMigration[]> {
  try {
    if ((await database.transaction(notYetApplied)).length === 0) return []
    return await comingAgain(() => database.transaction(runPending, longestMs))
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

async function runPending(tx: Queryable): Promise<AppliedMigration[]> {
  await tx.query('select pg_advisory_xact_lock($1::text::bigint)::text as locked', [lockKey])
  await tx.query(`set local lock_timeout = ${lockWithinMs}`, [])
  await tx.query(ownTable, [])
  const pending = await notYetApplied(tx)
  for (const { sql, number, name, checksum } of pending) {
    await run(tx, sql, `migration ${number} (${name})`)
    await tx.query('insert into holdfast.migrations (number, name, checksum) values ($1::text::integer, $2::text, $3::text)', [
      number,
      name,
      checksum,
    ])
  }
  return pending.map(({ number, name }) => ({ number, name }))
}

/** An error of SQL says what is wrong and not where; the number of the migration is where. */
async function run(tx: Queryable, sql: string, what: string): Promise<void> {
  try {
    await tx.query(sql, [])
  } catch (error) {
    if (error instanceof Error) error.message = `${what} failed, and nothing was changed: ${error.message}`
    throw error
  }
}

async function notYetApplied(tx: Queryable): Promise<Migration[]> {
  const [table] = await tx.query<{ present: boolean }>("select to_regclass('holdfast.migrations') is not null as present", [])
  if (!table?.present) return readMigrations()
  const applied = await tx.query<{ number: number; name: string; checksum: string }>(
    'select number, name, checksum from holdfast.migrations order by number',
    [],
  )
  const ours = new Map(readMigrations().map((migration) => [migration.number, migration]))
  for (const { number, name, checksum } of applied) {
    const migration = ours.get(number)
    // A newer version has migrated already. Its changes keep older workers working, so there is nothing to do here.
    if (migration === undefined) continue
    if (migration.checksum !== checksum) {
      const message = `migration ${number} (${name}) is not the one that ran on this database; restore the file or use a new number`
      throw new HoldfastError('migration_changed', message)
    }
    ours.delete(number)
  }
  return [...ours.values()]
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
export function rolesScript(): string {
  return `begin;\n${statement('grantRoles').text};\ncommit;\n`
}

/** All migrations as one script, for those who review and run SQL themselves. It records what it did, like migrate(). */
export function migrationScript(): string {
  const parts = readMigrations().map(
    ({ number, name, checksum, sql }) =>
      `-- ── ${String(number).padStart(4, '0')} ${name}\n${sql}\n` +
      `insert into holdfast.migrations (number, name, checksum) values (${number}, '${name}', '${checksum}');\n`,
  )
  return `begin isolation level read committed;\nselect pg_advisory_xact_lock(${lockKey});\n${ownTable}\n\n${parts.join('\n')}\ncommit;\n`
}
