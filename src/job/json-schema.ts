import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { refused } from './refused.js'

const mostBytes = 65_536

/** What of zod's own description of a schema says whether it takes more than its JSON Schema does. */
interface ZodDef {
  type: string
  coerce?: boolean
  pattern?: RegExp
  in?: { _zod: { def: ZodDef } }
  checks?: readonly { _zod?: { def: { check?: string; pattern?: RegExp } } }[]
}
type Json = Record<string, unknown>

/**
 * The JSON Schema of what producers give (the input), as JSON; undefined where the library says none, or none that is sure to take all that the schema
 * takes. What JSON Schema cannot say stays with the schema itself, which the worker asks.
 */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): string | undefined {
  const standard = schema?.['~standard'] as (StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>) | undefined
  // arktype leaves out the flags of its patterns.
  if (standard?.vendor === 'arktype' && /"flags":"[^"]/.test(JSON.stringify((schema as { json?: unknown }).json)))
    return undefined
  try {
    const libraryOptions = standard?.vendor === 'zod' ? { unrepresentable: 'any', override: loosen } : {}
    const made = standard?.jsonSchema?.input({ target: 'draft-2020-12', libraryOptions })
    const text = made && JSON.stringify(made)
    return text === undefined || Buffer.byteLength(text) > mostBytes ? undefined : text
  } catch {
    // What has no JSON Schema at all, such as a function or a type that refers to itself in a way that the library cannot say.
    return undefined
  }
}

/** A JSON Schema that was given as such. */
export function storableSchema(schema: object | null | undefined, field: string): object | null {
  if (schema === undefined || schema === null) return null
  if (typeof schema !== 'object' || Array.isArray(schema)) throw refused(field, 'must be a JSON Schema, which is an object')
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > mostBytes) throw refused(field, `has ${bytes} bytes; at most ${mostBytes} are stored`)
  return schema
}

/** Takes away what zod itself would not ask of the value that is given: it brings the value into a form first, or its pattern has flags. */
function loosen({ zodSchema, jsonSchema }: { zodSchema: { _zod: { def: ZodDef } }; jsonSchema: Json }): void {
  const { type, coerce, in: before, checks = [], pattern } = zodSchema._zod.def
  const defs = checks.flatMap((check) => check._zod?.def ?? [])
  const anything = coerce === true || before?._zod.def.type === 'transform' || type === 'catch'
  if (anything || defs.some(({ check }) => check === 'overwrite')) keepOnly(anything ? [] : ['type'], jsonSchema)
  else if ([pattern, ...defs.map((def) => def.pattern)].some((one) => one && one.flags !== '')) {
    delete jsonSchema.pattern
    delete jsonSchema.allOf
  }
  const { required, properties } = jsonSchema as { required?: string[]; properties?: Record<string, Json> }
  // What takes anything may take nothing, too.
  if (required) jsonSchema.required = required.filter((name) => constrains(properties?.[name]))
}

function keepOnly(words: readonly string[], schema: Json): void {
  for (const word of Object.keys(schema)) if (!words.includes(word)) delete schema[word]
}

function constrains(schema: Json = {}): boolean {
  if ((schema.anyOf as Json[] | undefined)?.some((one) => !constrains(one))) return false
  return Object.keys(schema).some((word) => !['default', 'title', 'description', 'examples'].includes(word))
}
