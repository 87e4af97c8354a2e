import { refused } from './refused.js'
import { unstorable } from './text.js'

/** What people see in place of a value they are not to see. */
export const redactedMark = '[redacted]'

const each = Symbol('each element')
/** Where a value stands: names of fields, and every element of a list. */
export type RedactPath = readonly (string | typeof each)[]

/** Reads paths such as `card.number` and `items[].secret`. */
export function readRedactPaths(paths: unknown, field: string): RedactPath[] {
  if (paths === undefined) return []
  if (!Array.isArray(paths)) throw refused(field, 'must be a list of paths, such as ["card.number", "items[].secret"]')
  return paths.map((path) => {
    const fine =
      typeof path === 'string' &&
      path.length <= 500 &&
      !unstorable.test(path) &&
      /^(?:[^.[\]]+|(?=\[))(?:\[\])*(?:\.[^.[\]]+(?:\[\])*)*$/.test(path)
    if (!fine)
      throw refused(
        field,
        `has ${JSON.stringify(path)}; a path is field names joined by dots, with [] for every element of a list`,
      )
    return path.split('.').flatMap((part: string) => {
      const name = part.replaceAll('[]', '')
      return [...(name === '' ? [] : [name]), ...Array(part.split('[]').length - 1).fill(each)]
    })
  })
}

/** A copy without what stands at the paths. A list in the way is looked through, also where the path does not say so. */
export function redacted(value: unknown, paths: readonly RedactPath[]): unknown {
  return paths.reduce((so, path) => replaced(so, path, 0, () => redactedMark), value)
}

/** Whether what stands at one of the paths, anywhere, is so. */
export function touches(value: unknown, paths: readonly RedactPath[], what: (found: unknown) => boolean = () => true): boolean {
  return paths.some((path) => valuesAt(value, path).some(what))
}

/** Everything that stands at a path, in every element on the way. */
export function valuesAt(value: unknown, path: RedactPath): unknown[] {
  const found: unknown[] = []
  replaced(value, path, 0, (at) => found.push(at))
  return found
}

function replaced(value: unknown, path: RedactPath, at: number, by: (found: unknown) => unknown): unknown {
  const step = path[at]
  if (step === undefined) return by(value)
  if (Array.isArray(value)) return value.map((one) => replaced(one, path, step === each ? at + 1 : at, by))
  if (step === each) return replaced(value, path, at + 1, by)
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return value
  // Not by assignment: a field may be called __proto__.
  const fields = Object.entries(value).map(([name, inner]) => [name, name === step ? replaced(inner, path, at + 1, by) : inner])
  return Object.fromEntries(fields)
}
