import { randomBytes } from 'node:crypto'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import fc from 'fast-check'
import type { Knex } from 'knex'
import type { Kysely } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastError } from '../../src/errors.js'
import { asQueryable, asText, type CallerTransaction } from '../../src/store/transaction.js'
import { clients, type OpenClient } from '../support/clients.js'

const database = `holdfast_transaction_${randomBytes(4).toString('hex')}`
let url: string
let observer: pg.Client

beforeAll(async () => {
  const adminUrl = process.env.HOLDFAST_TEST_URL
  if (!adminUrl) throw new Error('HOLDFAST_TEST_URL must give an admin connection to a PostgreSQL for tests')
  await asAdmin(`create database ${database}`)
  const own = new URL(adminUrl)
  own.pathname = `/${database}`
  url = own.href
  observer = new pg.Client({ connectionString: url })
  await observer.connect()
  await observer.query(`
    create table note (
      id text primary key, body json, loud boolean, size bigint, due timestamptz,
      words text[], ranks smallint[], bodies json[], flags boolean[], sizes bigint[])`)
})

afterAll(async () => {
  await observer?.end()
  await asAdmin(`drop database if exists ${database}`)
})

async function asAdmin(statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: process.env.HOLDFAST_TEST_URL })
  await admin.connect()
  await admin.query(statement).finally(() => admin.end())
}

/** Says what it writes in its comment, as our SQL files do: $1 is the id; is anything wrong with that? */
const writeNote = `
  -- $1 id, $2 body? and so on
  insert into note (id, body, loud, size, due, words, ranks, bodies, flags, sizes)
  values ($1::text, $2::text::json, $3::text::boolean, $4::text::bigint, $5::text::timestamptz,
          $6::text[], $7::smallint[], $8::json[], $9::boolean[], $10::bigint[])
  returning id, loud, size::text as size, body::text as body`

const nasty = [
  'plain',
  '',
  ' ',
  'NULL',
  'null',
  null,
  '"',
  "'",
  '\\',
  '\\\\"',
  '{',
  '}',
  '{a,b}',
  ',',
  ';',
  '\n\t\r',
  'größe 漢字 🦀 e\u0301 \u200f',
  '{"a":"b \\" c","d":[1,null]}',
  '$1',
  '?',
  '??',
  ':name',
  '2020-01-01T00:00:00.123456Z',
  'aGVsbG8=',
  'true',
  '12345678901234567890',
]

const bodies = ['{"a":"b \\" c"}', '"text"', 'null', '[]', '{"  spaced" :  1}', '12345678901234567890', null]

const note = (id: string) => [
  id,
  '{"a": "say \\"hi\\"", "big": 12345678901234567890}',
  true,
  '9007199254740993',
  '2020-01-02 03:04:05.678901+00',
  nasty,
  [1, -2, null, 32767],
  bodies,
  [true, false, null],
  ['9223372036854775807', 9007199254740993n, 5, null],
]

/** What stands in the table, read on another connection and as text, so that no client's parsing is part of the answer. */
async function stored(id: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await observer.query(
    `select body::text, loud::text, size::text, (due at time zone 'utc')::text as due, to_json(words) as words, ranks::text,
            to_json(bodies::text[]) as bodies, flags::text, sizes::text
     from note where id = $1`,
    [id],
  )
  return rows[0]
}

describe.each(clients)('a statement in a transaction of $name', ({ open }) => {
  let client: OpenClient

  beforeAll(async () => {
    client = await open(url)
  })
  afterAll(() => client?.close())

  const id = () => randomBytes(6).toString('hex')

  test('leaves nothing when it rolls back', async () => {
    const mine = id()
    const rows = await client.transact((tx) => asQueryable(tx).query(writeNote, note(mine)), 'rollback')
    expect(rows).toHaveLength(1)
    expect(await stored(mine)).toBeUndefined()
  })

  test('is seen by nobody before it commits, and by everybody after', async () => {
    const mine = id()
    await client.transact(async (tx) => {
      await asQueryable(tx).query(writeNote, note(mine))
      expect(await stored(mine)).toBeUndefined()
    }, 'commit')
    expect(await stored(mine)).toBeDefined()
  })

  test('stores every value exactly and gives plain rows back', async () => {
    const mine = id()
    const rows = await client.transact((tx) => asQueryable(tx).query(writeNote, note(mine)), 'commit')
    expect(rows).toStrictEqual([
      { id: mine, loud: true, size: '9007199254740993', body: '{"a": "say \\"hi\\"", "big": 12345678901234567890}' },
    ])
    expect(await stored(mine)).toEqual({
      body: '{"a": "say \\"hi\\"", "big": 12345678901234567890}',
      loud: 'true',
      size: '9007199254740993',
      due: '2020-01-02 03:04:05.678901',
      words: nasty,
      ranks: '{1,-2,NULL,32767}',
      bodies,
      flags: '{t,f,NULL}',
      sizes: '{9223372036854775807,9007199254740993,5,NULL}',
    })
  })

  test('stores false, null and empty lists as such', async () => {
    const mine = id()
    await client.transact((tx) => asQueryable(tx).query(writeNote, [mine, null, false, 0, null, [], [], [], [], null]), 'commit')
    expect(await stored(mine)).toEqual({
      body: null,
      loud: 'false',
      size: '0',
      due: null,
      words: [],
      ranks: '{}',
      bodies: [],
      flags: '{}',
      sizes: null,
    })
  })

  test('may repeat its placeholders, mix their order, and hold question marks', async () => {
    const text = `select $2::text || $1::text || $2::text as joined, '$1 ? ??' as quoted, '{"a":1}'::jsonb ? 'a' as has`
    const rows = await client.transact((tx) => asQueryable(tx).query(text, ['one', 'two']), 'commit')
    expect(rows).toStrictEqual([{ joined: 'twoonetwo', quoted: '$1 ? ??', has: true }])
  })

  test('may have no values and no rows', async () => {
    const run = (text: string) => client.transact((tx) => asQueryable(tx).query(text, []), 'commit')
    expect(await run('select 1 as one where false')).toStrictEqual([])
    expect(await run(`update note set loud = false where id = 'nobody'`)).toStrictEqual([])
    expect(await run('select true as yes')).toStrictEqual([{ yes: true }])
  })

  test('takes the whole transaction with it when it fails', async () => {
    const mine = id()
    const work = async (tx: CallerTransaction) => {
      await asQueryable(tx).query(writeNote, note(mine))
      await asQueryable(tx).query(writeNote, note(mine))
    }
    await expect(client.transact(work, 'commit')).rejects.toThrow()
    expect(await stored(mine)).toBeUndefined()
  })

  test('carries any list of texts there and back', async () => {
    // Without U+0000, which text in PostgreSQL cannot hold.
    const texts = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))
    const text = 'select to_json($1::text[])::text as words, $2::text as word'
    await client.transact(async (tx) => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.option(texts)), texts, async (words, word) => {
          const [row] = await asQueryable(tx).query<{ words: string; word: string }>(text, [words, word])
          expect(JSON.parse(row?.words ?? '')).toStrictEqual(words)
          expect(row?.word).toBe(word)
        }),
      )
    }, 'commit')
  })

  test('is refused on what the transaction was opened from', () => {
    expect(() => asQueryable(client.root as CallerTransaction)).toThrow(
      expect.objectContaining({ code: 'unknown_transaction', message: expect.stringContaining('is not a transaction: ') }),
    )
  })
})

describe('what is no transaction', () => {
  test.each([
    [null, 'null'],
    [undefined, 'undefined'],
    ['begin', 'a string'],
    [new Date(0), 'a Date'],
    [{ id: 1, commit() {} }, 'an object with the keys id, commit'],
    [{}, 'an object with the keys (none)'],
  ])('is refused by name: %s', (tx, name) => {
    const attempt = () => asQueryable(tx as unknown as CallerTransaction)
    expect(attempt).toThrow(HoldfastError)
    expect(attempt).toThrow(`tx is ${name}; it must be one of a pg client, a postgres.js transaction, `)
  })

  test('is refused by the compiler where it has types', () => {
    // Never called: what is under test is that each line below does not compile without its directive.
    const attempts = [
      // @ts-expect-error A pool is not a transaction.
      (root: pg.Pool) => asQueryable(root),
      // @ts-expect-error
      (root: postgres.Sql) => asQueryable(root),
      // @ts-expect-error
      (root: NodePgDatabase) => asQueryable(root),
      // @ts-expect-error
      (root: PostgresJsDatabase) => asQueryable(root),
      // @ts-expect-error
      (root: Kysely<unknown>) => asQueryable(root),
      // @ts-expect-error
      (root: Knex) => asQueryable(root),
      // @ts-expect-error Nor is an object of no known kind.
      (root: { id: number }) => asQueryable(root),
    ]
    expect(attempts).toHaveLength(7)
  })

  test('is noticed late if it gives no rows back', async () => {
    const tx = { query: async () => ({ affected: 1 }) }
    await expect(asQueryable(tx).query('select 1', [])).rejects.toMatchObject({ code: 'unknown_transaction' })
  })
})

describe('an object with query(text, values)', () => {
  test.each([
    ['rows', (rows: unknown[]) => rows],
    ['a result with rows', (rows: unknown[]) => ({ rows, rowCount: rows.length })],
  ])('may answer with %s', async (_what, answer) => {
    const tx = { query: async (text: string, values: unknown[]) => answer([{ text, values }]) }
    expect(await asQueryable(tx).query('select $1', [[1, 'a']])).toStrictEqual([{ text: 'select $1', values: ['{1,"a"}'] }])
  })
})

describe('a connection reserved from postgres.js', () => {
  test('is taken, like a pg client, for the transaction the caller began on it', async () => {
    const sql = postgres(url)
    const reserved = await sql.reserve()
    await reserved.unsafe('begin')
    await asQueryable(reserved).query(writeNote, note('reserved'))
    await reserved.unsafe('rollback')
    expect(await stored('reserved')).toBeUndefined()
    reserved.release()
    await sql.end()
  })
})

describe('a value', () => {
  test.each([[undefined], [new Date(0)], [{ a: 1 }], [Symbol('s')]])('that has no one text is refused: %s', (value) => {
    expect(() => asText(['fine', value])).toThrow('$2 must be a string, number, bigint, boolean, null or a list of those')
  })
})
