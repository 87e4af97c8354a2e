import { describe, expect, it } from 'vitest'
import { defineType } from './type.js'
import { checkFields, readUnique, type UniqueOption } from './unique.js'

describe('a uniqueness', () => {
  it('becomes what the database takes', () => {
    expect(readUnique({})).toEqual({ on_conflict: 'reject' })
    expect(readUnique({ by: ['a', 'b.c'], period: '1h', states: ['pending'], onConflict: 'existing' })).toEqual({
      by: ['a', 'b.c'],
      period: '3600000 milliseconds',
      states: ['pending'],
      on_conflict: 'existing',
    })
    expect(readUnique({ key: 'k', onConflict: 'debounce', delay: 10, maxWait: 10 })).toEqual({
      key: 'k',
      on_conflict: 'debounce',
      delay: '10 milliseconds',
      max_wait: '10 milliseconds',
    })
    expect(readUnique(false)).toBe(false)
  })

  it.each<[unknown, string, RegExp]>([
    [{ kez: 'k' }, 'unique.kez', /did you mean "key"/],
    [{ onConflict: 'replce' }, 'unique.onConflict', /did you mean "replace"/],
    [{ onConflict: 'oneMore' }, 'unique.onConflict', /did you mean "one_more"/],
    [{ key: '' }, 'unique.key', /1 to 500/],
    [{ key: 'a\0b' }, 'unique.key', /NUL/],
    [{ key: 'x'.repeat(501) }, 'unique.key', /1 to 500/],
    [{ key: 'k', by: 'payload' }, 'unique.key', /exclude each other/],
    [{ by: 'paylod' }, 'unique.by', /"payload" or a list/],
    [{ by: [] }, 'unique.by', /"payload" or a list/],
    [{ by: [7] }, 'unique.by', /"payload" or a list/],
    [{ states: ['runing'] }, 'unique.states', /no status/],
    [{ states: ['pendig'] }, 'unique.states', /did you mean "pending"/],
    [{ states: [] }, 'unique.states', /is empty/],
    [{ states: ['pending'], onConflict: 'one_more' }, 'unique.states', /no meaning for one_more/],
    [{ period: -1 }, 'unique.period', /negative/],
    [{ period: 0 }, 'unique.period', /between 1 ms and five years/],
    [{ period: '6000d' }, 'unique.period', /five years/],
    [{ period: '1h', onConflict: 'one_more' }, 'unique.period', /no meaning for one_more/],
    [{ period: '1h', onConflict: 'debounce', delay: 1 }, 'unique.period', /no meaning for debounce/],
    [{ onConflict: 'debounce' }, 'unique.delay', /is missing/],
    [{ onConflict: 'debounce', delay: -5 }, 'unique.delay', /negative/],
    [{ onConflict: 'debounce', delay: '10s', maxWait: '5s' }, 'unique.maxWait', /shorter than unique.delay/],
    [{ onConflict: 'replace', delay: '10s' }, 'unique.delay', /is for debounce/],
    [{ maxWait: '10s' }, 'unique.maxWait', /is for debounce/],
    [true, 'unique', /false or an object/],
    [null, 'unique', /false or an object/],
    [['a'], 'unique', /false or an object/],
  ])('is refused as %j', (option, field, problem) => {
    const read = () => readUnique(option as UniqueOption)
    expect(read).toThrow(expect.objectContaining({ code: 'invalid_option', field }))
    expect(read).toThrow(problem)
  })

  it('of a type is checked where the type is defined', () => {
    expect(() => defineType({ type: 't', unique: { onConflict: 'debounce' } })).toThrow(/unique.delay is missing/)
    expect(defineType({ type: 't', unique: { by: ['a'] } }).unique).toEqual({ by: ['a'], on_conflict: 'reject' })
    expect(defineType({ type: 't' }).unique).toBeUndefined()
  })

  it.each<[string[], unknown, string | undefined]>([
    [['a'], { a: null }, undefined],
    [['a.b', 'c.1'], { a: { b: 0 }, c: [1, 2] }, undefined],
    [['a.b'], { 'a.b': 1 }, undefined],
    [['custommer'], { customer: 1 }, 'unique.by names "custommer", which is not in the payload (did you mean "customer"?)'],
    [['a.b'], { a: 1 }, 'unique.by names "a.b", which is not in the payload'],
    [['c.2'], { c: [1, 2] }, 'unique.by names "c.2", which is not in the payload'],
    [['c.length'], { c: [1, 2] }, 'unique.by names "c.length", which is not in the payload'],
    [['toString'], {}, 'unique.by names "toString", which is not in the payload'],
    [['a'], null, 'unique.by names "a", which is not in the payload'],
    [['a'], 'text', 'unique.by names "a", which is not in the payload'],
  ])('by %j of %j is checked against the payload', (by, payload, problem) => {
    const check = () => checkFields({ by, on_conflict: 'reject' }, JSON.stringify(payload))
    if (problem === undefined) check()
    else expect(check).toThrow(problem)
  })
})
