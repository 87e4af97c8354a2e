import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import { defineType } from '../job/type.js'
import { Chunks } from './chunks.js'
import type { AttemptServices } from './services.js'
import { Slots } from './slots.js'

test('a job that was claimed before the last call began waits a second for it to end, and is handed back', async () => {
  const calls: unknown[][] = []
  const type = defineType({
    type: 'held',
    chunk: { size: 2 },
    run: (jobs) => {
      calls.push(jobs.map(({ payload }) => payload))
      return new Promise<undefined>(() => {})
    },
  })
  const chunks = new Chunks(type.chunk as NonNullable<typeof type.chunk>, 1)
  const ended: { job: string; outcome: Outcome; startedAtMs: number | null }[] = []
  const slots = new Slots(
    { concurrency: chunks.jobsAtOnce, open: () => chunks.open, begin: chunks.begin },
    {} as AttemptServices,
    {
      ended: ({ id }, outcome, startedAtMs) => ended.push({ job: id, outcome, startedAtMs }),
      overran: () => {},
      began: () => {},
      overrunning: () => {},
      escaped: () => {},
      slotFree: () => {},
    },
  )
  const claimed = (id: string): ClaimedJob => ({
    ...{ id, lease: '1', lane: 1, priority: 5, attempt: 1, maxAttempts: 5, createdAtMs: 0, payload: JSON.stringify(id) },
    type,
    claimedAtMs: performance.now(),
  })
  expect(slots.claimable).toBe(2)
  slots.add([claimed('first')])
  await expect.poll(() => calls).toEqual([['first']])
  expect(slots.claimable).toBe(0)
  const begun = performance.now()
  slots.add([claimed('late')])
  await expect
    .poll(() => ended, { timeout: 5_000 })
    .toEqual([{ job: 'late', outcome: { kind: 'handed_back' }, startedAtMs: null }])
  expect(performance.now() - begun).toBeGreaterThan(990)
  expect([slots.running, calls.length]).toEqual([1, 1])
})
