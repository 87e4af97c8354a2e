import Ajv2020 from 'ajv/dist/2020.js'
import { type } from 'arktype'
import fc from 'fast-check'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf } from '../../src/job/json-schema.js'

let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})

/** What the database says is wrong with each value. */
async function problems(schema: object, values: readonly unknown[]): Promise<({ path: unknown[]; problem: string } | null)[]> {
  const { rows } = await sql.query(
    `select holdfast.schema_problem($1::jsonb, v.one) as found from jsonb_array_elements($2::jsonb) with ordinality as v (one, nth) order by nth`,
    [JSON.stringify(schema), JSON.stringify(values)],
  )
  return rows.map(({ found }) => found)
}

const tree = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { a: { type: 'integer' }, list: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['a'],
    },
  },
}

/** The names and texts are few, so that many of the values that are made come close to what a schema asks for. */
const schemas: Record<string, object> = {
  'a type': { type: 'integer' },
  'one of several types': { type: ['string', 'null', 'array'] },
  'required and known fields': {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  },
  'a schema for all other fields': { properties: { a: true, b: false }, additionalProperties: { type: 'string' } },
  'an enum': { enum: ['a', 1, null, { a: 1 }, [1]] },
  'a constant': { properties: { a: { const: { a: 1 } }, b: { const: 'ab' } } },
  bounds: { minimum: -1, maximum: 3.5, properties: { a: { exclusiveMinimum: 0, exclusiveMaximum: 3 } } },
  lengths: { minLength: 1, maxLength: 2, minItems: 1, maxItems: 2, items: { minLength: 2 } },
  'a pattern': { type: 'string', pattern: '^[a-b]{1,2}(?!1)\\d?$' },
  'items in places': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'null' } },
  'any of': {
    anyOf: [
      { type: 'string', minLength: 2 },
      { type: 'object', required: ['a'] },
      { minimum: 2, type: 'number' },
    ],
  },
  'one of': { oneOf: [{ minimum: 1 }, { type: 'integer' }, { required: ['a', 'b'] }] },
  'all of': { allOf: [{ type: 'object' }, { required: ['a'] }, { properties: { a: { type: ['integer', 'string'] } } }] },
  not: { not: { anyOf: [{ type: 'number' }, { properties: { a: { type: 'integer' } }, type: 'object' }] } },
  'a reference to itself': tree,
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, 1, 2, 3, 3.5, -1, 1.5, 10),
    fc.constantFrom('', 'a', 'b', 'ab', 'a1', 'b2', 'ab1', 'abc', 'ä😀'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'list', 'x y'), tie('value'), { maxKeys: 3 }),
  ),
}))

describe('the verdict of the database is that of ajv', () => {
  test.each(Object.entries(schemas))('for %s', async (_name, schema) => {
    const fits = new Ajv2020.default({ strict: false }).compile(schema)
    const made = fc.sample(value, { numRuns: 1_500, seed: 7 })
    const values = [
      ...made,
      { a: 1 },
      { a: 1, list: [{ a: 2, list: [{ a: 'x' }] }] },
      { a: 1, b: 'ab' },
      'ab',
      'a2',
      ['a', 1, null],
    ]
    const found = await problems(schema, values)
    const differ = values.filter((one, index) => fits(one) !== (found[index] === null))
    expect(differ).toEqual([])
    // Both verdicts were given.
    expect(found.filter((one) => one === null).length).toBeGreaterThan(0)
    expect(found.filter((one) => one !== null).length).toBeGreaterThan(0)
  })
})

test('a problem names where it is and what would be right', async () => {
  const schema = { properties: { items: { items: { properties: { sku: { type: 'string' } }, required: ['count'] } } } }
  expect(await problems(schema, [{ items: [{ count: 1 }, { count: 1, sku: 7 }] }, { items: [{}] }])).toEqual([
    { path: ['items', 1, 'sku'], problem: 'must be string, and is number' },
    { path: ['items', 0, 'count'], problem: 'is missing' },
  ])
})

describe('what is not known here is left to the worker', () => {
  test.each<[string, object, unknown]>([
    ['a keyword', { format: 'email', multipleOf: 2, uniqueItems: true }, 'nowhere'],
    ['a keyword under not', { not: { type: 'string', format: 'email' } }, 'nowhere'],
    ['a keyword in one of the alternatives', { oneOf: [{ format: 'email' }, { type: 'string' }] }, 'nowhere'],
    ['a pattern that PostgreSQL reads in another way', { pattern: '^\\bx\\s$' }, 'y'],
    ['a pattern with a dot for a text of several lines', { pattern: '^(?!.*b)a' }, 'a\nb'],
    ['a pattern that is none', { pattern: '(a' }, 'y'],
    ['a repetition beyond what PostgreSQL counts', { pattern: '^a{1,1000}$' }, 'y'],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }, 'y'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'y'],
    ['keywords of another form than they have', { type: 7, required: 'a', enum: {}, minLength: '3', anyOf: {}, pattern: 3 }, 'y'],
  ])('%s', async (_name, schema, given) => {
    expect(await problems(schema, [given])).toEqual([null])
  })

  test('alternatives within alternatives and references without end take no time', async () => {
    const nested = {
      $ref: '#/$defs/a',
      $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }, { type: 'null' }] } },
    }
    await sql.query(`set statement_timeout = '20s'`)
    expect(await problems(nested, ['y'])).toEqual([null])
    expect(await problems({ $ref: '#' }, ['y'])).toEqual([null])
  })
})

describe('what a library makes of a schema takes all that the schema takes', () => {
  test.each<[string, z.ZodType | { '~standard': unknown }, unknown[], unknown[]]>([
    ['a text that is trimmed first', z.object({ a: z.string().trim().max(2) }), [{ a: ' ab ' }], [{ a: 5 }, 'a']],
    ['a number made of a text', z.object({ a: z.coerce.number() }), [{ a: '5' }, { a: null }], ['a']],
    ['what is made of anything first', z.object({ a: z.preprocess(String, z.string()) }), [{ a: 5 }], ['a']],
    ['what has a value for all that is wrong', z.object({ a: z.string().catch('x') }), [{}, { a: 5 }], ['a']],
    ['a pattern with a flag', z.object({ a: z.string().regex(/^a$/i) }), [{ a: 'A' }], [{ a: 5 }]],
    ['a default', z.object({ a: z.int().default(1) }), [{}, { a: 2 }], [{ a: 'x' }, { a: 1.5 }]],
    [
      'characters that JavaScript counts as two',
      z.object({ a: z.string().min(2).max(2) }),
      [{ a: '😀' }],
      [{ a: 'a' }, { a: 'abc' }],
    ],
    [
      'what may be left out',
      z.object({ a: z.string().optional(), b: z.any(), c: z.coerce.string().nullable() }),
      [{}],
      [{ a: 5 }],
    ],
    ['an address', z.object({ a: z.email() }), [{ a: 'ada@example.com' }], [{ a: 'nowhere' }, {}]],
    ['what JSON Schema cannot say', z.object({ a: z.custom(), b: z.string() }), [{ b: '' }, { a: 1, b: '' }], [{ a: 1 }]],
    ['fields that are not known', z.strictObject({ a: z.string() }), [{ a: '' }], [{ a: '', b: 1 }]],
    [
      'kinds',
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), n: z.int() })]),
      [{ k: 'a' }, { k: 'b', n: 1 }],
      [{ k: 'b' }, { k: 'c' }],
    ],
    [
      'an address in arktype',
      type({ a: 'string.email', 'n?': 'number.integer' }),
      [{ a: 'ada@example.com' }],
      [{ a: 'nowhere' }, { a: 'a@b.cd', n: 1.5 }],
    ],
  ])('%s', async (_name, schema, takes, refuses) => {
    const json = JSON.parse(jsonSchemaOf(schema as never) as string)
    expect(await problems(json, takes)).toEqual(takes.map(() => null))
    expect((await problems(json, refuses)).map((found) => found !== null)).toEqual(refuses.map(() => true))
  })

  test('and is not stored where the library says less than it checks, or nothing', () => {
    expect(jsonSchemaOf(type({ a: /^a$/i }))).toBeUndefined()
    expect(jsonSchemaOf({ '~standard': { version: 1, vendor: 'ours', validate: (value) => ({ value }) } })).toBeUndefined()
    expect(jsonSchemaOf(undefined)).toBeUndefined()
  })
})
