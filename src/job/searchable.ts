import { refused } from './refused.js'
import { unstorable } from './text.js'

const most = 8

interface Definition {
  searchable?: readonly string[]
  redact?: readonly string[]
  encrypt?: boolean
}

/** Reads the paths of a payload whose values are found by index: field names joined by dots. */
export function readSearchable({ searchable: paths, redact, encrypt }: Definition): readonly string[] {
  if (paths === undefined) return []
  const fine = (path: unknown) =>
    typeof path === 'string' && path.length <= 500 && !unstorable.test(path) && /^[^.[\]]+(\.[^.[\]]+)*$/.test(path)
  if (!Array.isArray(paths) || paths.length > most || !paths.every(fine)) {
    throw refused(
      'searchable',
      `must be a list of at most ${most} paths, each of field names joined by dots, such as ["order.id"]`,
    )
  }
  if (paths.length > 0 && encrypt === true)
    throw refused('searchable', 'has no use with encrypt: the database cannot read the payload')
  const hidden = (redact ?? []).map((path) => path.replaceAll('[]', ''))
  const both = paths.find((path) => hidden.some((one) => `${path}.`.startsWith(`${one}.`) || `${one}.`.startsWith(`${path}.`)))
  if (both !== undefined) throw refused('searchable', `has ${both}, which redact keeps from people: a search would reveal it`)
  return Object.freeze([...new Set(paths)])
}
