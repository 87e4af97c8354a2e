/** The filter of the page of jobs, as the address has it: a text for each field, empty where nothing is asked. */
export type JobFilter = Readonly<Record<FilterField, string>>

export const filterFields = [
  'status',
  'type',
  'age',
  'ended',
  'from',
  'to',
  'lane',
  'concurrency_key',
  'tags',
  'owner',
  'payload',
  'text',
  'error_group',
  'batch',
] as const
export type FilterField = (typeof filterFields)[number]

/** What people type before the colon, and the field that is meant. The first name of a field is the one that is written. */
export const namesInQuery: Readonly<Record<string, FilterField>> = {
  status: 'status',
  type: 'type',
  lane: 'lane',
  key: 'concurrency_key',
  tag: 'tags',
  service: 'owner',
  owner: 'owner',
  age: 'age',
  ended: 'ended',
  from: 'from',
  to: 'to',
  text: 'text',
  error: 'text',
  group: 'error_group',
  batch: 'batch',
  payload: 'payload',
}

export const payloadPrefix = 'payload.'
const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const ageShape = /^[<>]\d+(?:\.\d+)?[smhdw]$/

/** A filter that was typed, or what is wrong with it. */
export type Read = { readonly filter: JobFilter } | { readonly problem: string }

/** Reads `status:failed type:mail error:"timeout" payload.user.id:42 age:>1h`. A word without a name is a text to look for. */
export function readQuery(typed: string): Read {
  const found: Record<string, string> = Object.fromEntries(filterFields.map((field) => [field, '']))
  const payload: Record<string, unknown> = {}
  for (const { name, value, isText } of tokensOf(typed)) {
    if (name.startsWith(payloadPrefix)) {
      const problem = setAt(
        payload,
        name.slice(payloadPrefix.length).split('.'),
        new Leaf(isText ? JSON.stringify(value) : jsonOf(value)),
      )
      if (problem !== undefined) return { problem }
      continue
    }
    const field = name === '' ? 'text' : namesInQuery[name]
    if (field === undefined)
      return { problem: `No field is called ${name}; there are ${Object.keys(namesInQuery).join(', ')} and payload.…` }
    if (value === '') return { problem: `${name}: needs a value` }
    const times = field === 'age' || field === 'ended'
    if (times && !ageShape.test(value)) return { problem: `${name} is such as <15m or >2h, not ${value}` }
    found[field] = found[field] === '' ? value : `${found[field]} ${value}`
  }
  if (Object.keys(payload).length > 0) found.payload = writeJson(payload)
  return { filter: found as JobFilter }
}

/** A filter as it would be typed. A payload that is no chain of names to one value is typed as JSON in `payload:`. */
export function writeQuery(filter: JobFilter): string {
  const parts: string[] = []
  const named = Object.entries(namesInQuery)
  for (const field of filterFields) {
    const value = filter[field]
    if (value === '') continue
    const name = named.find(([, of]) => of === field)?.[0]
    if (field === 'payload') parts.push(...payloadParts(value))
    else if (field === 'tags' || field === 'age' || field === 'ended')
      parts.push(...value.split(/\s+/).map((one) => `${name}:${quoted(one)}`))
    else parts.push(`${name}:${quoted(value)}`)
  }
  return parts.join(' ')
}

/** The times that a filter of ages means, from now on back. */
export function timesOf({ age, ended, from, to }: Pick<JobFilter, 'age' | 'ended' | 'from' | 'to'>, now: number) {
  const before = (asked: string, sign: string) => asked.split(/\s+/).find((one) => one.startsWith(sign))
  const ago = (asked: string | undefined) => asked && new Date(now - msOf(asked)).toISOString()
  const local = (text: string) => (text === '' || Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString())
  return {
    created_after: ago(before(age, '<')) ?? local(from),
    created_before: ago(before(age, '>')) ?? local(to),
    ended_after: ago(before(ended, '<')),
    ended_before: ago(before(ended, '>')),
  }
}

const msOf = (age: string) => Number(age.slice(1, -1)) * (units[age.at(-1) as string] as number)

interface Token {
  readonly name: string
  readonly value: string
  /** It stood in quotes. */
  readonly isText: boolean
}

/** Words with a name before a colon or without one; quotes keep blanks together. */
function tokensOf(typed: string): Token[] {
  const tokens = typed.matchAll(/([A-Za-z_][\w.-]*):("(?:[^"\\]|\\.)*"|\{.*\}|\S*)|("(?:[^"\\]|\\.)*"|\S+)/g)
  return [...tokens].map(([, name = '', value, word]) => {
    const text = value ?? word ?? ''
    const isText = /^".*"$/s.test(text)
    return { name, isText, value: isText ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text }
  })
}

const quoted = (text: string) => (/[\s"]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text)

function setAt(into: Record<string, unknown>, path: readonly string[], leaf: Leaf): string | undefined {
  const [name = '', ...rest] = path
  if (name === '') return 'payload. needs a name, such as payload.user.id:42'
  if (rest.length === 0) {
    into[name] = leaf
    return undefined
  }
  into[name] ??= {}
  if (into[name] instanceof Leaf) return `payload.${name} is both a value and an object`
  return setAt(into[name] as Record<string, unknown>, rest, leaf)
}

/** JSON of one value, in all its digits. */
class Leaf {
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

const bare = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/
/** A number, true, false and null are what they look like; everything else is a text. */
const jsonOf = (text: string) => (bare.test(text) ? text : JSON.stringify(text))

function writeJson(value: unknown): string {
  if (value instanceof Leaf) return value.json
  const fields = Object.entries(value as object).map(([name, one]) => `${JSON.stringify(name)}:${writeJson(one)}`)
  return `{${fields.join(',')}}`
}

function payloadParts(json: string): string[] {
  const parts: string[] = []
  const walk = (value: unknown, path: string): boolean => {
    if (value === null || typeof value !== 'object') {
      parts.push(
        `${path}:${typeof value !== 'string' ? String(value) : bare.test(value) ? JSON.stringify(value) : quoted(value)}`,
      )
      return true
    }
    if (Array.isArray(value)) return false
    const fields = Object.entries(value)
    return fields.length > 0 && fields.every(([name, one]) => /^[\w-]+$/.test(name) && walk(one, `${path}.${name}`))
  }
  return walkable(json, walk) ? parts : [`payload:${json}`]
}

function walkable(json: string, walk: (value: unknown, path: string) => boolean): boolean {
  try {
    const read: unknown = JSON.parse(json)
    const exact = JSON.stringify(read) === json.replaceAll(/\s(?=(?:[^"]*"[^"]*")*[^"]*$)/g, '')
    return exact && typeof read === 'object' && read !== null && walk(read, 'payload')
  } catch {
    return false
  }
}
