import { version } from '../version.js'
import { hashOf } from './schema-files.js'
import { sqlFiles } from './sql-files.js'
import type { Queryable } from './transaction.js'

/** The functions and views of one release, as the database records them. */
export interface AppliedFunctions {
  release: string
  hash: string
}

/** Every function and view of this version in one text, and its hash. */
export function currentFunctions(): { sql: string; hash: string } {
  // Bodies name functions that come later in the text, so they are checked when they are called. The tests call all of them.
  const sql = ['set local check_function_bodies = off;', ...sqlFiles('functions').values()].join('\n')
  return { sql, hash: hashOf(sql) }
}

/**
 * Whether this process is to write its functions over those that stand there: where they differ, and were not written by a newer
 * release. An old process that starts beside new ones leaves theirs alone; they still serve it, because a changed contract has a
 * new name and the old one stands in functions/compat.
 */
export function toBeReplaced(applied: AppliedFunctions | undefined, ours: string, release = version): boolean {
  if (!applied) return true
  return applied.hash !== ours && compareReleases(applied.release, release) <= 0
}

/** Below 0 where the first release is the older one. A pre-release (1.2.0-rc.1) is older than its release. */
export function compareReleases(first: string, second: string): number {
  const parts = (release: string) => {
    const [numbers = '', suffix = '~'] = release.split(/-(.*)/s)
    return [...numbers.split('.').map((part) => part.padStart(9, '0')), ...suffix.split('.').map(padded)].join('.')
  }
  const [one, other] = [parts(first), parts(second)]
  return one < other ? -1 : one > other ? 1 : 0
}

function padded(part: string): string {
  return /^\d+$/.test(part) ? part.padStart(9, '0') : part
}

/**
 * Functions of the schema that the transaction which has just written ours did not touch are of a release that is no longer served:
 * what is still served stands in functions/compat and was written too.
 */
export async function dropLeftOver(tx: Queryable): Promise<void> {
  const left = await tx.query<{ name: string }>(
    `select p.oid::regprocedure::text as name from pg_proc as p
     where p.pronamespace = 'holdfast'::regnamespace and p.proname <> 'now'
       and p.xmin::text::bigint <> pg_current_xact_id()::text::bigint % 4294967296`,
    [],
  )
  for (const { name } of left) await tx.query(`drop function ${name}`, [])
}
