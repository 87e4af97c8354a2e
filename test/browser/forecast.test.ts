import { expect, test } from 'vitest'
import { forecast } from '../../dashboard/src/charts/forecast.js'

/** Fifteen minutes in steps of ten seconds. */
const steps = (waitingAt: (minute: number) => number) => Array.from({ length: 91 }, (_, step) => waitingAt(step / 6))
const of = (waitingAt: (minute: number) => number) => forecast({ step_ms: 10_000, waiting: steps(waitingAt) })

test('what gets steadily less is done at that pace, for sure', () => {
  expect(of((minute) => 1_000 - 60 * minute)).toEqual({ drainsInMs: 100_000, soonestMs: 100_000, latestMs: 100_000 })
})

test('where it grew before it got less, nobody knows the latest', () => {
  const found = of((minute) => (minute < 8 ? 100 + 100 * minute : 900 - 50 * (minute - 8)))
  expect(found).toMatchObject({ drainsInMs: 660_000, soonestMs: 660_000, latestMs: null })
})

test('what grows says how fast, and what neither grows nor shrinks, or has not begun, says nothing', () => {
  expect(of((minute) => 100 + 60 * minute)).toEqual({ growsPerMinute: 60 })
  expect(of(() => 20)).toBeUndefined()
  // One job more in fifteen minutes is no growth.
  expect(of((minute) => (minute < 12 ? 1 : 2))).toBeUndefined()
  expect(of(() => 0)).toBeUndefined()
  expect(forecast({ step_ms: 10_000, waiting: [5, 9] })).toBeUndefined()
})
