import { expect, test } from 'vitest'
import { growth, judge } from './flat.mjs'

const steady = Array.from({ length: 40 }, (_, n) => 100 + (n % 3))
const rising = Array.from({ length: 40 }, (_, n) => 100 + n * 5)

test('what stays the same does not grow, and what rises does', () => {
  expect(growth(steady)).toBeCloseTo(0)
  expect(growth(rising)).toBeGreaterThan(0.5)
  expect(growth([0, 0, 0, 0, 0, 0, 0, 5])).toBe(Number.POSITIVE_INFINITY)
})

test('growth below what matters is none', () => {
  expect(growth(rising, 1_000)).toBe(0)
})

test('each series is judged by what it may do', () => {
  const samples = steady.map((memory, n) => ({ memory, handles: rising[n] }))
  const judged = judge(samples, { memory: { most: 0.1 }, handles: { most: 0.1 } })
  expect(judged.memory.flat).toBe(true)
  expect(judged.handles).toMatchObject({ first: 100, last: 295, flat: false })
})
