import { defineType } from 'holdfast'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { adminKey, type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
let worker: string
const type = defineType({ type: 'remote' })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([type], { update: true })
})
afterAll(() => serving.end())
beforeEach(async () => {
  await serving.holdfast.cancelMany({ all: true }, { by: 'the test before' })
  worker = (await ask('register', { name: 'w', types: ['remote'] })).worker
})

async function ask(path: string, body: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  return (await fetch(`${serving.address}/worker/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
}

/** A claimed job of this worker, and what it asks about its steps. */
async function claimed() {
  const [job] = (await ask('claim', { worker, wait: '20s' })).jobs
  const attempt = { worker, job: job.id as string, lease: job.lease as string }
  return {
    id: attempt.job,
    step: (name: string, kind: string, more: object = {}) => ask('step', { ...attempt, name, kind, ...more }),
    steps: async () => (await ask('steps', attempt)).steps,
    settle: async (result: string, more: object = {}) => {
      const { job, lease } = attempt
      const answer = await ask('settle', { worker, results: [{ job, lease, result, ...more }] })
      return answer.results?.[0] ?? answer
    },
  }
}

test('a step is stored once, and the next attempt reads it', async () => {
  await serving.holdfast.enqueue(type, {})
  const first = await claimed()
  expect(await first.steps()).toEqual([])
  const stored = { name: 'one', kind: 'step', state: 'completed', result: { n: 1 } }
  expect(await first.step('one', 'step', { after: 0, result: { n: 1 } })).toEqual(stored)
  expect(await first.step('one', 'step', { after: 0, result: { n: 2 } })).toEqual(stored)
  expect(await first.step('mail', 'once', { after: 1 })).toEqual({ name: 'mail', kind: 'once', state: 'completed' })
  await first.settle('hand_back')
  const second = await claimed()
  expect(await second.steps()).toEqual([
    { ...stored, position: 1, after: 0, done: 1 },
    { name: 'mail', kind: 'once', state: 'completed', position: 2, after: 1, done: 2 },
  ])
  // The first worker's lease is gone: it can neither read nor write.
  expect(await first.step('two', 'step', { after: 2 })).toMatchObject({ status: 409, code: 'lease_lost' })
  expect(await first.steps()).toBeUndefined()
  await second.settle('complete')
})

test('a wait blocks the job until its signal comes, which is delivered once', async () => {
  const { id } = await serving.holdfast.enqueue(type, {})
  const first = await claimed()
  expect(await first.step('go', 'signal', { after: 0 })).toEqual({ name: 'go', kind: 'signal', state: 'waiting' })
  expect(await first.settle('block')).toMatchObject({ settled: true })
  expect((await serving.holdfast.job(id))?.status).toBe('blocked')
  await serving.holdfast.signal(id, 'go', 'at last')
  const second = await claimed()
  expect(await second.step('go', 'signal', { after: 0 })).toMatchObject({ state: 'completed', result: 'at last' })
  expect(await second.step('go#2', 'signal', { after: 1, duration: '1h' })).toMatchObject({
    state: 'waiting',
    left_ms: expect.any(Number),
  })
  await second.settle('complete')
})

test('a job is not blocked without a wait, and the worker is told what to store first', async () => {
  const { id } = await serving.holdfast.enqueue(type, {})
  const first = await claimed()
  await first.step('nap', 'sleep', { after: 0, duration: '1h' })
  expect(await first.settle('block')).toMatchObject({
    status: 400,
    field: 'results[0].result',
    detail: expect.stringMatching(/waits for no signal; store the wait first/),
  })
  expect((await serving.holdfast.job(id))?.status).toBe('processing')
  expect(await first.settle('complete')).toMatchObject({ settled: true })
})

test('a step that is not where an earlier attempt had it is refused, and both are named', async () => {
  await serving.holdfast.enqueue(type, {})
  const job = await claimed()
  await job.step('one', 'step', { after: 0 })
  await job.step('two', 'step', { after: 1 })
  expect(await job.step('other', 'step', { after: 1 })).toMatchObject({
    code: 'step_changed',
    detail: expect.stringMatching(/"other".*"two"/),
  })
  expect(await job.step('two', 'step', { after: 0 })).toMatchObject({
    code: 'step_changed',
    detail: expect.stringMatching(/"two".*"one"/),
  })
  expect(await job.step('one', 'sleep', { after: 0, duration: 1 })).toMatchObject({
    code: 'step_changed',
    detail: expect.stringMatching(/was stored as a step/),
  })
  await job.settle('complete')
})

test('what is not for its kind is refused by name', async () => {
  await serving.holdfast.enqueue(type, {})
  const job = await claimed()
  expect(await job.step('nap', 'sleep')).toMatchObject({ status: 400, field: 'duration' })
  expect(await job.step('nap', 'sleep', { duration: '1s', result: 1 })).toMatchObject({ status: 400, field: 'result' })
  expect(await job.step('one', 'step', { duration: '1s' })).toMatchObject({ status: 400, field: 'duration' })
  expect(await job.step('one#two', 'step')).toMatchObject({ status: 400, field: 'name' })
  expect(await job.step('one', 'step', { result: { $enc: 1 } })).toMatchObject({ status: 400, field: 'result' })
  await job.settle('complete')
})
