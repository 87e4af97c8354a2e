import { expect, test } from 'vitest'
import { TokenBucket } from './token-bucket.js'

// A thousand a second is one a millisecond, which counts exactly.

test('holds a second’s worth, says how long to wait when it is empty, and fills again with time', () => {
  const bucket = new TokenBucket(1_000, 0)
  for (let request = 0; request < 1_000; request++) expect(bucket.take(1, 0)).toBe(0)
  expect(bucket.take(1, 0)).toBe(1)
  expect(bucket.take(1, 1)).toBe(0)
  expect(bucket.take(1, 1)).toBe(1)
  // However long nobody came, a second's worth is all there is.
  for (let request = 0; request < 1_000; request++) expect(bucket.take(1, 1e9)).toBe(0)
  expect(bucket.take(1, 1e9)).toBe(1)
})

test('lets through what costs more than is left, and has it paid back before the next', () => {
  const bucket = new TokenBucket(1_000, 0)
  expect(bucket.take(5_000, 0)).toBe(0)
  expect(bucket.take(1, 0)).toBe(4_001)
  expect(bucket.take(1, 4_000)).toBe(1)
  expect(bucket.take(1, 4_001)).toBe(0)
})

test('of less than one a second still holds one', () => {
  const bucket = new TokenBucket(0.5, 0)
  expect(bucket.take(1, 0)).toBe(0)
  expect(bucket.take(1, 0)).toBe(2_000)
  expect(bucket.take(1, 2_000)).toBe(0)
})
