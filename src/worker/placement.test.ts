import { expect, test } from 'vitest'
import { defineType } from '../job/type.js'
import { placement } from './placement.js'

const isolated = (type: string, memory: number, atOnce?: number) =>
  defineType({ type, isolation: 'process', memory, ...(atOnce && { atOnce }), run() {} })

test('one job of each type has its memory first, and what is left is shared in turns up to atOnce', () => {
  const { atOnce, tooLarge } = placement([isolated('small', 512), isolated('large', 2048), isolated('one', 256, 1)], 5000, 4)
  expect([...atOnce]).toEqual([
    ['small', 4],
    ['large', 1],
    ['one', 1],
  ])
  expect(tooLarge).toEqual([])
})

test('together they never need more than the worker has', () => {
  for (let memory = 1000; memory < 9000; memory += 77) {
    const types = [isolated('a', 300), isolated('b', 100, 3), isolated('c', 600)]
    const { atOnce } = placement(types, memory, 8)
    const needed = types.reduce(
      (sum, { type, isolation }) => sum + (atOnce.get(type) as number) * (isolation.memoryMb as number),
      0,
    )
    expect(needed).toBeLessThanOrEqual(memory)
    expect(atOnce.get('b')).toBeLessThanOrEqual(3)
  }
})

test('a type of which not even one job fits is left to others; types that do not fit together are refused', () => {
  const inline = defineType({ type: 'inline', run() {} })
  expect(placement([inline, isolated('large', 2048)], 1024)).toEqual({ atOnce: new Map(), tooLarge: ['large'] })
  expect(() => placement([isolated('a', 600), isolated('b', 600)], 1000)).toThrow(
    /does not hold one job each of a \(600\), b \(600\)/,
  )
})
