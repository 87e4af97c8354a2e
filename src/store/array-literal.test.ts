import { describe, expect, test } from 'vitest'
import { arrayLiteral } from './array-literal.js'

describe('an array literal', () => {
  test.each([
    ['nothing', [], '{}'],
    ['plain strings', ['a', 'b'], '{"a","b"}'],
    ['an empty string', [''], '{""}'],
    ['null, which is not the word NULL', [null, 'NULL'], '{NULL,"NULL"}'],
    ['quotes and backslashes', ['say "hi"', 'c:\\dir\\', '\\"'], String.raw`{"say \"hi\"","c:\\dir\\","\\\""}`],
    ['what means something outside quotes', ['{a,b}', ' x ', '\n'], '{"{a,b}"," x ","\n"}'],
    ['JSON text', ['{"a":["b\\n"]}'], String.raw`{"{\"a\":[\"b\\n\"]}"}`],
    ['numbers and booleans', [1, -2.5, 9007199254740993n, true, false], '{1,-2.5,9007199254740993,true,false}'],
  ])('holds %s', (_what, values, literal) => {
    expect(arrayLiteral(values)).toBe(literal)
  })

  test.each([[undefined], [{}], [['nested']], [() => 1]])('refuses %s, which has no one text', (value) => {
    expect(() => arrayLiteral([value])).toThrow(TypeError)
  })
})
