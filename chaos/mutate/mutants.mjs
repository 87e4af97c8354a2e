// What may be changed in a function, one thing at a time. The change is made in the tree of a piece, and the piece is written anew from its
// tree; the rest of the function stays as it was written.
import { parseSync } from 'libpg-query'
import { deparseSync } from 'pgsql-parser'

const opposite = { '=': '<>', '<>': '=', '<': '>=', '>=': '<', '>': '<=', '<=': '>' }
const boundary = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const advisory = /^pg_(try_)?advisory_(xact_)?lock/

/** Every mutant of a function: its id, kind, what it changes in words, and the statement with the change. */
export function mutantsOf({ name, file, statement, pieces }) {
  const counts = {}
  return pieces.filter(isWritable).flatMap((piece) =>
    [...changesIn(piece.tree, piece.condition)].map(({ kind, says, make, undo }) => {
      make()
      const text = textOf(piece)
      undo()
      counts[kind] = (counts[kind] ?? 0) + 1
      const changed = statement.slice(0, piece.at) + text + piece.into + statement.slice(piece.end)
      return { id: `${name}/${kind}/${counts[kind]}`, file, name, kind, says, statement, changed }
    }),
  )
}

/** Whether a piece can be written from its tree: the deparser leaves out the parentheses of (array[…])[n]. */
export function isWritable({ tree }) {
  const sql = deparseSync([tree], { pretty: false })
  try {
    return Boolean(parseSync(sql))
  } catch {
    return false
  }
}

/** A piece as its tree has it now. It throws where the text would mean something else than the tree. */
function textOf({ tree, before }) {
  const sql = deparseSync([tree], { pretty: false }).replace(/;\s*$/, '')
  if (meaning(parseSync(sql).stmts[0].stmt) !== meaning(tree)) throw new Error(`not what the tree says: ${sql}`)
  return sql.slice(before.length)
}

/** A tree without the places of its nodes in the text. */
function meaning(tree) {
  return JSON.stringify(tree, (key, value) => (/location$|_start$|_end$/.test(key) ? undefined : value))
}

function* changesIn(tree, condition) {
  if (condition) yield* dropped('condition', tree.SelectStmt.targetList[0].ResTarget, 'val')
  yield* below(tree)
}

/** A change is made and undone in place; who asks for the next one has undone the last. */
function* below(node) {
  if (node === null || typeof node !== 'object') return
  if (node.whereClause) yield* dropped('where', node, 'whereClause', true)
  if (node.JoinExpr?.quals) yield* dropped('where', node.JoinExpr, 'quals')
  if (node.lockingClause) yield* unlocked(node)
  if (node.A_Expr?.kind === 'AEXPR_OP') yield* turned(node.A_Expr)
  if (node.FuncCall) yield* notLocked(node)
  for (const value of Object.values(node)) yield* below(value)
}

function* dropped(kind, holder, slot, whole = false) {
  const was = holder[slot]
  const all = was.BoolExpr?.boolop === 'AND_EXPR' ? was.BoolExpr.args : [was]
  if (all.length === 1) {
    if (whole) yield { kind, says: `without "${written(was)}"`, ...replacing(holder, slot, undefined) }
    return
  }
  for (const one of all) {
    const rest = all.filter((other) => other !== one)
    const next = rest.length === 1 ? rest[0] : { BoolExpr: { ...was.BoolExpr, args: rest } }
    yield { kind, says: `without "${written(one)}"`, ...replacing(holder, slot, next) }
  }
}

function* turned(expression) {
  const operator = expression.name.at(-1).String?.sval
  if (!expression.lexpr || expression.name.length > 1) return
  for (const [kind, table] of Object.entries({ comparison: opposite, boundary })) {
    const other = table[operator]
    if (!other) continue
    const says = `"${written({ A_Expr: expression })}" with ${other}`
    yield { kind, says, ...replacing(expression, 'name', [{ String: { sval: other } }]) }
  }
}

function* unlocked(select) {
  const { lockingClause } = select
  const words = lockingClause.map(({ LockingClause: { strength } }) => strength.replace('LCS_', '').toLowerCase()).join()
  yield { kind: 'lock', says: `without the lock ${words}`, ...replacing(select, 'lockingClause', undefined) }
  for (const { LockingClause: clause } of lockingClause) {
    if (clause.waitPolicy !== 'LockWaitSkip') continue
    yield { kind: 'lock', says: 'waits for locked rows', ...replacing(clause, 'waitPolicy', 'LockWaitBlock') }
  }
}

function* notLocked(node) {
  const name = node.FuncCall.funcname.at(-1).String.sval
  if (!advisory.test(name)) return
  const nothing = name.startsWith('pg_try') ? { A_Const: { boolval: { boolval: true } } } : { A_Const: { isnull: true } }
  const call = node.FuncCall
  yield {
    kind: 'lock',
    says: `without ${written({ FuncCall: call })}`,
    make() {
      delete node.FuncCall
      Object.assign(node, nothing)
    },
    undo() {
      delete node.A_Const
      node.FuncCall = call
    },
  }
}

function replacing(holder, slot, value) {
  const was = holder[slot]
  return {
    make() {
      holder[slot] = value
    },
    undo() {
      holder[slot] = was
    },
  }
}

function written(node) {
  const select = {
    SelectStmt: { targetList: [{ ResTarget: { val: node } }], limitOption: 'LIMIT_OPTION_DEFAULT', op: 'SETOP_NONE' },
  }
  const text = deparseSync([select], { pretty: false }).replace(/^SELECT\s+/, '')
  return text.replaceAll(/\s+/g, ' ').slice(0, 160)
}
