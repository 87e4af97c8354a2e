import { inSchema } from './schema-name.js'
import { sqlFiles } from './sql-files.js'

/** What the release makes of a schema, as its own SQL says it. */
export interface ExpectedSchema {
  /** Of each table, its columns: type, and whether it is never null. */
  tables: Map<string, Map<string, [type: string, notNull: boolean]>>
  /** As table.constraint. */
  constraints: Set<string>
  /** The table of each index. */
  indexes: Map<string, string>
  /** The table of each trigger. */
  triggers: Map<string, string>
  /** The texts of each function; one that takes different arguments has several. */
  functions: Map<string, string[]>
}

/** Reads the SQL of this release, for a schema of that name. It relies on how the files are written; a test compares it with what they make. */
export function expectedSchema(schema: string): ExpectedSchema {
  const sql = inSchema([...sqlFiles('schema').values(), ...sqlFiles('functions').values()].join('\n'), schema)
  const expected: ExpectedSchema = {
    tables: new Map(),
    constraints: new Set(),
    indexes: new Map(),
    triggers: new Map(),
    functions: functionsIn(sql),
  }
  const plain = sql.replaceAll(/^\s*--.*$/gm, '')
  const named = String.raw`(?:"[^"]+"|\w+)\.`
  for (const { 1: table, index, 0: head } of plain.matchAll(new RegExp(String.raw`^create table ${named}(\w+) \(`, 'gm'))) {
    addTable(expected, table as string, partsOf(plain.slice(index + head.length)))
  }
  for (const [, index, table] of plain.matchAll(
    new RegExp(String.raw`^create (?:unique )?index (?:concurrently )?(?:if not exists )?(\w+)\s+on ${named}(\w+)`, 'gm'),
  )) {
    expected.indexes.set(index as string, table as string)
  }
  for (const [, trigger, table] of plain.matchAll(
    new RegExp(String.raw`create (?:or replace )?(?:constraint )?trigger (\w+)\s[^;]*?\bon ${named}(\w+)`, 'g'),
  )) {
    expected.triggers.set(trigger as string, table as string)
  }
  return expected
}

const ownLine = /^(?:constraint|primary key|unique|check|foreign key)\b/
const afterType = /\s+(?:not null|null|default|constraint|check|generated|primary|references|collate|unique)\b.*$/s

function addTable({ tables, constraints }: ExpectedSchema, table: string, parts: readonly string[]): void {
  const columns = new Map<string, [string, boolean]>()
  for (const part of parts) {
    for (const [, name] of part.matchAll(/\bconstraint (\w+)/g)) constraints.add(`${table}.${name}`)
    if (/\bprimary key\b/.test(part) && !/\bconstraint \w+ primary key\b/.test(part)) constraints.add(`${table}.${table}_pkey`)
    if (ownLine.test(part)) continue
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/s.exec(part) ?? []
    columns.set(name, [rest.replace(afterType, '').trim(), /\bnot null\b|\bprimary key\b|\bgenerated\b/.test(rest)])
  }
  for (const part of parts) {
    const [, keys = ''] = /\bprimary key \(([^)]*)\)/.exec(part) ?? []
    for (const key of keys.split(',').map((one) => one.trim())) {
      const column = columns.get(key)
      if (column) column[1] = true
    }
  }
  tables.set(table, columns)
}

/** What stands between commas up to the bracket that ends it; commas in brackets and texts are no ends. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]
    if (letter === "'") at = text.indexOf("'", at + 1)
    else if (letter === '(') depth++
    else if ((letter === ',' || letter === ')') && depth === 0) {
      parts.push(text.slice(from, at).trim())
      from = at + 1
      if (letter === ')') break
    } else if (letter === ')') depth--
  }
  return parts
}

function functionsIn(sql: string): Map<string, string[]> {
  const functions = new Map<string, string[]>()
  for (const part of sql.split(/^create (?:or replace )?function /m).slice(1)) {
    const [, name] = /^(?:"[^"]+"|\w+)\.(\w+)\s*\(/.exec(part) ?? []
    const [, , quoted, plain] = /\bas\s+(?:(\$\w*\$)(.*?)\1|'((?:[^']|'')*)')/s.exec(part) ?? []
    const text = quoted ?? plain?.replaceAll("''", "'")
    if (name !== undefined && text !== undefined) functions.set(name, [...(functions.get(name) ?? []), text])
  }
  return functions
}
