import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bounds } from '../job/buckets.js'
import type { SampleRow } from '../store/sample-store.js'
import { percentile, seriesOf, totalSeconds } from './series-of.js'

const steps = { fromMs: 1_000_000, stepMs: 10_000, points: 12 }
const nowMs = 2_000_000
const sample = (at: number, completed: number, more: Partial<SampleRow> = {}): SampleRow => ({
  ...{ type: 1, at, since: at, lane: 'default', depths: [], runs: [], waits: [] },
  counts: [completed, completed, 0, 0, 0, 0, 0, 0, 0, 0],
  ...more,
})

test('every job counts once and in one step, wherever the samples lie and however many are missing', () => {
  const gaps = fc.array(fc.record({ ms: fc.integer({ min: 1, max: 40_000 }), jobs: fc.nat(50), quiet: fc.boolean() }), {
    maxLength: 30,
  })
  fc.assert(
    fc.property(gaps, (looks) => {
      let [at, completed] = [steps.fromMs, 0]
      const rows = [sample(at, 0)]
      for (const { ms, jobs, quiet } of looks) {
        const since = quiet ? at + Math.floor(ms / 2) : at
        at += ms
        completed += jobs
        rows.push(sample(at, completed, { since }))
      }
      const wide = { ...steps, points: Math.ceil((at - steps.fromMs) / steps.stepMs) + 1 }
      const { completed: each } = seriesOf(rows, wide, nowMs)
      expect(each.reduce((sum, one) => sum + one, 0)).toBe(completed)
      for (const one of each) expect(Number.isInteger(one) && one >= 0).toBe(true)
      // Of a part of the time: what the whole says of it.
      const part = { fromMs: steps.fromMs + 2 * steps.stepMs, stepMs: steps.stepMs, points: Math.max(0, wide.points - 3) }
      expect(seriesOf(rows, part, nowMs).completed).toEqual(each.slice(2, 2 + part.points))
    }),
  )
})

test('a change after a quiet time counts when it was seen, and what a missed sample hides is spread', () => {
  const seen = [sample(1_000_000, 0), sample(1_100_000, 60, { since: 1_090_000 })]
  expect(seriesOf(seen, steps, nowMs).completed).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0])
  const missed = [sample(1_000_000, 0), sample(1_060_000, 60, { since: 1_000_000 })]
  expect(seriesOf(missed, steps, nowMs).completed).toEqual([10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0])
})

test('a counter that began anew counts from 0', () => {
  const rows = [sample(1_000_000, 500), sample(1_010_000, 7, { since: 1_000_000 })]
  expect(seriesOf(rows, steps, nowMs).completed[0]).toBe(7)
})

test('what waits holds until it changes, ages meanwhile, and counts for the lane it was in', () => {
  const rows = [
    sample(1_000_000, 0, { depths: [[5, 3, 1, 2, 995]] }),
    sample(1_040_000, 3, { since: 1_030_000, lane: 'other', depths: [[9, 4, 0, 0, 1_030]] }),
    sample(1_005_000, 0, { type: 0, lane: null, counts: [0, 0, 0, 0, 0, 0, 0, 0, 6, 9] }),
  ]
  const all = seriesOf(rows, { ...steps, points: 5 }, nowMs)
  expect(all.waiting).toEqual([3, 3, 3, 4, 4])
  expect(all.oldestSeconds).toEqual([15, 25, 35, 10, 20])
  expect(all.workers).toEqual([6, 6, 6, 6, 6])
  expect(all.priorities).toEqual([
    { priority: 9, waiting: [0, 0, 0, 4, 4], oldestSeconds: [null, null, null, 10, 20], wait: expect.anything() },
    { priority: 5, waiting: [3, 3, 3, 0, 0], oldestSeconds: [15, 25, 35, null, null], wait: expect.anything() },
  ])
  const lane = seriesOf(rows, { ...steps, points: 5 }, nowMs, 'other')
  expect(lane).toMatchObject({ waiting: [0, 0, 0, 4, 4], completed: [0, 0, 0, 3, 0], workers: [6, 6, 6, 6, 6] })
  expect(seriesOf(rows, { ...steps, points: 5 }, nowMs, 'default').completed).toEqual([0, 0, 0, 0, 0])
})

test('percentiles lie between the bounds of their bucket', () => {
  expect(percentile([], 0.5)).toBeNull()
  expect(percentile([0, 0, 100], 0.5)).toBeCloseTo((0.01 + 0.025) / 2)
  expect(
    percentile(
      Array.from({ length: bounds.length + 1 }, (_, at) => (at === bounds.length ? 1 : 0)),
      0.99,
    ),
  ).toBe(3_600)
})

test('attempts took as long together as the middles of their buckets say', () => {
  expect(totalSeconds([])).toBe(0)
  // Two of up to 5 ms, and four of 10 to 25 ms.
  expect(totalSeconds([2, 0, 4])).toBeCloseTo(2 * 0.0025 + 4 * 0.0175)
  expect(totalSeconds(Array.from({ length: bounds.length + 1 }, (_, at) => (at === bounds.length ? 2 : 0)))).toBe(7_200)
  const runs = [0, 0, 4]
  const rows = [sample(1_000_000, 0), sample(1_010_000, 4, { runs }), sample(1_020_000, 4, { runs, since: 1_010_000 })]
  expect(seriesOf(rows, { ...steps, points: 3 }, nowMs).runSeconds).toEqual([0.07, 0, 0])
})
