import { defineType } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptied } from '../support/emptied.js'

const seen: unknown[] = []
const edge = defineType({
  type: 'edge',
  run(payload) {
    seen.push(payload)
  },
})

let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await queue.holdfast.registerTypes([edge])
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})
beforeEach(async () => {
  seen.length = 0
  await emptied(sql, 'bodies', 'queue', 'history')
})

async function storedText(id: string): Promise<string> {
  return (await sql.query('select payload::text as text from holdfast.jobs where id = $1', [id])).rows[0].text
}

async function enqueueBySql(json: string): Promise<string> {
  return (await sql.query('select id from holdfast.enqueue($1, $2::jsonb)', ['edge', json])).rows[0].id
}

async function nothingIsStored(): Promise<boolean> {
  const { rows } = await sql.query('select (select count(*) from holdfast.bodies) + (select count(*) from holdfast.queue) as n')
  return rows[0].n === '0'
}

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
/** Text whose JSON has exactly that many bytes, most of them in characters of two, three and four bytes. */
function jsonOfBytes(bytes: number): string {
  const many = 'ß漢🦀'.repeat(Math.floor((bytes - 20) / 9))
  return many + 'x'.repeat(bytes - 2 - Buffer.byteLength(many))
}

const kept: [string, unknown][] = [
  ['null', null],
  ['false', false],
  ['zero', 0],
  ['an empty text', ''],
  ['an empty object', {}],
  ['an empty array', []],
  ['control characters', '\u0001\b\t\n\f\r\u001f\u007f\u2028\u2029'],
  ['quotes, backslashes and array literals', ['"', '\\', "'", '{a,b}', 'NULL', '\\u0000', '$1', '{"a":"\\""}']],
  ['text beyond the basic plane, combined and right to left', '🦀𝒳 e\u0301 \u200f עברית \ufeff \ufffd'],
  ['the largest exact integer', [2 ** 53 - 1, -(2 ** 53 - 1)]],
  // In JavaScript there is no 2^53 + 1: what the producer has is 2^53, and that arrives.
  ['2^53 + 1 as JavaScript has it', Number('9007199254740993')],
  ['numbers at the limits', [Number.MAX_VALUE, Number.MIN_VALUE, 1e21, 1e-7, 0.1 + 0.2, 1e300]],
  ['__proto__ as a key', JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}')],
  ['keys that look like numbers, and an empty one', { '': 1, 2: 'b', 1: 'a', '-0': 0, toString: 'x', hasOwnProperty: 1 }],
  ['100 levels of arrays', nested(100)],
  ['a property that is undefined, as JSON.stringify leaves it out', { a: 1, b: undefined }],
  ['64 KB less one byte', jsonOfBytes(65_535)],
  ['64 KB exactly', jsonOfBytes(65_536)],
]

describe('a payload that JSON can hold', () => {
  test.each(kept)('is stored exactly and reaches the handler as it was: %s', async (_what, payload) => {
    const { id } = await queue.holdfast.enqueue(edge, payload)
    expect(await storedText(id)).toBe(JSON.stringify(payload))
    expect((await queue.drain([edge])).completed).toHaveLength(1)
    expect(seen[0]).toEqual(payload)
    expect(JSON.stringify(seen[0])).toBe(JSON.stringify(payload))
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  test('goes through with others as exactly as alone', async () => {
    const answers = await queue.holdfast.enqueueMany(kept.map(([, payload]) => edge.job(payload)))
    for (const [place, { id }] of answers.entries()) expect(await storedText(id)).toBe(JSON.stringify(kept[place]?.[1]))
    expect((await queue.drain([edge])).completed).toHaveLength(kept.length)
  })

  test('is the same to the SQL function: stored, run, and equal', async () => {
    // Of numbers, jsonb writes the digits and JavaScript an exponent; the value is the same.
    for (const [, payload] of kept) await enqueueBySql(JSON.stringify(payload))
    const { completed } = await queue.drain([edge], { concurrency: 1 })
    expect(completed).toHaveLength(kept.length)
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
    for (const [what, payload] of kept) expect(seen, what).toContainEqual(plain(payload))
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

const circular: Record<string, unknown> = { a: [] }
;(circular.a as unknown[]).push({ back: circular })

describe('a payload that JSON cannot hold', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['NUL', { text: 'a\0b' }, 'invalid_payload', /^payload\.text has the character NUL \(\\u0000\)/],
    ['NUL in a key', { 'a\0': 1 }, 'invalid_payload', /NUL/],
    ['a lone high surrogate', ['\ud83e'], 'invalid_payload', /^payload\[0] has half of a surrogate pair/],
    ['a lone low surrogate', '\udd80x', 'invalid_payload', /half of a surrogate pair/],
    ['NaN', { n: Number.NaN }, 'invalid_payload', /^payload\.n is NaN/],
    ['1e400, which is infinite in JavaScript', { n: Number('1e400') }, 'invalid_payload', /^payload\.n is Infinity/],
    ['-0', { n: -0 }, 'invalid_payload', /^payload\.n is -0/],
    ['a BigInt', { n: 2n ** 53n + 1n }, 'invalid_payload', /^payload\.n is a BigInt, .*use String\(value\)/],
    ['a circle', circular, 'invalid_payload', /^payload\.a\[0]\.back is circular: it is payload again/],
    ['undefined', undefined, 'invalid_payload', /^payload is undefined/],
    ['a function', { f() {} }, 'invalid_payload', /^payload\.f is a function/],
    ['101 levels', nested(101), 'invalid_payload', /nested more than 100 levels deep/],
    ['64 KB and one byte', jsonOfBytes(65_537), 'payload_too_large', /^payload is 65537 bytes; at most 65536/],
    ['a megabyte', 'x'.repeat(1_000_000), 'payload_too_large', /at most 65536/],
  ])('is refused with the place and the reason, alone and with others: %s', async (_what, payload, code, message) => {
    const refusal = { code, message: expect.stringMatching(message) }
    await expect(queue.holdfast.enqueue(edge, payload)).rejects.toMatchObject(refusal)
    await expect(queue.holdfast.enqueueMany([edge.job(1), edge.job(payload)])).rejects.toMatchObject(refusal)
    expect(await nothingIsStored()).toBe(true)
  })

  test.each([
    ['NUL', '"a\\u0000b"', '22P05', /unsupported Unicode escape/],
    ['a lone high surrogate', '"\\ud83e"', '22P02', /invalid input syntax for type json/],
    ['a lone low surrogate', '"\\udd80"', '22P02', /invalid input syntax for type json/],
    ['NaN', 'NaN', '22P02', /invalid input syntax/],
    ['2^53 + 1, which JavaScript would round', '{"a": [{"id": 9007199254740993}]}', 'HF004', /has the number 9007199254740993/],
    ['-2^53 - 1', '[-9007199254740993]', 'HF004', /-9007199254740993/],
    ['1e400', '{"n": 1e400}', 'HF004', /has the number 1000000/],
    ['64 KB and one byte', JSON.stringify(jsonOfBytes(65_537)), 'HF003', /has 65537 bytes; at most 65536/],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), '54001', /stack depth/],
  ])('is refused by the SQL function: %s', async (_what, json, code, message) => {
    await expect(enqueueBySql(json)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await nothingIsStored()).toBe(true)
  })

  test('through the SQL function -0 becomes the 0 it is to PostgreSQL, and large exact numbers pass', async () => {
    expect(await storedText(await enqueueBySql('[-0, 9007199254740992, 9007199254740994, 1e300]'))).toMatch(
      /^\[0, 9007199254740992, 900/,
    )
    await queue.drain([edge])
    expect(seen).toEqual([[0, 9_007_199_254_740_992, 9_007_199_254_740_994, 1e300]])
  })

  test('through the SQL function may nest deeper than the SDK allows, and still runs', async () => {
    await enqueueBySql('['.repeat(1_000) + ']'.repeat(1_000))
    expect((await queue.drain([edge])).completed).toHaveLength(1)
    expect(JSON.stringify(seen[0])).toBe('['.repeat(1_000) + ']'.repeat(1_000))
  })
})

describe('a body that somebody else put into the table', () => {
  test.each([
    ['NUL', '"a\\u0000b"', 'a\0b'],
    ['a lone surrogate', '"\\ud83e"', '\ud83e'],
    ['a number JavaScript cannot hold', '1e400', Number.POSITIVE_INFINITY],
    ['white space and doubled keys', ' { "a" : 1 , "a" : 2 } ', { a: 2 }],
  ])('reaches the handler and never sticks: %s', async (_what, json, value) => {
    const { id } = await queue.holdfast.enqueue(edge, 'to be replaced')
    await sql.query('update holdfast.bodies set payload = $2::json where id = $1', [id, json])
    expect((await queue.drain([edge])).completed).toHaveLength(1)
    expect(seen).toEqual([value])
  })
})
