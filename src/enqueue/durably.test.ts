import { expect, test } from 'vitest'
import { restBefore } from './durably.js'

const failed = { attempt: 1, away: false, passing: false, met: false, elapsedMs: 10, retryForMs: 30_000, patienceMs: 25_000 }

test('what can never succeed is sent once', () => {
  expect(restBefore(failed)).toBeUndefined()
})

test('what may pass is sent four times, and no more once that has taken as long as one slow try', () => {
  const passing = { ...failed, passing: true }
  expect([1, 2, 3, 4].map((attempt) => restBefore({ ...passing, attempt }))).toEqual([50, 150, 450, undefined])
  expect(restBefore({ ...passing, elapsedMs: 25_001 })).toBeUndefined()
})

test('a database that is away is asked once a second until the time is over', () => {
  const away = { ...failed, away: true, passing: true }
  expect([3, 4, 5, 30].map((attempt) => restBefore({ ...away, attempt }))).toEqual([450, 1_000, 1_000, 1_000])
  expect(restBefore({ ...away, attempt: 30, elapsedMs: 30_000 })).toBeUndefined()
  // Without such a time it is sent four times, as before.
  expect([3, 4].map((attempt) => restBefore({ ...away, attempt, retryForMs: 0 }))).toEqual([450, undefined])
})

test('one that met itself is sent again to find what it stored, also when the time is over', () => {
  expect(restBefore({ ...failed, met: true, attempt: 4, elapsedMs: 60_000 })).toBe(1_000)
  expect(restBefore({ ...failed, met: true, attempt: 5, elapsedMs: 60_000 })).toBeUndefined()
})
