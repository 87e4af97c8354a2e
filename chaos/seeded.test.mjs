import { expect, test } from 'vitest'
import { readOptions } from './options.mjs'
import { sample, seeded, shuffled } from './seeded.mjs'

const items = Array.from({ length: 100 }, (_, n) => ({ n, group: n % 2 ? 'odd' : n % 10 === 0 ? 'ten' : 'even' }))

test('the same seed makes the same plan, and another one another', () => {
  expect(shuffled(items, seeded(7))).toEqual(shuffled(items, seeded(7)))
  expect(shuffled(items, seeded(7))).not.toEqual(shuffled(items, seeded(8)))
})

test('a sample takes from every group alike, and never more than there is', () => {
  const chosen = sample(items, 30, ({ group }) => group, seeded(1))
  expect(new Set(chosen).size).toBe(30)
  for (const group of ['odd', 'even', 'ten']) expect(chosen.filter((item) => item.group === group)).toHaveLength(10)
  expect(sample(items, 1_000, ({ group }) => group, seeded(1))).toHaveLength(100)
})

test('options that nobody knows are refused, and a seed is always there', () => {
  expect(readOptions(['--long', '--seed', '5', '--only=sweep/claim'])).toMatchObject({
    long: true,
    list: false,
    seed: 5,
    only: 'sweep/claim',
    resume: false,
  })
  expect(readOptions(['fuzz', '--seed', '7', '--path', '0:1'])).toMatchObject({ only: 'fuzz/', seed: 7, path: '0:1' })
  expect(() => readOptions(['--path', '0:1'])).toThrow('--path is for a sequence of the fuzz')
  expect(readOptions([]).seed).toBeGreaterThanOrEqual(0)
  expect(() => readOptions(['--lang'])).toThrow('unknown option --lang')
  expect(() => readOptions(['--seed', 'x'])).toThrow('whole number')
})
