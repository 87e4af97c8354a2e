import { defineType } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, type Serving, serve } from '../support/serving.js'
import { startTracing, traceparentOf } from '../support/traced.js'

const theirs = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
let serving: Serving
let worker: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'bill', maxAttempts: 3, backoff: { base: 0, jitter: 0 } })], {
    update: true,
  })
  worker = (await (await serving.call('POST', '/worker/register', { name: 'w', types: ['bill'] })).json()).worker
})
afterAll(() => serving.end())

const post = (path: string, body: unknown, traceparent: string) =>
  fetch(serving.address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', traceparent },
    body: JSON.stringify(body),
  })
const claim = async (limit = 1) =>
  (await (await serving.call('POST', '/worker/claim', { worker, limit, wait: '10s' })).json()).jobs
const settle = (jobs: { id: string; lease: string }[], more: object) =>
  serving.call('POST', '/worker/settle', { worker, results: jobs.map(({ id, lease }) => ({ job: id, lease, ...more })) })

describe('a traceparent that comes with a request', () => {
  test('reaches the remote worker with every attempt, though nobody traces in the server', async () => {
    const { id } = await (await post('/jobs', { type: 'bill', payload: {} }, theirs)).json()
    for (const attempt of [1, 2]) {
      const jobs = await claim()
      expect(jobs).toMatchObject([{ id, attempt, traceparent: theirs }])
      await settle(jobs, attempt === 1 ? { result: 'fail', error: { message: 'no' }, retry_after: 0 } : { result: 'complete' })
    }
  })

  test('is that of every job of a bulk that has none of its own', async () => {
    const own = theirs.replace('b7ad', 'beef')
    const jobs = [
      { type: 'bill', payload: 1 },
      { type: 'bill', payload: 2, traceparent: own },
    ]
    expect((await post('/jobs/bulk', { jobs }, theirs)).status).toBe(201)
    const claimed = await claim(2)
    expect(claimed.map((job: { traceparent: string }) => job.traceparent)).toEqual([theirs, own])
    await settle(claimed, { result: 'complete' })
  })

  test('is left aside where it is none, as its recommendation asks', async () => {
    for (const none of ['', 'x', theirs.toUpperCase(), theirs.replace('b7ad6b7169203331', '0000000000000000'), 'f'.repeat(300)]) {
      expect((await post('/jobs', { type: 'bill', payload: {} }, none)).status).toBe(201)
    }
    const claimed = await claim(100)
    expect(claimed.map((job: object) => 'traceparent' in job)).toEqual([false, false, false, false, false])
    await settle(claimed, { result: 'complete' })
    const refused = await serving.call('POST', '/jobs', { type: 'bill', payload: {}, traceparent: 'x' })
    expect([refused.status, (await refused.json()).field]).toEqual([400, 'traceparent'])
  })

  test('is continued by the span of a server that traces', async () => {
    const traced = startTracing()
    await post('/jobs', { type: 'bill', payload: {} }, theirs)
    const [span] = traced.named('holdfast.enqueue')
    expect(span?.parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331', traceId: '0af7651916cd43dd8448eb211c80319c' })
    const claimed = await claim()
    expect(claimed[0].traceparent).toBe(span && traceparentOf(span))
    await settle(claimed, { result: 'complete' })
  })

  test('is sent by the client where it is named', async () => {
    const client = new HoldfastClient({ url: serving.address, key: adminKey })
    await client.enqueue('bill', {}, { traceparent: theirs })
    const claimed = await claim()
    expect(claimed[0].traceparent).toBe(theirs)
    await settle(claimed, { result: 'complete' })
  })
})
