import { queryFiles } from './query-files.js'

/** A statement from queries/*.sql: its name in the file is also the name it is prepared under. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Every named statement. A block runs from its `-- name:` line to the next one; its comments stay, for pg_stat_activity. */
function readStatements(): Map<string, Statement> {
  const statements = new Map<string, Statement>()
  for (const [file, sql] of queryFiles()) {
    const blocks = sql.split(/^-- name: (\w+)$/m)
    for (let i = 1; i < blocks.length; i += 2) {
      const name = blocks[i] as string
      if (statements.has(name)) throw new Error(`two statements are named ${name}; the second is in ${file}`)
      statements.set(name, { name, text: `-- ${name}${(blocks[i + 1] as string).trimEnd()}` })
    }
  }
  return statements
}

let statements: Map<string, Statement> | undefined

export function statement(name: string): Statement {
  statements ??= readStatements()
  const found = statements.get(name)
  if (!found) throw new Error(`no statement is named ${name}`)
  return found
}

/** For the test that every statement is used and valid. */
export function allStatements(): readonly Statement[] {
  statements ??= readStatements()
  return [...statements.values()]
}
