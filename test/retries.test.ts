import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const done: string[] = []
beforeAll(() => void done.push('file begins'))
afterAll(() => void done.push('file ends'))

describe('a test that is tried again', () => {
  let tries = 0
  beforeAll(() => void done.push('group begins'))
  afterAll(() => void done.push('group ends'))

  test('finds what beforeAll makes made anew, and what was there before torn down', { retry: 1 }, () => {
    tries++
    if (tries === 1) throw new Error('the first try fails')
    const begins = ['file begins', 'group begins']
    expect(done).toEqual([...begins, 'group ends', 'file ends', ...begins])
  })
})
