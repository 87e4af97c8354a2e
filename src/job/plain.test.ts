import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { describeForeign, isPlainArray, isPlainObject } from './plain.js'

describe('plain data', () => {
  it('is what literals and JSON.parse make, in any realm', () => {
    expect(isPlainObject({})).toBe(true)
    expect(isPlainObject(Object.create(null))).toBe(true)
    expect(isPlainObject(runInNewContext('({})'))).toBe(true)
    expect(isPlainArray([])).toBe(true)
    expect(isPlainArray(runInNewContext('[]'))).toBe(true)
  })

  it('is not an instance of anything', () => {
    class Thing {}
    class List extends Array {}
    for (const value of [
      new Thing(),
      new Date(),
      Object.create({}),
      Object.create(Object.create(null)),
      runInNewContext('new Date()'),
    ]) {
      expect(isPlainObject(value)).toBe(false)
    }
    expect(isPlainArray(new List())).toBe(false)
    expect(isPlainArray(Object.setPrototypeOf([], null))).toBe(false)
  })
})

describe('describeForeign', () => {
  it('advises by the nearest class it knows', () => {
    class Moment extends Date {}
    expect(describeForeign(new Moment())).toBe('is a Moment, not plain data; use date.toISOString()')
    expect(describeForeign(runInNewContext('new Map()'))).toContain('Object.fromEntries(map)')
  })

  it('ends for a Proxy with ever new prototypes', () => {
    const endless = (): object => new Proxy({}, { getPrototypeOf: endless })
    expect(describeForeign(endless())).toContain('not plain data')
  })
})
