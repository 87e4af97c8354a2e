import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import { defineType } from '../job/type.js'
import type { AttemptServices } from './services.js'
import { Slots } from './slots.js'

function claimed(count: number, over: Partial<ClaimedJob> & Pick<ClaimedJob, 'type'>): ClaimedJob[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `job ${i}`,
    lease: '1',
    lane: 1,
    priority: 5,
    attempt: 1,
    maxAttempts: 5,
    createdAtMs: 0,
    payload: '{}',
    claimedAtMs: performance.now(),
    ...over,
  }))
}

function slotsOf(concurrency: number): { slots: Slots; ended: { job: string; outcome: Outcome }[] } {
  const ended: { job: string; outcome: Outcome }[] = []
  const slots = new Slots({ concurrency }, {} as AttemptServices, {
    ended: (job, outcome) => ended.push({ job: job.id, outcome }),
    overran: () => {},
    began: () => {},
    overrunning: () => {},
    escaped: () => {},
    slotFree: () => {},
  })
  return { slots, ended }
}

test('three thousand jobs that cannot even begin end one after the other, in their order and without filling the stack', async () => {
  const { slots, ended } = slotsOf(2)
  slots.add(claimed(3_000, { type: defineType({ type: 'bodiless', run: () => {} }), payload: null }))
  await expect.poll(() => ended.length).toBe(3_000)
  expect(ended.map(({ job }) => job)).toEqual(Array.from({ length: 3_000 }, (_, i) => `job ${i}`))
  expect(ended.every(({ outcome }) => outcome.kind === 'failed' && outcome.fatal)).toBe(true)
  expect(slots.running).toBe(0)
})

test('never more handlers run at once than there are slots, and all get their turn', async () => {
  let running = 0
  let most = 0
  const type = defineType({
    type: 'counted',
    async run() {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
    },
  })
  const { slots, ended } = slotsOf(3)
  slots.add(claimed(50, { type }))
  slots.add(claimed(50, { type }))
  await expect.poll(() => ended.length).toBe(100)
  expect(most).toBe(3)
  expect(slots.waiting).toBe(0)
})

test('of jobs whose lease is lost, those in line are forgotten and those that run are told', async () => {
  const told: unknown[] = []
  const type = defineType({
    type: 'told',
    async run(_, { signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      told.push(signal.reason)
    },
  })
  const { slots, ended } = slotsOf(2)
  slots.add(claimed(5, { type, lease: 'lost' }))
  slots.add(claimed(1, { type, lease: 'kept' }))
  await expect.poll(() => slots.running).toBe(2)
  expect(slots.loseLeases(new Set(['lost']))).toBe(5)
  await expect.poll(() => told.length).toBe(2)
  expect(told).toMatchObject([{ code: 'lease_lost' }, { code: 'lease_lost' }])
  expect([slots.running, slots.waiting, ended]).toEqual([1, 0, []])
  slots.handBackRunning()
  expect(ended).toEqual([{ job: 'job 0', outcome: { kind: 'handed_back' } }])
})
