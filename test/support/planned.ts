import { createHash } from 'node:crypto'
import type { QueryConfig } from 'pg'

/**
 * The statement as one that its connection plans once, if it only reads: tests ask the same again and again while they wait, and planning
 * a view of all jobs takes the database six times as long as reading it.
 */
export function planned(text: string, values: unknown[]): QueryConfig {
  const reads = /^\s*select\b/i.test(text) && !text.includes(';')
  return reads ? { name: createHash('sha1').update(text).digest('base64url'), text, values } : { text, values }
}
