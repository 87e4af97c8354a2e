import { deepStrictEqual } from 'node:assert'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.js'
import { decodePayload, encodePayload, maxPayloadBytes } from './payload.js'

function refusal(value: unknown): HoldfastError {
  try {
    encodePayload(value)
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError)
    return error as HoldfastError
  }
  throw new Error('it was accepted')
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const texts = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.string(),
    fc.constantFrom('__proto__', 'constructor', 'toString', '"\\', '\u2028', '\ud83d\ude00'),
  )
  .map((text) => text.replaceAll('\0', '0'))
const numbers = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0)
const { value: storable } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    numbers,
    fc.integer(),
    texts,
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 8 }),
  object: fc.array(fc.tuple(texts, tie('value')), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
}))

describe('a payload that is accepted', () => {
  it('comes back exactly as it was given', () => {
    fc.assert(
      fc.property(storable, (value) => {
        // Not toStrictEqual, which takes a key named constructor for the class of the object.
        deepStrictEqual(decodePayload(encodePayload(value)), value)
      }),
      { numRuns: 1000 },
    )
  })

  it('is stored as the text JSON.stringify would write', () => {
    fc.assert(
      fc.property(storable, (value) => {
        expect(encodePayload(value)).toBe(JSON.stringify(value))
      }),
      { numRuns: 1000 },
    )
  })

  it('is accepted only when it comes back equal, whatever is tried', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
      withObjectString: true,
      withBoxedValues: true,
    })
    fc.assert(
      fc.property(anything, (value) => {
        let text: string
        try {
          text = encodePayload(value)
        } catch (error) {
          expect(error).toBeInstanceOf(HoldfastError)
          expect((error as HoldfastError).field).toMatch(/^payload/)
          return
        }
        expect(decodePayload(text)).toEqual(value)
      }),
      { numRuns: 2000 },
    )
  })

  it('may be any JSON value', () => {
    for (const value of [null, true, false, 0, -1.5, 1e21, 5e-324, Number.MAX_VALUE, '', 'x', [], {}]) {
      expect(encodePayload(value)).toBe(JSON.stringify(value))
    }
  })

  it('leaves out properties that are undefined, not enumerable or keyed by a symbol, as JSON does', () => {
    const value = Object.defineProperty({ a: undefined, b: 1, [Symbol('s')]: 2, c: undefined, d: 2 }, 'hidden', { value: 3 })
    expect(encodePayload(value)).toBe('{"b":1,"d":2}')
  })

  it('keeps a key named __proto__ and pollutes nothing', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const stored = encodePayload(decodePayload(text))
    expect(stored).toBe(text)
    expect(Object.keys(decodePayload(stored) as object)).toEqual(['__proto__', 'constructor'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('may come from another realm, as under Jest', () => {
    expect(encodePayload(runInNewContext('({ a: [1, { b: 2 }] })'))).toBe('{"a":[1,{"b":2}]}')
  })

  it('may have no prototype, be frozen, and refer to one thing twice', () => {
    const shared = Object.freeze(Object.assign(Object.create(null), { a: 1 }))
    expect(encodePayload({ x: shared, y: [shared, shared] })).toBe('{"x":{"a":1},"y":[{"a":1},{"a":1}]}')
  })

  it('may be 100 levels deep', () => {
    expect(decodePayload(encodePayload(nested(100)))).toEqual(nested(100))
  })
})

describe('a payload that cannot be stored exactly', () => {
  class Money {
    cents = 5
  }
  class Stack extends Array {}
  const circular: Record<string, unknown> = { a: { b: [1] } }
  ;((circular.a as { b: unknown[] }).b as unknown[]).push(circular.a)
  const loop: unknown[] = []
  loop.push(loop)
  const thrower = {
    get secret(): string {
      throw new Error('not logged in')
    },
  }
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const trap = () => {
    throw new Error('trapped')
  }

  it.each<[string, unknown, string, string]>([
    ['undefined', undefined, 'payload', 'undefined'],
    ['undefined in an array', { items: [1, undefined] }, 'payload.items[1]', 'use null'],
    ['a hole', { items: Object.assign(Array(3), { 0: 1, 2: 2 }) }, 'payload.items[1]', 'sparse'],
    ['an array with named properties', 'abc'.match(/b/), 'payload', 'named properties'],
    ['a function', { f: () => 1 }, 'payload.f', 'function'],
    ['a symbol', { s: Symbol('x') }, 'payload.s', 'symbol'],
    ['a BigInt', { items: [0, 1, 2, { price: 1n }] }, 'payload.items[3].price', 'String(value)'],
    ['NaN', { n: Number.NaN }, 'payload.n', 'NaN'],
    ['Infinity', [Number.POSITIVE_INFINITY], 'payload[0]', 'Infinity'],
    ['-Infinity', [Number.NEGATIVE_INFINITY], 'payload[0]', '-Infinity'],
    ['-0', { n: -0 }, 'payload.n', '-0'],
    ['a Date', { at: new Date() }, 'payload.at', 'is a Date, not plain data; use date.toISOString()'],
    ['a Map', new Map(), 'payload', 'Object.fromEntries(map)'],
    ['a Set', new Set(), 'payload', '[...set]'],
    ['a Buffer', Buffer.from('x'), 'payload', "buffer.toString('base64')"],
    ['a typed array', new Float64Array(1), 'payload', 'Float64Array'],
    ['an error', { e: new TypeError('x') }, 'payload.e', 'is a TypeError, not plain data; use { name, message }'],
    ['a URL', new URL('http://x/'), 'payload', 'url.href'],
    ['a promise', Promise.resolve(1), 'payload', 'await promise'],
    ['a boxed number', Object(1), 'payload', 'value.valueOf()'],
    ['an instance of a class', { m: new Money() }, 'payload.m', 'an instance of Money'],
    ['an instance of no name', Object.create({ a: 1 }), 'payload', 'an object with a prototype of its own'],
    ['a subclass of Array', Stack.from([1]), 'payload', 'Stack'],
    ['an object with toJSON', { x: { toJSON: () => 1 } }, 'payload.x', 'toJSON'],
    ['a hidden toJSON', Object.defineProperty({}, 'toJSON', { value: () => 1 }), 'payload', 'toJSON'],
    ['a circular object', circular, 'payload.a.b[1]', 'it is payload.a again'],
    ['a circular array', loop, 'payload[0]', 'it is payload again'],
    ['a getter that throws', { user: thrower }, 'payload.user.secret', 'could not be read: not logged in'],
    ['a Proxy that throws on its keys', { p: new Proxy({}, { ownKeys: trap }) }, 'payload.p', 'trapped'],
    ['a Proxy that throws on its prototype', new Proxy({}, { getPrototypeOf: trap }), 'payload', 'trapped'],
    ['a revoked Proxy', [revoked], 'payload[0]', 'could not be read'],
    ['NUL in a text', { t: 'a\0b' }, 'payload.t', 'NUL'],
    ['NUL in a long text', { t: `${'x'.repeat(1000)}\0` }, 'payload.t', 'NUL'],
    ['NUL in a key', { 'a\0': 1 }, 'payload["a\\u0000"]', 'NUL'],
    ['half of a pair', { t: 'a\ud800' }, 'payload.t', 'surrogate'],
    ['half of a pair in a key', { '\udc00': 1 }, 'payload["\\udc00"]', 'surrogate'],
    ['101 levels', nested(101), `payload${'[0].a'.repeat(50)}`, 'more than 100 levels'],
  ])('is refused for %s, naming the path', (_what, value, field, sentence) => {
    const error = refusal(value)
    expect(error.code).toBe('invalid_payload')
    expect(error.message).toContain(sentence)
    expect(error.field).toBe(field)
  })

  it('is refused, not stored unchecked, when a getter answers something else the second time', () => {
    let asked = 0
    const liar = {
      get n(): unknown {
        return asked++ === 0 ? 1 : Number.NaN
      },
    }
    expect(encodePayload(liar)).toBe('{"n":1}')
    expect(asked).toBe(1)
  })

  it('is read only once through a Proxy, too', () => {
    let asked = 0
    const liar = new Proxy({ n: 1 }, { get: (_target, key) => (key === 'n' ? (asked++ === 0 ? 1 : '\0') : undefined) })
    expect(encodePayload([liar])).toBe('[{"n":1}]')
    expect(asked).toBe(1)
  })

  it('keeps apart an error of its own and one thrown by a getter that encodes another payload', () => {
    const error = refusal({
      get inner(): string {
        return encodePayload({ x: 1n })
      },
    })
    expect(error.field).toBe('payload.inner')
    expect((error.cause as HoldfastError).field).toBe('payload.x')
  })
})

describe('the size of a payload', () => {
  it('may be 64 KB to the byte, in UTF-8', () => {
    const fits = 'é'.repeat((maxPayloadBytes - 2) / 2)
    expect(Buffer.byteLength(encodePayload(fits))).toBe(maxPayloadBytes)
    expect(Buffer.byteLength(encodePayload('x'.repeat(maxPayloadBytes - 3)))).toBe(maxPayloadBytes - 1)
  })

  it('is told when it is too much', () => {
    const error = refusal({ text: 'x'.repeat(100_000) })
    expect(error.code).toBe('payload_too_large')
    expect(error.field).toBe('payload')
    expect(error.message).toContain('100011 bytes')
    expect(refusal('x'.repeat(maxPayloadBytes - 1)).message).toContain('65537 bytes')
    expect(refusal(`${'é'.repeat(32_768)}`).code).toBe('payload_too_large')
  })

  it('is not counted to the end when there is no end', () => {
    let laughs: object = {}
    for (let level = 0; level < 60; level++) laughs = { a: laughs, b: laughs }
    expect(refusal(laughs).code).toBe('payload_too_large')
    const endless = (): object =>
      new Proxy([], { get: (_target, key) => (key === 'length' ? 1e9 : key === 'toJSON' ? undefined : 1) })
    expect(refusal(endless()).code).toBe('payload_too_large')
    expect(refusal(Array(100_000).fill('x'.repeat(1_000_000))).code).toBe('payload_too_large')
    expect(refusal(Array(20_000_000).fill(1)).code).toBe('payload_too_large')
    expect(refusal('x'.repeat(500_000_000)).code).toBe('payload_too_large')
  })
})
