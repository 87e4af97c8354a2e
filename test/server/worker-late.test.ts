import { defineType } from 'holdfast'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
let worker: string
const type = defineType({
  type: 'remote',
  maxAttempts: 3,
  backoff: { base: 1, factor: 1, jitter: 0 },
  limits: { breaker: false },
})
const error = { message: 'no' }

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([type], { update: true })
})
afterAll(() => serving.end())
beforeEach(async () => {
  await serving.holdfast.cancelMany({ all: true }, { by: 'the test before' })
  worker = await registered()
})

const ask = async (path: string, body: unknown): Promise<Answer> => (await serving.call('POST', `/worker/${path}`, body)).json()
const registered = async (types = ['remote']) => (await ask('register', { name: 'w', types })).worker as string
const claimed = async (by = worker) =>
  eventually(async () => (await ask('claim', { worker: by, wait: '20s' })).jobs[0] as Answer, { within: 30_000 })
const enqueued = async () => {
  const { id } = await serving.holdfast.enqueue(type, {})
  const job = await claimed()
  expect(job.id).toBe(id)
  return job
}
const settle = async ({ id: job, lease }: Answer, result: string, more: object = {}, by = worker) =>
  (await ask('settle', { worker: by, results: [{ job, lease, result, ...more }] })).results[0]
const outcomes = async (id: string) => (await serving.holdfast.job(id))?.attempts.map(({ outcome }) => outcome)

describe('a result that comes late is answered by its job and its lease', () => {
  test('complete after the same attempt failed: nothing is written, and the failure is named', async () => {
    const job = await enqueued()
    expect(await settle(job, 'fail', { error, timed_out: true })).toMatchObject({ job: job.id, settled: true })
    expect(await settle(job, 'complete')).toEqual({
      ...{ job: job.id, settled: false, code: 'lease_lost' },
      stands: { outcome: 'timed_out', attempt: 1, ended_at: expect.stringMatching(/Z$/) },
    })
    expect(await settle(job, 'fail', { error, timed_out: true })).toMatchObject({ job: job.id, settled: true, already: true })
    expect(await outcomes(job.id)).toEqual(['timed_out'])
  })

  test('also while other jobs of the same claim still run under the lease', async () => {
    await serving.holdfast.enqueueMany([type.job({}), type.job({})])
    const jobs = (await ask('claim', { worker, limit: 2, wait: '20s' })).jobs as Answer[]
    expect(new Set(jobs.map(({ lease }) => lease)).size).toBe(1)
    await settle(jobs[0], 'fail', { error })
    expect(await settle(jobs[0], 'fail', { error })).toMatchObject({ job: jobs[0].id, settled: true, already: true })
    expect(await settle(jobs[0], 'complete')).toMatchObject({ settled: false, stands: { outcome: 'failed' } })
    expect(await settle(jobs[1], 'complete')).toMatchObject({ job: jobs[1].id, settled: true })
  })

  test('complete after a hand-back: the job is not done, whoever has it next', async () => {
    const job = await enqueued()
    expect(await settle(job, 'hand_back', { ran_ms: 1 })).toMatchObject({ job: job.id, settled: true })
    expect(await settle(job, 'complete')).toMatchObject({ settled: false, stands: { outcome: 'handed_back', attempt: 1 } })
    const again = await claimed()
    expect(again.id).toBe(job.id)
    expect(await settle(again, 'complete')).toMatchObject({ job: job.id, settled: true })
    expect(await settle(job, 'complete')).toMatchObject({ settled: false, stands: { outcome: 'handed_back' } })
    expect(await settle(job, 'hand_back', { ran_ms: 1 })).toMatchObject({ settled: true, already: true })
    expect(await settle(again, 'complete')).toMatchObject({ job: job.id, settled: true, already: true })
    expect(await outcomes(job.id)).toEqual(['handed_back', 'completed'])
  })

  test('complete under the lease of an earlier attempt, of another worker, and under one that never was', async () => {
    const first = await enqueued()
    await settle(first, 'fail', { error })
    const second = await claimed()
    expect(second).toMatchObject({ id: first.id, attempt: 2 })
    await settle(second, 'complete')
    expect(await settle(first, 'complete')).toMatchObject({ settled: false, stands: { outcome: 'failed', attempt: 1 } })
    expect(await settle({ ...first, lease: '999999999' }, 'complete')).toMatchObject({
      ...{ settled: false, code: 'lease_lost' },
      stands: { outcome: 'completed', attempt: 2 },
    })
    const other = await registered()
    expect(await settle(second, 'complete', {}, other)).toMatchObject({ settled: false, stands: { outcome: 'completed' } })
    expect(await outcomes(first.id)).toEqual(['failed', 'completed'])
  })

  test('a worker of other types is not told how a job ended', async () => {
    await serving.holdfast.registerTypes([defineType({ type: 'elsewhere' })], { update: true })
    const job = await enqueued()
    await settle(job, 'complete')
    const answer = await settle(job, 'complete', {}, await registered(['elsewhere']))
    expect(answer).toEqual({ job: job.id, settled: false, code: 'lease_lost' })
  })
})

test('a job past its timeout and the grace is taken back although heartbeats go on, and its worker is told', async () => {
  await serving.holdfast.flow.setSetting('remote_grace', 0, { by: 'ada' })
  const short = defineType({ type: 'short', timeout: '2s', maxAttempts: 2 })
  await serving.holdfast.registerTypes([short], { update: true })
  const by = await registered(['short'])
  const { id } = await serving.holdfast.enqueue(short, {})
  const job = (await ask('claim', { worker: by, lease: '1s', wait: '20s' })).jobs[0] as Answer
  expect(job.id).toBe(id)
  const beat = async () => (await ask('heartbeat', { worker: by, leases: [job.lease], lease: '1s' })).lost as string[]
  expect(await beat()).toEqual([])
  // The server rescues what runs out; a heartbeat every tenth of a second would keep the lease for ever.
  await eventually(async () => (await beat()).includes(job.lease))
  expect(await outcomes(id)).toEqual(['lease_expired'])
  await serving.holdfast.flow.setSetting('remote_grace', null, { by: 'ada' })
})
