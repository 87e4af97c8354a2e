import { expect, test } from 'vitest'
import { workersWanted } from './autoscale.js'

const idle = { lane: 'default', enabled: true, slots: null, waiting: 0, running: 0, ended: 0, live: 0 }
const options = { concurrency: 10, targetMs: 60_000, headroom: 0 }

test('a lane with nothing to do wants no worker, and one with a single job wants one', () => {
  expect(workersWanted(idle, options)).toMatchObject({ workers: 0, drainSeconds: 0 })
  expect(workersWanted({ ...idle, waiting: 1 }, options)).toMatchObject({ workers: 1, drainSeconds: null })
})

test('what waits is to be done within the target, by as many slots as that takes beside those that are busy', () => {
  // 20 run and 10 end in a second: 2 s each. 3,000 that wait are 6,000 s of work, in 60 s that is 100 slots.
  const busy = { ...idle, waiting: 3_000, running: 20, ended: 10, live: 2 }
  expect(workersWanted(busy, options)).toEqual({
    ...{ workers: 12, waiting: 3_000, running: 20, endedPerSecond: 10, drainSeconds: 300, liveWorkers: 2 },
  })
  expect(workersWanted(busy, { ...options, targetMs: 300_000 }).workers).toBe(4)
  expect(workersWanted(busy, { ...options, concurrency: 60 }).workers).toBe(2)
})

test('no more workers are wanted than the slots of the lane keep busy', () => {
  expect(workersWanted({ ...idle, waiting: 1_000_000, slots: 25 }, options).workers).toBe(3)
})

test('for a lane that is drained, what waits wants nobody, and what runs keeps its workers', () => {
  expect(workersWanted({ ...idle, enabled: false, waiting: 500, running: 11 }, options)).toMatchObject({ workers: 2, waiting: 0 })
})

test('the headroom is a share of what is needed, and no lane wants more than its slots for it', () => {
  expect(workersWanted({ ...idle, running: 100, ended: 10 }, { ...options, headroom: 0.3 }).workers).toBe(13)
  expect(workersWanted({ ...idle, running: 100, ended: 10, slots: 110 }, { ...options, headroom: 0.3 }).workers).toBe(11)
  expect(workersWanted(idle, { ...options, headroom: 0.3 }).workers).toBe(0)
})
