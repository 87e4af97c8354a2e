import type { Schema } from '../api/schema.js'
import { HoldfastError } from '../errors.js'
import { showValue } from '../job/failure.js'
import { isJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { notA, refused } from '../job/refused.js'
import { unstorable } from '../job/text.js'

type RequestPart = 'body' | 'query' | 'params' | 'answer'

/**
 * Checks a value against a schema. Its errors name the field, its value and what it must be. Ajv, which the framework would use, drops
 * unknown fields or has messages of its own, and turns "5" into 5 in bodies too.
 */
export function check(schema: Schema, value: unknown, part: RequestPart): unknown {
  if (part === 'body' && schema.type === 'object') {
    // A body whose every field is optional may be missing.
    if (value === undefined || value === null) return check(schema, {}, part)
    if (!isObject(value)) throw new HoldfastError('invalid_request', 'the body must be one JSON object')
  }
  return checked(schema, value, '', part)
}

function checked(schema: Schema, given: unknown, path: string, part: RequestPart): unknown {
  const value = part === 'query' ? fromQuery(schema, given) : given
  if (schema.anyOf) return checkAny(schema, schema.anyOf, value, path, part)
  if (schema.enum && !schema.enum.includes(value as string)) throw notListed(schema.enum, value, path)
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOf(type, value))) throw wrong(schema, value, path)
  if (typeof value === 'string' && schema.type !== undefined) checkText(schema, value, path)
  if (typeof value === 'number') checkNumber(schema, value, path)
  if (Array.isArray(value) && schema.items) return checkList(schema, value, path, part)
  if (isObject(value) && schema.properties) return checkFields(schema, value, path, part)
  if (isObject(value) && typeof schema.additionalProperties === 'object') {
    for (const [name, one] of Object.entries(value))
      checked(schema.additionalProperties, one, `${path}.${name.slice(0, 100)}`, part)
  }
  return value
}

function checkAny(schema: Schema, several: readonly Schema[], value: unknown, path: string, part: RequestPart): unknown {
  const one = several.find((each) => fits(each, value, path, part)) ?? onlyOfItsKind(several, value)
  if (one) return checked(one, value, path, part)
  throw wrong(schema, value, path)
}

/** If only one alternative can have been meant, the error is about that one. */
function onlyOfItsKind(several: readonly Schema[], value: unknown): Schema | undefined {
  const kind = several.filter(({ type }) => type !== undefined && [type].flat().some((each) => isOf(each, value)))
  return kind.length === 1 ? kind[0] : undefined
}

function checkFields(schema: Schema, value: Record<string, unknown>, path: string, part: RequestPart): Record<string, unknown> {
  const fields = schema.properties as Record<string, Schema>
  const known = Object.keys(fields)
  const below = (name: string) => (path === '' ? name : `${path}.${name}`)
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown !== undefined && schema.additionalProperties === false) {
    const shown = below(unknown).slice(0, 100)
    throw refused(shown, `is not a field here${didYouMean(unknown, known)}; known are ${known.join(', ') || 'none'}`)
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(value, name)) continue
    const { description } = fields[name] as Schema
    throw refused(below(name), `is missing${description ? `; it must be ${description}` : ''}`)
  }
  const pairs = known.flatMap((name) => {
    const field = fields[name] as Schema
    if (Object.hasOwn(value, name)) return [[name, checked(field, value[name], below(name), part)]]
    return field.default === undefined ? [] : [[name, field.default]]
  })
  return Object.fromEntries(pairs)
}

function checkList(schema: Schema, value: unknown[], path: string, part: RequestPart): unknown[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (value.length < minItems || value.length > maxItems) {
    throw refused(path || 'body', `has ${value.length} entries; it must have ${minItems} to ${maxItems}`)
  }
  return value.map((one, at) => checked(schema.items as Schema, one, `${path}[${at}]`, part))
}

/** A time without a zone is refused, because it would depend on the server's zone. */
const timeWithZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i

function checkText(schema: Schema, value: string, path: string): void {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema
  if (value.length > maxLength) throw refused(path || 'body', `has ${value.length} characters; at most ${maxLength} are allowed`)
  if (format === 'date-time') {
    if (!timeWithZone.test(value)) {
      throw refused(path || 'body', `is ${showValue(value)}; write a time with its zone, such as 2030-01-31T09:00:00Z`)
    }
    const year = new Date(value).getUTCFullYear()
    if (year >= 2000 && year <= 2199) return
    throw refused(
      path || 'body',
      `is ${showValue(value)}; ${Number.isNaN(year) ? 'there is no such time' : 'it must be from 2000 to 2199'}`,
    )
  }
  const bad = format === 'uuid' ? !isJobId(value) : pattern !== undefined && !new RegExp(pattern, 'u').test(value)
  if (bad || value.length < minLength || unstorable.test(value)) throw wrong(schema, value, path)
}

function checkNumber(schema: Schema, value: number, path: string): void {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  if (value < minimum || value > maximum) throw wrong(schema, value, path)
}

/** In a query everything is a text, and a list is a parameter that is given more than once. */
function fromQuery(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value)
  if (schema.type === 'array') return [value]
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function fits(schema: Schema, value: unknown, path: string, part: RequestPart): boolean {
  try {
    checked(schema, value, path, part)
    return true
  } catch {
    return false
  }
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  return type === 'object' ? isObject(value) : typeof value === type
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function notListed(allowed: readonly unknown[], value: unknown, path: string): HoldfastError {
  const guess = typeof value === 'string' ? didYouMean(value, allowed.map(String)) : ''
  return refused(path || 'body', `is ${showValue(value)}${guess}; it can be ${allowed.join(', ')}`)
}

function wrong(schema: Schema, value: unknown, path: string): HoldfastError {
  return notA(path || 'body', value, schema.description ?? wanted(schema))
}

function wanted({ type, minimum, maximum }: Schema): string {
  const range = minimum !== undefined && maximum !== undefined ? ` from ${minimum} to ${maximum}` : ''
  const names: Record<string, string> = { string: 'a text', integer: 'a whole number', number: 'a number', null: 'null' }
  const named = [type ?? 'something else'].flat().map((name) => names[name] ?? `a JSON ${name}`)
  return named.join(' or ') + range
}
