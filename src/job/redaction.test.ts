import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readRedactPaths, redacted, redactedMark, touches } from './redaction.js'

const paths = (...texts: string[]) => readRedactPaths(texts, 'redact')

describe('redaction by path', () => {
  test('replaces what stands at a path, in fields of fields and in every element, and nothing else', () => {
    const payload = { card: { number: '4111', brand: 'x' }, items: [{ secret: 1, n: 1 }, { n: 2 }], tags: ['a', 'b'] }
    expect(redacted(payload, paths('card.number', 'items[].secret', 'tags[]', 'not.there'))).toEqual({
      card: { number: redactedMark, brand: 'x' },
      items: [{ secret: redactedMark, n: 1 }, { n: 2 }],
      tags: [redactedMark, redactedMark],
    })
    expect(payload.card.number).toBe('4111')
  })

  test('looks through lists that the path does not name, takes whole objects, and a list at the top', () => {
    expect(redacted({ card: [{ number: 1 }, { number: 2 }] }, paths('card.number'))).toEqual({
      card: [{ number: redactedMark }, { number: redactedMark }],
    })
    expect(redacted({ card: { number: 1 } }, paths('card'))).toEqual({ card: redactedMark })
    expect(redacted([{ a: 1 }], paths('[].a'))).toEqual([{ a: redactedMark }])
    expect(redacted(JSON.parse('{"__proto__": {"a": 1}}'), paths('__proto__.a'))).toEqual(
      JSON.parse(`{"__proto__": {"a": "${redactedMark}"}}`),
    )
  })

  test('refuses what is no path', () => {
    for (const wrong of ['', '.', 'a.', '.a', 'a[0]', 'a[', 'a]b', 'a..b', 7, 'x'.repeat(501)]) {
      expect(() => readRedactPaths([wrong], 'redact'), String(wrong)).toThrow('redact has')
    }
    expect(() => readRedactPaths('card.number', 'redact')).toThrow('must be a list')
  })

  test('leaves no text at the path in what people see, whatever the payload is', () => {
    fc.assert(
      fc.property(
        fc.object({ key: fc.constantFrom('a', 'b'), maxDepth: 4 }),
        fc.constantFrom('a', 'a.b', 'b[].a', 'a[]'),
        (payload, path) => {
          const shown = redacted(payload, paths(path))
          expect(touches(shown, paths(path), (at) => at !== redactedMark)).toBe(false)
        },
      ),
    )
  })
})
