// The functions of src/store/functions, and the pieces of SQL inside of them: where each stands, and the tree PostgreSQL's parser makes of it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadModule, parsePlPgSQLSync, parseSync, scanSync } from 'libpg-query'

await loadModule()
const store = fileURLToPath(new URL('../../src/store/', import.meta.url))
const folder = join(store, 'functions')

const enums = new Set(
  readdirSync(join(store, 'schema')).flatMap((file) =>
    parseSync(readFileSync(join(store, 'schema', file), 'utf8')).stmts.flatMap(
      ({ stmt }) => stmt.CreateEnumStmt?.typeName.at(-1).String.sval ?? [],
    ),
  ),
)

/** Every function in SQL or PL/pgSQL: its name, file, statement, and pieces. */
export function sqlFunctions() {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files
    .sort()
    .flatMap((file) => functionsIn(readFileSync(join(folder, file), 'utf8')).map((found) => ({ file, ...found })))
}

export function functionsIn(sql) {
  // The parser counts in bytes.
  const bytes = Buffer.from(sql)
  return parseSync(sql).stmts.flatMap(({ stmt, stmt_location: at = 0, stmt_len: length = bytes.length - at }) => {
    const made = stmt.CreateFunctionStmt
    if (!made) return []
    const option = (name) => made.options.find(({ DefElem }) => DefElem.defname === name)?.DefElem.arg
    const statement = bytes
      .subarray(at, at + length)
      .toString()
      .replace(/^(?:\s|--.*\n)*/, '')
    const body = option('as').List.items[0].String.sval
    const written = { statement, body, bodyAt: statement.lastIndexOf(body) }
    const pieces = option('language').String.sval === 'sql' ? piecesOfSql(written) : piecesOfPlpgsql(written)
    return [{ name: made.funcname.at(-1).String.sval, statement, pieces }]
  })
}

/** A piece: its tree is that of `before`, its text from `at` to `end` and no INTO, which PL/pgSQL takes out and we put at the end. */
function pieceOf(text, { at, end, before = '', into = '', condition = false }) {
  return { at, end, before, into, condition, tree: parseSync(before + text).stmts[0].stmt }
}

function piecesOfSql({ body, bodyAt }) {
  const bytes = Buffer.from(body)
  return parseSync(body).stmts.map(({ stmt_location: from = 0, stmt_len: length = bytes.length - from }) => {
    const text = bytes.subarray(from, from + length).toString()
    const at = bodyAt + bytes.subarray(0, from).toString().length
    return pieceOf(text, { at, end: at + text.length })
  })
}

function piecesOfPlpgsql({ statement, body, bodyAt }) {
  const [{ PLpgSQL_function: parsed }] = parsePlPgSQLSync(withPlainTypes(statement, body, bodyAt)).plpgsql_funcs
  const lines = [0]
  for (const line of body.split('\n')) lines.push(lines.at(-1) + line.length + 1)
  const pieces = new Map()
  for (const { query, parseMode, line, of, slot } of expressionsIn(parsed, 1)) {
    // It compares a variable that nobody has written.
    if (of === 'PLpgSQL_case_when' && query.startsWith('"__Case__')) continue
    const found = find(statement, bodyAt + lines[line - 1], query, parseMode, of)
    pieces.set(found.at, pieceOf(found.text, { ...found, condition: slot === 'cond' }))
  }
  return [...pieces.values()]
}

/** Every expression or statement of SQL below a node, with the line of the statement that it is a part of. */
function* expressionsIn(node, line, of, slot) {
  if (node === null || typeof node !== 'object') return
  if (node.PLpgSQL_expr) {
    yield { ...node.PLpgSQL_expr, line, of, slot }
    return
  }
  for (const [key, value] of Object.entries(node)) {
    const inside = key.startsWith('PLpgSQL_')
    yield* expressionsIn(value, (inside && value.lineno) || line, inside ? key : of, inside || Array.isArray(node) ? slot : key)
  }
}

/** Where a piece stands. The parser says only its line, and has put spaces over an INTO and "SELECT" over a "perform". */
function find(statement, from, query, mode, of) {
  let text = query
  let before = mode === 0 ? '' : 'select '
  if (of === 'PLpgSQL_stmt_perform') [before, text] = ['select ', query.replace(/^SELECT\s+/, '')]
  // An assignment: the tree is that of what is assigned.
  if (mode >= 3) {
    const sign = scanSync(query).tokens.find((token) => token.text === ':=' || token.text === '=')
    text = Buffer.from(query).subarray(sign.end).toString().trimStart()
  }
  for (let at = from; at <= statement.length - text.length; at++) {
    const into = takenOut(statement, at, text)
    if (into !== undefined) return { at, end: at + text.length, text, before, into }
  }
  throw new Error(`it has no place in its function: ${query}`)
}

/** The INTO that the statement has here and the text has not, or nothing; undefined where they differ otherwise. */
function takenOut(statement, at, text) {
  let first
  let last
  for (let n = 0; n < text.length; n++) {
    if (statement[at + n] === text[n]) continue
    if (text[n] !== ' ') return undefined
    first ??= n
    last = n
  }
  if (first === undefined) return ''
  const into = statement.slice(at + first, at + last + 1)
  return into.startsWith('into') && text.slice(first, last + 1).trim() === '' ? ` ${into}` : undefined
}

/**
 * The parser of PL/pgSQL knows no types but those of PostgreSQL, and takes every other one for a record, which INTO cannot have beside
 * others. What the header and the declarations name is a plain value where it is an enum or an array.
 */
function withPlainTypes(statement, body, bodyAt) {
  const inBody = scanSync(body).tokens
  const begins = inBody.findIndex(({ text }) => text.toLowerCase() === 'begin')
  const bodyEnd = bodyAt + body.length
  const declared = inPlainTypes(body, inBody.slice(0, begins))
  return inPlainTypes(statement.slice(0, bodyAt) + declared + statement.slice(bodyEnd), scanSync(statement).tokens)
}

/** No longer and no shorter, so that everything else stays where it is. */
function inPlainTypes(sql, tokens) {
  let plain = sql
  for (const [n, { text, start }] of tokens.entries()) {
    const [dot, type, bracket, closing] = tokens.slice(n + 1, n + 5)
    if (text !== 'holdfast' || dot?.text !== '.' || !type) continue
    const end = bracket?.text === '[' ? closing.end : type.end
    if (end > type.end || enums.has(type.text)) plain = plain.slice(0, start) + 'text'.padEnd(end - start) + plain.slice(end)
  }
  return plain
}
