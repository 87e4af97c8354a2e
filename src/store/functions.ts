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
 * Functions and views of the schema that the transaction which has just written ours did not touch are of a release that is no longer
 * served: what is still served stands in functions/compat and was written too. A view that is replaced keeps its row in pg_class and gets
 * a new rule.
 */
export async function dropLeftOver(tx: Queryable): Promise<void> {
  const left = await tx.query<{ kind: 'view' | 'function'; names: string }>(
    `select kind, string_agg(name, ', ') as names from (
       select 'view' as kind, c.oid::regclass::text as name, r.xmin from pg_class as c join pg_rewrite as r on r.ev_class = c.oid
       where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'v' and r.rulename = '_RETURN'
       union all
       select 'function', p.oid::regprocedure::text, p.xmin from pg_proc as p
       where p.pronamespace = 'holdfast'::regnamespace and p.proname <> 'now') as found
     where xmin::text::bigint <> pg_current_xact_id()::text::bigint % 4294967296
     group by kind order by kind desc`,
    [],
  )
  // All of a kind at once, because they may use each other; views first, because they use functions.
  for (const { kind, names } of left) await tx.query(`drop ${kind} ${names}`, [])
}

/** The functions of the schema that run with the rights of its owner. */
export async function definers(tx: Queryable): Promise<number[]> {
  const rows = await tx.query<{ id: string }>(
    `select oid::text as id from pg_proc where pronamespace = 'holdfast'::regnamespace and prosecdef`,
    [],
  )
  return rows.map(({ id }) => Number(id))
}

/**
 * PostgreSQL lets everybody execute a new function. One that runs with the rights of the owner is taken back at once, and belongs to
 * nobody until roles are granted it; those that were `known` before keep what somebody granted. All others keep theirs, which gives no
 * right to any table: so workers that log in as a role go on between a migration and the next grant of the roles.
 */
export function withoutPublic(known: readonly number[] = []): string {
  return `do $revoke$
declare
  v_name text;
begin
  for v_name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.prosecdef and p.oid <> all ('{${known.join()}}'::oid[])
  loop
    execute format('revoke execute on function %s from public', v_name);
  end loop;
end $revoke$`
}
