import { expect, test } from 'vitest'
import { drainsWith, forecast } from '../../dashboard/src/charts/forecast.js'
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

test('with more workers, each as fast as those there, it is done sooner, or grows no more, or nobody can tell', () => {
  const ends = (waitingAt: (minute: number) => number, perStep: number) => ({
    ...{ step_ms: 10_000, waiting: steps(waitingAt), completed: steps(() => perStep), dead: steps(() => 0) },
  })
  // A hundred wait, ten fewer each minute; two workers end thirty a minute, and two more would end thirty more.
  const drains = ends((minute) => 250 - 10 * minute, 5)
  expect(drainsWith(drains, 2, 2)).toBeCloseTo((100 / 40) * 60_000)
  const grows = ends((minute) => 100 + 10 * minute, 5)
  expect(drainsWith(grows, 2, 2)).toBeCloseTo((250 / 20) * 60_000)
  expect(drainsWith(grows, 12, 2)).toBeNull()
  for (const workers of [0, 2])
    expect(
      drainsWith(
        ends(() => 100, 0),
        workers,
        2,
      ),
    ).toBeUndefined()
})

test('workers that started together are one deploy with its build, and a past one stays when its workers are gone', () => {
  const at = (minute: number) => new Date(minute * 60_000).toISOString()
  const worker = (name: string, minute: number, build: string | null, ...types: string[]) => ({
    ...{ name, version: '1.0.0', build, types, started_at: at(minute) },
  })
  const fleet = [
    ...[worker('c', 60, '2.4.1', 'mail'), worker('a', 1, null, 'mail'), worker('b', 3, null, 'print')],
    worker('old', -9, null, 'mail'),
  ]
  const builds = [
    { build: '2.4.1', first_seen: at(58) },
    { build: '2.4.0', first_seen: at(30) },
  ]
  expect(startsOf({ workers: fleet, builds }, undefined, 0)).toEqual([
    { at: 60, text: '2 workers started, Holdfast 1.0.0' },
    { at: 1_800, text: 'build 2.4.0 was new' },
    { at: 3_480, text: 'worker c started, build 2.4.1' },
  ])
  // Nobody knows any more what 2.4.0 ran; of 2.4.1 it is known that it does not print.
  expect(startsOf({ workers: fleet, builds }, 'print', 0).map(({ text }) => text)).toEqual([
    ...['worker b started, Holdfast 1.0.0', 'build 2.4.0 was new'],
  ])
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
