import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { HoldfastError } from '../errors.js'
import type { Database } from './database.js'
import { explained } from './sqlstate.js'
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

/**
 * Runs what has not run yet, in one transaction and under one lock: of many processes that start at once the first
 * migrates and the others find nothing to do. A migration that was changed after it ran is refused, not guessed at.
 */
export async function migrate(database: Database): Promise<AppliedMigration[]> {
  try {
    return await database.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1::text::bigint)::text as locked', [lockKey])
      await tx.query('create schema if not exists holdfast', [])
      await tx.query(
        `create table if not exists holdfast.migrations (
           number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`,
        [],
      )
      const pending = await notYetApplied(tx)
      for (const { sql, number, name, checksum } of pending) {
        await tx.query(sql, [])
        await tx.query(
          'insert into holdfast.migrations (number, name, checksum) values ($1::text::integer, $2::text, $3::text)',
          [number, name, checksum],
        )
      }
      return pending.map(({ number, name }) => ({ number, name }))
    })
  } catch (error) {
    throw explained(error)
  }
}

async function notYetApplied(tx: Queryable): Promise<Migration[]> {
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

/** All migrations as one script, for those who review and run SQL themselves. It records what it did, like migrate(). */
export function migrationScript(): string {
  const parts = readMigrations().map(
    ({ number, name, checksum, sql }) =>
      `-- ── ${String(number).padStart(4, '0')} ${name}\n${sql}\n` +
      `insert into holdfast.migrations (number, name, checksum) values (${number}, '${name}', '${checksum}');\n`,
  )
  const head =
    'begin;\ncreate schema if not exists holdfast;\ncreate table if not exists holdfast.migrations (\n' +
    '  number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now());\n'
  return `${head}\n${parts.join('\n')}\ncommit;\n`
}
