import { expect, test } from 'vitest'
import { lasted } from '../../dashboard/src/pages/types/lasted.js'

const enqueued = '2026-03-01T10:00:00.000Z'
const job = (ms: number) => ({ created_at: enqueued, finished_at: new Date(Date.parse(enqueued) + ms).toISOString() })

test('of a hundred jobs the time that 50, 95 and 99 took at most is that of the 50th, 95th and 99th, however they come', () => {
  const jobs = Array.from({ length: 100 }, (_, at) => job(((at * 37) % 100) + 1))
  expect(lasted(jobs)).toEqual({ of: 100, p50: 50, p95: 95, p99: 99 })
})

test('one job is all of them, and what has not ended, or has no time to read, is none', () => {
  expect(lasted([job(1_500)])).toEqual({ of: 1, p50: 1_500, p95: 1_500, p99: 1_500 })
  expect(lasted([{ created_at: enqueued, finished_at: null }, { ...job(3), created_at: 'soon' }, job(7)])?.of).toBe(1)
  expect(lasted([])).toBeUndefined()
})
