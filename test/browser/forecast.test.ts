import { expect, test } from 'vitest'
import { forecast } from '../../dashboard/src/charts/forecast.js'
import { startsOf } from '../../dashboard/src/charts/starts.js'
import { rankOf } from '../../dashboard/src/pages/job/rank.js'
import { rowsBetween } from '../../dashboard/src/parts/rows-in-view.js'

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

test('workers that started together are one deploy, of the types that are asked for', () => {
  const worker = (name: string, minute: number, ...types: string[]) => ({
    ...{ name, version: '1.0.0', types, started_at: new Date(minute * 60_000).toISOString() },
  })
  const fleet = [worker('c', 60, 'mail'), worker('a', 1, 'mail'), worker('b', 3, 'print'), worker('old', -9, 'mail')]
  expect(startsOf(fleet, undefined, 0)).toEqual([
    { at: 60, text: '2 workers started, Holdfast 1.0.0' },
    { at: 3_600, text: 'worker c started, Holdfast 1.0.0' },
  ])
  expect(startsOf(fleet, 'print', 0)).toEqual([{ at: 180, text: 'worker b started, Holdfast 1.0.0' }])
})

test('a run time is compared with the latest step that has any', () => {
  const run = { p50: [9, 1, null], p95: [9, 2, null], p99: [9, 3, null] }
  const words = (seconds: number) => rankOf(seconds, run)?.words
  expect([0.5, 1.5, 2.5, 4].map(words)).toEqual([
    ...['as usual, shorter than half', 'as usual, longer than half'],
    ...['longer than 95 % of its type', 'longer than 99 % of its type'],
  ])
  expect(rankOf(1, { p50: [null], p95: [null], p99: [null] })).toBeUndefined()
})

test('of a long list those rows are there that are seen, with gaps as high as the others', () => {
  expect(rowsBetween(1_000, new Map(), 4_000, 4_100)).toEqual({ from: 99, to: 103, abovePx: 3_960, belowPx: 35_880 })
  expect(rowsBetween(1_000, new Map(), -900, 100)).toEqual({ from: 0, to: 3, abovePx: 0, belowPx: 39_880 })
  // Rows that were measured count as they are, and the others as their average.
  const measured = new Map([...Array(10).keys()].map((row) => [row, 100]))
  expect(rowsBetween(20, measured, 950, 1_150)).toEqual({ from: 9, to: 12, abovePx: 900, belowPx: 800 })
})
