import { describe, expect, test } from 'vitest'
import { LeaseLostError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { RunContext } from '../job/run-context.js'
import { defineType } from '../job/type.js'
import { Attempt } from './attempt.js'
import { AttemptContext } from './context.js'
import type { AttemptServices } from './services.js'

const job: ClaimedJob = {
  id: '01890000-0000-7000-8000-000000000001',
  lease: '9007199254740993',
  type: defineType({ type: 'seen' }),
  lane: 1,
  priority: 5,
  attempt: 2,
  maxAttempts: 3,
  createdAtMs: 0,
  payload: '{}',
  claimedAtMs: 0,
}

function contextOf(over: Partial<AttemptServices> = {}): RunContext {
  const services: AttemptServices = {
    extendLease: async () => true,
    log: () => {},
    saveCheckpoint: async () => true,
    readCheckpoint: async () => null,
    readTask: async () => null,
    completion: async () => ({ text: '', values: [] }),
    completionStands: async () => 'open',
    readSteps: async () => [],
    saveStep: async () => true,
    waitStep: async () => ({ held: true, state: 'completed', result: null, left: null }),
    ...over,
  }
  return new AttemptContext(new Attempt(job, services, { ended: () => {}, overran: () => {}, escaped: () => {} }))
}

describe('what a handler is given', () => {
  test('can be taken apart by name, and every part still works', async () => {
    const asked: number[] = []
    const context = contextOf({ extendLease: async (_, ms) => asked.push(ms) > 0 })
    const { job: about, signal, fence, extendLease, snooze } = context
    expect(about).toEqual({ id: job.id, type: 'seen', priority: 5, attempt: 2, maxAttempts: 3, createdAt: new Date(0) })
    expect(signal.aborted).toBe(false)
    expect(fence).toBe(9007199254740993n)
    await extendLease('2m')
    expect(asked).toEqual([120_000])
    expect(snooze('1s').delayMs).toBe(1_000)
  })

  test('refuses a duration that is none by rejecting, not by throwing on the spot', async () => {
    await expect(contextOf().extendLease('soon')).rejects.toThrow('extendLease')
  })

  test('tells that the lease is lost', async () => {
    const context = contextOf({ extendLease: async () => false })
    await expect(context.extendLease('1m')).rejects.toBeInstanceOf(LeaseLostError)
  })

  test('says to the compiler that a spread copy has no signal', () => {
    const copy = { ...contextOf() }
    // @ts-expect-error: the signal is not copied, and the types know
    expect(copy.signal).toBeUndefined()
    expect(copy.job.id).toBe(job.id)
  })
})
