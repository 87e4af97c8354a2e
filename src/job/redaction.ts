import { HoldfastError } from '../errors.js'

/** What people see in the place of a value they are not to see. */
export const redactedMark = '[redacted]'

const each = Symbol('each element')
/** Where a value stands: names of fields, and every element of a list. */
export type RedactPath = readonly (string | typeof each)[]

/** Shorter values would be found in every other word. */
const shortestSecret = 4
const mostSecrets = 1_000
/** A text that was cut can end in the beginning of a secret; so much of it gives it away. */
const tellTale = 8

/** Reads paths such as `card.number` and `items[].secret`. */
export function readRedactPaths(paths: unknown, field: string): RedactPath[] {
  if (paths === undefined) return []
  if (!Array.isArray(paths)) throw wrong(field, 'must be a list of paths, such as ["card.number", "items[].secret"]')
  return paths.map((path) => {
    const fine =
      typeof path === 'string' && path.length <= 500 && /^(?:[^.[\]]+|(?=\[))(?:\[\])*(?:\.[^.[\]]+(?:\[\])*)*$/.test(path)
    if (!fine) throw wrong(field, `has ${JSON.stringify(path)}; a path is names with dots between them, and [] for every element`)
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

/** Whether anything at all stands at one of the paths. */
export function touches(value: unknown, paths: readonly RedactPath[], what: (found: unknown) => boolean = () => true): boolean {
  let found = false
  for (const path of paths) {
    replaced(value, path, 0, (at) => {
      found ||= what(at)
      return at
    })
  }
  return found
}

/** The texts that stand at the paths, longest first, in every spelling in which they turn up in messages. */
export function secretsIn(value: unknown, paths: readonly RedactPath[]): string[] {
  const found = new Set<string>()
  const add = (text: string) => {
    if (text.length < shortestSecret || found.size >= mostSecrets) return
    found.add(text)
    found.add(JSON.stringify(text).slice(1, -1))
  }
  const gather = (at: unknown): void => {
    if (typeof at === 'string') add(at)
    else if (typeof at === 'number') add(String(at))
    else if (at !== null && typeof at === 'object') for (const inner of Object.values(at)) gather(inner)
  }
  touches(value, paths, (at) => {
    gather(at)
    return true
  })
  return [...found].sort((a, b) => b.length - a.length)
}

/** A text without the secrets, and without the beginning of one that was cut off. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  let so = text
  for (const secret of secrets) {
    const head = secret.slice(0, tellTale)
    for (let at = so.indexOf(head); at >= 0; at = so.indexOf(head, at + 1)) {
      let end = at + head.length
      while (end - at < secret.length && so[end] === secret[end - at]) end++
      const whole = end - at === secret.length
      if (!whole && end < so.length && so[end] !== '…') continue
      so = so.slice(0, at) + redactedMark + so.slice(end)
      at += redactedMark.length - 1
    }
  }
  return so
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

function wrong(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_option', `${field} ${problem}`, { field })
}
