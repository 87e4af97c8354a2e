import { createHash } from 'node:crypto'
import { sqlFiles } from './sql-files.js'

/** One step of the schema: tables, types, indexes, seeds. Once released it is never changed; what it needs later is a new file. */
export interface SchemaFile {
  number: number
  name: string
  checksum: string
  sql: string
  /** Its statements run one by one, each by itself, for what PostgreSQL does not do inside a transaction. */
  outsideTransaction: boolean
}

/** The line by which a file asks for that. */
const outside = /^--.*\bOutside of a transaction\b/m

export function schemaFiles(files = sqlFiles('schema')): SchemaFile[] {
  return [...files].map(([file, sql]) => {
    const [, number, name] = /^(\d{4})_(\w+)\.sql$/.exec(file) ?? []
    if (!number || !name) throw new Error(`schema/${file} must be named like 0007_subject.sql`)
    return repeatable({ number: Number(number), name, checksum: hashOf(sql), sql, outsideTransaction: outside.test(sql) })
  })
}

/** A file that runs outside of a transaction runs again from its beginning where it was interrupted, also after its last statement. */
function repeatable(file: SchemaFile): SchemaFile {
  for (const statement of file.outsideTransaction ? statementsOf(file) : []) {
    const text = statement.replaceAll(/--.*$/gm, '').trim().replaceAll(/\s+/g, ' ')
    if (!/^(?:create|drop)\b/i.test(text) || /\bif (?:not )?exists\b/i.test(text)) continue
    const must = `must say "if ${/^create/i.test(text) ? 'not ' : ''}exists": the file runs again if it is interrupted`
    throw new Error(`schema file ${file.number} (${file.name}) runs outside of a transaction, so "${text}" ${must}`)
  }
  return file
}

/** The single statements of a file that runs outside of a transaction. Such a file holds no function, so a semicolon at the end of a line ends one. */
export function statementsOf({ sql }: SchemaFile): string[] {
  return sql.split(/;[ \t]*$/m).filter((text) => text.replaceAll(/^\s*--.*$/gm, '').trim() !== '')
}

/** The indexes that a statement makes concurrently. One that was interrupted leaves its index invalid, and has to begin anew. */
export function indexMadeBy(sql: string): string | undefined {
  return /\bcreate\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)/i.exec(sql)?.[1]
}

/** Line endings of another system are no change. */
export function hashOf(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
}
