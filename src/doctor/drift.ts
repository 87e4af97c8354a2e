import type { CatalogFacts } from '../store/doctor-store.js'
import type { ExpectedSchema } from '../store/expected-schema.js'
import { compareReleases } from '../store/functions.js'
import { type DoctorFinding, finding } from './finding.js'

/** The release that is installed here, and the one that wrote the database. */
export interface Releases {
  here: string
  newestHere: number
  there: string
  newestThere: number
}

const alias: Readonly<Record<string, string>> = { timestamptz: 'timestamp with time zone' }
/** The clock, which has a finding of its own. */
const clock = 'now'

/** Where the database is not as this release made it. Another release than this one is said, and nothing is compared. */
export function driftFindings(there: CatalogFacts, expected: ExpectedSchema, releases: Releases): DoctorFinding[] {
  const { here, newestHere, there: wrote, newestThere } = releases
  const evidence = [`schema file ${newestThere}, functions of ${wrote}`, `here ${newestHere}, ${here}`]
  const compared = compareReleases(wrote, here) || newestThere - newestHere
  if (compared < 0) {
    const message = 'the schema is older than this version needs'
    return [finding('error', 'schema_outdated', message, evidence, 'holdfast migrate')]
  }
  if (compared > 0) {
    const message = 'a newer version has migrated the schema, so it was not compared with this one'
    return [finding('note', 'schema_ahead', message, evidence, 'run holdfast doctor of that version')]
  }
  const again = 'restore it from the schema of this release: holdfast migrate --sql prints it'
  const differs = (code: string, what: string, those: string[], remedy = again) =>
    those.length === 0 ? [] : [finding('error', code, what, those, remedy)]
  const names = new Set(there.indexes.map(({ name }) => name))
  const constraints = new Set(there.constraints)
  const triggers = new Map(there.triggers.map((one) => [one.name, one]))
  const foreign = there.triggers.filter(({ name }) => !expected.triggers.has(name))
  const message =
    'a trigger that is not of Holdfast runs inside of its statements: what it raises fails them, what it takes slows them down'
  return [
    ...differs('columns_changed', 'tables or columns are missing or of another type', columnsOf(there, expected)),
    ...differs(
      'missing_index',
      'indexes are missing, so claims, searches or retention scan whole tables',
      [...expected.indexes].filter(([name]) => !names.has(name)).map(([name, table]) => `${name} on ${table}`),
    ),
    ...differs(
      'missing_constraint',
      'constraints are missing, so what must not be stored can be',
      [...expected.constraints].filter((name) => !constraints.has(name)),
    ),
    ...differs(
      'missing_trigger',
      'triggers are missing or disabled, so what they guard is not checked',
      [...expected.triggers].filter(([name]) => !triggers.get(name)?.enabled).map(([name, table]) => `${name} on ${table}`),
    ),
    ...differs('functions_changed', 'functions are missing or were changed by hand', functionsOf(there, expected)),
    ...(foreign.length === 0
      ? []
      : [
          finding(
            'warning',
            'foreign_trigger',
            message,
            foreign.map(({ name, table }) => `${name} on ${table}`),
            'follow events instead (docs/events.md), and drop the trigger',
          ),
        ]),
  ]
}

function columnsOf({ tables }: CatalogFacts, expected: ExpectedSchema): string[] {
  return [...expected.tables].flatMap(([table, columns]) => {
    const found = tables[table]
    if (!found) return [`table ${table} is missing`]
    return [...columns].flatMap(([column, [type, notNull]]) => {
      const [isType, isNotNull] = found[column] ?? []
      if (isType === undefined) return [`${table}.${column} is missing`]
      if (plain(isType) !== plain(type)) return [`${table}.${column} is ${isType}, and should be ${type}`]
      return isNotNull === notNull ? [] : [`${table}.${column} ${notNull ? 'may be null, and should not' : 'is not null'}`]
    })
  })
}

/** A type as PostgreSQL calls it, without the schema, which it shows only where it has to. */
function plain(type: string): string {
  const [, name = type, list = ''] = /^(.*?)(\[\])?$/.exec(type.replace(/^.*\./, '')) ?? []
  return (alias[name] ?? name) + list
}

function functionsOf({ functions }: CatalogFacts, expected: ExpectedSchema): string[] {
  const texts = new Map<string, string[]>()
  for (const [name, text] of functions) texts.set(name, [...(texts.get(name) ?? []), text])
  return [...expected.functions].flatMap(([name, wanted]) => {
    const found = texts.get(name)
    if (name === clock) return []
    if (!found) return [`${name} is missing`]
    return wanted.every((text) => found.includes(text)) ? [] : [`${name} was changed`]
  })
}
