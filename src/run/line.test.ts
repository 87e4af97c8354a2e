import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Line } from './line.js'

test('a line gives out what joined it, first come first served, whatever happens in between', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('join' as const), things: fc.array(fc.integer(), { maxLength: 5 }) }),
    fc.record({ kind: fc.constant('takeFirst' as const) }),
    fc.record({ kind: fc.constant('takeOut' as const), divisor: fc.integer({ min: 1, max: 3 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new Line<number>()
      let expected: number[] = []
      for (const step of steps) {
        if (step.kind === 'join') {
          line.join(step.things)
          expected.push(...step.things)
        } else if (step.kind === 'takeFirst') {
          expect(line.takeFirst()).toBe(expected.shift())
        } else {
          const goes = (thing: number) => thing % step.divisor === 0
          expect(line.takeOut(goes)).toEqual(expected.filter(goes))
          expected = expected.filter((thing) => !goes(thing))
        }
        expect(line.length).toBe(expected.length)
        expect(line.first).toBe(expected[0])
      }
      expect(line.takeOut()).toEqual(expected)
      expect(line.length).toBe(0)
    }),
  )
})
