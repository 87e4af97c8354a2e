import type pg from 'pg'

/**
 * Empties these tables between two tests that share a database. Not with `truncate`, which makes every file of every partition and index
 * anew, and lets every session plan anew whatever it sends.
 */
export async function emptied(sql: pg.Client, ...tables: string[]): Promise<void> {
  await sql.query(tables.map((table) => `delete from holdfast.${table}`).join(';'))
}
