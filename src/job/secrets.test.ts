import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readRedactPaths, redacted, redactedMark } from './redaction.js'
import { Secrets } from './secrets.js'

const paths = (...texts: string[]) => readRedactPaths(texts, 'redact')

describe('texts about a job', () => {
  const secrets = new Secrets(
    { card: { number: '4111 1111 1111 1111', code: 123456, note: 'say "hi"', x: 'abc' } },
    paths('card'),
  )

  test('lose every secret, as it is and as JSON, and keep short words', () => {
    const text = `no: 4111 1111 1111 1111, twice 4111 1111 1111 1111; 123456; ${JSON.stringify('say "hi"')}; abc`
    expect(secrets.scrub(text)).toBe('no: [redacted], twice [redacted]; [redacted]; "[redacted]"; abc')
  })

  test('lose all of them, however many stand at the paths, and those that overlap in the text', () => {
    const payload = { cards: Array.from({ length: 3_000 }, (_, n) => ({ number: `4111-${n}-secret` })), pin: 'abcdefgh' }
    const all = new Secrets({ ...payload, code: 'efghijkl' }, paths('cards[].number', 'pin', 'code'))
    const text = payload.cards.map(({ number }) => number).join(' ')
    expect(all.scrub(text)).toBe(Array(3_000).fill(redactedMark).join(' '))
    expect(all.scrub('pin abcdefghijkl')).toBe('pin [redacted]')
  })

  test('lose them as part of an address and as JSON in a text of JSON', () => {
    const [secret] = ['4111 "1111" ü']
    const own = new Secrets({ secret }, paths('secret'))
    const texts = [`GET https://x/?card=${encodeURIComponent(secret)}`, JSON.stringify(JSON.stringify({ secret }))]
    expect(texts.map((text) => own.scrub(text))).toEqual(['GET https://x/?card=[redacted]', '"{\\"secret\\":\\"[redacted]\\"}"'])
  })

  test('keep no value of any redacted path, whatever the payload, the paths and the place where the text was cut', () => {
    // Secrets that no other word has in it, so that finding one is a leak and no chance.
    const secret = fc.string({ unit: 'grapheme', minLength: 4, maxLength: 24 }).map((text) => `s3cr-${text}-t`)
    const values = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof({ maxDepth: 3 }, secret, fc.array(tie('any'), { maxLength: 4 }), fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3 })), // biome-ignore format: a list
    })).any
    const some = fc.subarray(['a', 'b', 'a.b', 'b[].a', 'c[]', 'a.c.b', '[].a'], { minLength: 1 })
    fc.assert(
      fc.property(values, some, fc.nat(), (payload, chosen, at) => {
        const leaks: string[] = []
        collect(payload, redacted(payload, paths(...chosen)), leaks)
        const text = `paying with ${JSON.stringify(payload)}: ${leaks.join(', ')}`
        const kept = new Secrets(payload, paths(...chosen)).scrub(text.slice(0, at % (text.length + 1)))
        for (const leak of leaks) expect(kept).not.toContain(leak)
      }),
      { numRuns: 500 },
    )
  })

  /** The texts of a payload that are not in what people are shown of it, found without the code that is tested. */
  function collect(whole: unknown, shown: unknown, into: string[]): void {
    if (typeof whole === 'string' && shown !== whole) into.push(whole)
    if (whole === null || typeof whole !== 'object') return
    for (const [name, inner] of Object.entries(whole)) {
      const same = typeof shown === 'object' && shown !== null ? (shown as Record<string, unknown>)[name] : redactedMark
      collect(inner, same, into)
    }
  }

  test('lose the beginning of a secret where they were cut, and only there', () => {
    expect(secrets.scrub('card 4111 1111 1')).toBe('card [redacted]')
    expect(secrets.scrub('card 4111 1111 1… (99 characters)')).toBe('card [redacted]… (99 characters)')
    // The cut went through a character of two halves.
    expect(secrets.scrub('card 4111 1111 1\ufffd… (99 characters)')).toBe('card [redacted]\ufffd… (99 characters)')
    expect(secrets.scrub('card 4111 1111 2222')).toBe('card 4111 1111 2222')
  })
})
