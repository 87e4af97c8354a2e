import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, nearest } from './nearest.js'

const known = ['send_email', 'resize_image', 'sync', 'concurrency', 'base', 'cap'] as const

describe('nearest', () => {
  it.each([
    ['send_emial', 'send_email'],
    ['sendEmail', 'send_email'],
    ['SEND-EMAIL', 'send_email'],
    ['concurency', 'concurrency'],
    ['snyc', 'sync'],
    ['bse', 'base'],
    ['cpa', 'cap'],
  ])('takes %s for %s', (word, meant) => {
    expect(nearest(word, known)).toBe(meant)
  })

  it.each(['delete_user', 'xx', '', 'constructor', '__proto__'])('makes no guess for %j', (word) => {
    expect(nearest(word, known)).toBeUndefined()
  })

  it('prefers the word itself to one that is as near', () => {
    expect(nearest('send_email', ['send-email', 'send_email'])).toBe('send_email')
  })

  it('finds every known word again after one letter was changed', () => {
    const at = fc.tuple(fc.constantFrom('send_email', 'resize_image', 'concurrency'), fc.nat(), fc.constantFrom('q', 'z', ''))
    fc.assert(
      fc.property(at, ([word, place, letter]) => {
        const where = place % word.length
        expect(nearest(word.slice(0, where) + letter + word.slice(where + 1), known)).toBe(word)
      }),
    )
  })

  it('does not spend time on a word nobody can have meant', () => {
    expect(nearest('x'.repeat(10_000_000), ['x'.repeat(10_000_000)])).toBeUndefined()
  })
})

describe('didYouMean', () => {
  it('is a half sentence to put behind another', () => {
    expect(didYouMean('send_mail', known)).toBe(' (did you mean "send_email"?)')
  })

  it('is nothing when nothing is near', () => {
    expect(didYouMean('delete_user', known)).toBe('')
    expect(didYouMean('send_mail', [])).toBe('')
  })
})
