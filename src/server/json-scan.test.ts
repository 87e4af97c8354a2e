import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deepest, mostNames, mostTokens, unfitIn } from './json-scan.js'

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('a text of JSON', () => {
  test('is nested 64 levels deep at most, in lists and objects alike', () => {
    expect(unfitIn(nested(deepest))).toBeUndefined()
    expect(unfitIn(nested(deepest + 1))).toEqual({ problem: 'deep', depth: 64 })
    expect(unfitIn('{"a":'.repeat(65))).toEqual({ problem: 'deep', depth: 64 })
    expect(unfitIn(`"${'['.repeat(1_000)}"`)).toBeUndefined()
    expect(unfitIn('[[]],'.repeat(1_000))).toBeUndefined()
    // A quote behind a backslash ends no text, and behind two of them it does.
    expect(unfitIn(String.raw`"\"${'['.repeat(1_000)}"`)).toBeUndefined()
    expect(unfitIn(String.raw`["\\",${'['.repeat(64)}`)).toEqual({ problem: 'deep', depth: 64 })
  })

  test.each([
    ['numbers', '1,'],
    ['texts', '"",'],
    ['lists', '[],'],
    ['words', 'null,'],
  ])('has 200,000 tokens at most: %s', (_what, one) => {
    expect(unfitIn(`[${one.repeat(mostTokens - 1)}`)).toBeUndefined()
    expect(unfitIn(`[${one.repeat(mostTokens)}`)).toEqual({ problem: 'many', tokens: 200_000 })
  })

  test('has 40,000 names at most, in one object or in many', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `"${n}":0`).join()
    expect(unfitIn(`{${names(mostNames)}}`)).toBeUndefined()
    expect(unfitIn(`{${names(mostNames + 1)}}`)).toEqual({ problem: 'names', names: 40_000 })
    expect(unfitIn(`[${`{${names(400)}},`.repeat(101)}`)).toEqual({ problem: 'names', names: 40_000 })
  })

  test('is looked at no further than where it is refused', () => {
    let read = 0
    const text = new Proxy(new String('['.repeat(8_000_000)), {
      get: (of, name) => {
        if (name !== 'charCodeAt') return Reflect.get(of, name)
        return (at: number) => {
          read = at
          return of.charCodeAt(at)
        }
      },
    })
    expect(unfitIn(text as unknown as string)).toMatchObject({ problem: 'deep' })
    expect(read).toBeLessThanOrEqual(deepest)
  })

  test.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"b":{"c":1 , "c" : 2}}', 'c'],
    [String.raw`{"a":1,"\u0061":2}`, 'a'],
    ['[{"a":1},{"__proto__":1,"__proto__":2}]', '__proto__'],
  ])('%s names one thing twice', (text, name) => expect(unfitIn(text)).toEqual({ problem: 'twice', name }))

  test('may have one name in several objects, and as a value', () => {
    expect(unfitIn('[{"a":"a"},{"a":{"a":["a","a"]}}]')).toBeUndefined()
    expect(unfitIn(String.raw`{"a\"":1,"a":2,"a\\":3}`)).toBeUndefined()
  })

  test.each(['12345678901234567890', '[1e999]', '{"n":-9007199254740993}'])('%s has a number that would change', (text) =>
    expect(unfitIn(text)).toMatchObject({ problem: 'lossy' }),
  )

  test('that a program has written is fit, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        // A number of so many digits is written shorter than it is.
        fc.pre(!/\d{16}/.test(text))
        expect(unfitIn(text)).toBeUndefined()
      }),
    )
  })
})
