import { describe, expect, test } from 'vitest'
import { isPartOf } from './is-part-of.js'

describe('a part of a payload', () => {
  test.each([
    [{}, { a: 1 }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2, d: 3 }], e: 4 } }],
    ['text', 'text'],
    [null, null],
    [[], []],
    [{ gone: undefined }, { a: 1 }],
    [JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1, "a": 2}')],
  ])('%j is part of %j', (part, whole) => {
    expect(isPartOf(part, whole)).toBe(true)
  })

  test.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, null],
    [{ a: { b: 1 } }, { a: 1 }],
    [[1], [1, 2]],
    [[1, 2], [1]],
    [[], {}],
    [{}, []],
    ['1', 1],
    [null, {}],
    [{ a: undefined }, { a: 1 }],
    [{ toString: 'x' }, {}],
    [0, false],
  ])('%j is not part of %j', (part, whole) => {
    expect(isPartOf(part, whole)).toBe(false)
  })
})
