/**
 * The part of JSON Schema that is used here. One object says what a request may hold: it is what the validator checks, what
 * /openapi.json shows and, through `Of`, what the handlers and the client are typed by.
 */
export interface Schema {
  readonly type?: TypeName | readonly TypeName[]
  readonly enum?: readonly (string | boolean)[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  /** False: a field that is not named is refused. A schema: fields of any name are like that. */
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: 'date-time' | 'uuid'
  readonly default?: unknown
  /** Of an answer that is no JSON. */
  readonly contentMediaType?: string
  /** What it is; in a refusal it follows "it must be". */
  readonly description?: string
}

type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

/** The TypeScript type of what a schema lets through. */
export type Of<S> = S extends { enum: readonly (infer One)[] }
  ? One
  : S extends { anyOf: readonly (infer One)[] }
    ? Of<One>
    : S extends { type: readonly (infer Name)[] }
      ? Name extends TypeName
        ? OfType<Name, S>
        : never
      : S extends { type: infer Name extends TypeName }
        ? OfType<Name, S>
        : unknown

type OfType<Name extends TypeName, S> = Name extends 'string'
  ? string
  : Name extends 'integer' | 'number'
    ? number
    : Name extends 'boolean'
      ? boolean
      : Name extends 'null'
        ? null
        : Name extends 'array'
          ? S extends { items: infer Item }
            ? Of<Item>[]
            : unknown[]
          : OfObject<S>

type OfObject<S> = S extends { properties: infer Fields; required: readonly (infer Needed)[] }
  ? { [Name in keyof Fields as Name extends Needed ? Name : never]: Of<Fields[Name]> } & {
      [Name in keyof Fields as Name extends Needed ? never : Name]?: Of<Fields[Name]>
    }
  : S extends { additionalProperties: infer Each }
    ? Record<string, Of<Each>>
    : Record<string, unknown>

/** An object that has these fields and no others; those named in `required` are always there. */
export function object<
  const Fields extends { readonly [name: string]: Schema },
  const Needed extends readonly (keyof Fields & string)[] = [],
>(properties: Fields, required: Needed = [] as unknown as Needed, description = '') {
  return { type: 'object', properties, required, additionalProperties: false, ...(description && { description }) } as {
    readonly type: 'object'
    readonly properties: Fields
    readonly required: Needed
    readonly additionalProperties: false
    readonly description?: string
  }
}

/** An answer: every field is always there. */
export function answer<const Fields extends { readonly [name: string]: Schema }>(properties: Fields) {
  return object(properties, Object.keys(properties) as (keyof Fields & string)[])
}

export function list<const Item extends Schema>(items: Item) {
  return { type: 'array', items } as const
}
