import { expect, test } from 'vitest'
import type { Series } from '../history/series.js'
import { addCounts, addSeries } from './sums.js'

const nothing = { p50: [null, null], p95: [null, null], p99: [null, null] }

function series(more: Partial<Series>): Series {
  const zeros = [0, 0]
  const columns = {
    enqueued: zeros,
    completed: zeros,
    failed: zeros,
    rescued: zeros,
    dead: zeros,
    expired: zeros,
    cancelled: zeros,
  }
  const states = { waiting: zeros, scheduled: zeros, blocked: zeros, running: zeros, workers: zeros, wanted: zeros }
  const times = { oldestSeconds: [null, null], run: nothing, runSeconds: zeros, wait: nothing, priorities: [] }
  return { from: new Date(0), to: new Date(20_000), stepMs: 10_000, ...columns, ...states, ...times, ...more }
}

test('of several series jobs add up, and of times the highest is given', () => {
  const eu = series({
    completed: [1, 2],
    runSeconds: [0.5, 1],
    oldestSeconds: [3, null],
    run: { p50: [1, null], p95: [2, null], p99: [9, null] },
  })
  const us = series({
    completed: [10, 20],
    runSeconds: [2, 0],
    oldestSeconds: [2, null],
    run: { p50: [4, 1], p95: [5, 1], p99: [6, 1] },
  })
  expect(addSeries([eu, us])).toMatchObject({
    completed: [11, 22],
    runSeconds: [2.5, 1],
    oldestSeconds: [3, null],
    run: { p50: [4, 1], p95: [5, 1], p99: [9, 1] },
    wait: nothing,
  })
  expect(addSeries([])).toBeUndefined()
})

test('a priority that only one has stands in the sum, and a shorter series ends it', () => {
  const low = { priority: 2, waiting: [5, 6], oldestSeconds: [1, 2], wait: nothing }
  const sum = addSeries([series({ priorities: [low] }), { ...series({}), completed: [1], waiting: [0] }])
  expect(sum?.priorities).toEqual([{ ...low, waiting: [5], oldestSeconds: [1], wait: { p50: [null], p95: [null], p99: [null] } }])
  expect(sum?.to).toEqual(new Date(10_000))
})

test('counts add up, and are least numbers where one of them is', () => {
  const count = (n: number, more: boolean) => ({ pending: { count: n, more } }) as never
  expect(addCounts([count(3, false), count(1_000, true)])).toEqual({ pending: { count: 1_003, more: true } })
})
