import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { defineType, RetryableError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { repository } from '../support/source.js'
import { startTracing, traceparentOf } from '../support/traced.js'
import { startHere } from '../support/worker-here.js'

const completed = async (queue: Queue, id: string) => (await queue.holdfast.job(id))?.status === 'completed'
const stored = async (queue: Queue) =>
  (await queue.sql('select traceparent from holdfast.bodies order by id')).map((r) => r.traceparent)

describe('a job that is enqueued under a span', () => {
  test('belongs to its trace, and so does every attempt and what the handler does in it', async () => {
    const queue = await makeQueue()
    const traced = startTracing()
    const type = defineType({
      type: 'bill',
      async run(_, { job }) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        trace.getTracer('ours').startSpan(`handler ${job.attempt}`).end()
        if (job.attempt < 3) throw new RetryableError(`not yet: ${job.attempt}`, { after: 1 })
      },
    })
    const { id } = await trace.getTracer('ours').startActiveSpan('request', async (span) => {
      const enqueued = await queue.holdfast.enqueue(type, {})
      span.end()
      return enqueued
    })
    await startHere(queue, [type])
    await eventually(() => completed(queue, id))
    await eventually(() => traced.named('holdfast.attempt').length === 3)

    const [request] = traced.named('request')
    const [enqueue] = traced.named('holdfast.enqueue')
    const attempts = traced.named('holdfast.attempt')
    if (!request || !enqueue) throw new Error('a span is missing')
    const { traceId } = request.spanContext()
    expect(enqueue.parentSpanContext?.spanId).toBe(request.spanContext().spanId)
    expect(enqueue.kind).toBe(SpanKind.PRODUCER)
    expect(enqueue.attributes).toEqual({
      'messaging.system': 'holdfast',
      'messaging.operation.name': 'enqueue',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'bill',
      'messaging.message.id': id,
    })
    expect(await stored(queue)).toEqual([traceparentOf(enqueue)])
    attempts.forEach((attempt, i) => {
      expect(attempt.kind).toBe(SpanKind.CONSUMER)
      expect(attempt.spanContext().traceId).toBe(traceId)
      expect(attempt.parentSpanContext?.spanId).toBe(enqueue.spanContext().spanId)
      expect(attempt.attributes).toMatchObject({
        'messaging.operation.type': 'process',
        'messaging.message.id': id,
        'holdfast.job.attempt': i + 1,
        'holdfast.job.max_attempts': 5,
        'holdfast.outcome': i < 2 ? 'failed' : 'completed',
      })
      const [own] = traced.named(`handler ${i + 1}`)
      expect(own?.parentSpanContext?.spanId).toBe(attempt.spanContext().spanId)
    })
    expect(attempts.map((span) => span.status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR, SpanStatusCode.UNSET])
    expect(attempts[0]?.attributes['error.type']).toBe('RetryableError')
    expect(attempts[0]?.events[0]?.attributes).toMatchObject({ 'exception.message': 'not yet: 1' })
  })

  test('runs under its span in a thread and in a process as well', async () => {
    const queue = await makeQueue()
    const traced = startTracing()
    await startHere(queue, new URL('../support/traced-handlers.mjs', import.meta.url))
    for (const type of ['say_thread', 'say_process']) {
      const { id } = await queue.holdfast.enqueue(type, {})
      await eventually(async () => (await queue.holdfast.log(id)).length === 1)
      const attempt = await eventually(() =>
        traced.named('holdfast.attempt').find((span) => span.attributes['messaging.message.id'] === id),
      )
      expect((await queue.holdfast.log(id))[0]?.line).toBe(attempt?.spanContext().spanId)
    }
  })

  test('keeps the trace it was given by name, beside others in one call', async () => {
    const queue = await makeQueue()
    const traced = startTracing()
    await queue.holdfast.registerTypes([defineType({ type: 'bill' })])
    const theirs = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await queue.holdfast.enqueueMany([
      { type: 'bill', payload: 1, traceparent: theirs },
      { type: 'bill', payload: 2 },
    ])
    const [span] = traced.named('holdfast.enqueue')
    expect(span?.attributes['messaging.batch.message_count']).toBe(2)
    expect((await stored(queue)).sort()).toEqual([theirs, span && traceparentOf(span)].sort())
    await expect(queue.holdfast.enqueue('bill', 3, { traceparent: 'mine' })).rejects.toMatchObject({
      code: 'invalid_option',
      field: 'traceparent',
    })
  })

  test('gives its trace to the job it replaces, and the job behind the running one has its own', async () => {
    const queue = await makeQueue()
    await queue.holdfast.registerTypes([defineType({ type: 'sync' })])
    const name = (n: number) => `00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333${n}-01`
    const enqueue = (n: number, onConflict: 'replace' | 'one_more') =>
      queue.holdfast.enqueue('sync', n, { traceparent: name(n), unique: { key: 'one', onConflict } })
    await enqueue(1, 'replace')
    expect(await enqueue(2, 'replace')).toMatchObject({ status: 'replaced' })
    expect(await stored(queue)).toEqual([name(2)])
    const claim =
      'select unnest(ids) from holdfast.claim_jobs(1, 1::smallint, null, 1, 60000, array_fill(0, array[10])::bigint[])'
    expect(await queue.sql(claim)).toHaveLength(1)
    expect(await enqueue(3, 'one_more')).toMatchObject({ status: 'queued_behind' })
    expect(await stored(queue)).toEqual([name(2), name(3)])
  })
})

test('what fails is told: an enqueue the database refuses, and how long everything took', async () => {
  const queue = await makeQueue()
  const traced = startTracing()
  const type = defineType({ type: 'bill', run() {} })
  await expect(queue.holdfast.enqueue('bil', {})).rejects.toThrow('no job type')
  await startHere(queue, [type])
  const { id } = await queue.holdfast.enqueue('bill', {})
  await eventually(() => completed(queue, id))
  const [refused] = traced.named('holdfast.enqueue')
  expect(refused?.status.code).toBe(SpanStatusCode.ERROR)
  expect(refused?.attributes['error.type']).toBe('unknown_type')
  const metrics = await traced.metrics()
  const of = (name: string) => metrics.get(name)?.dataPoints.map(({ attributes }) => attributes) ?? []
  expect(of('messaging.client.sent.messages')).toMatchObject([
    { 'error.type': 'unknown_type' },
    { 'messaging.destination.name': 'bill' },
  ])
  expect(metrics.get('messaging.client.operation.duration')?.unit).toBe('s')
  expect(of('messaging.process.duration')).toMatchObject([{ 'holdfast.outcome': 'completed', 'messaging.system': 'holdfast' }])
})

test('without OpenTelemetry nothing of it is stored, and its package is not even loaded', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([defineType({ type: 'bill' })])
  const program = `
    import { createRequire } from 'node:module'
    import { Holdfast, defineType } from 'holdfast'
    import { startWorker } from 'holdfast/worker'
    const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
    let ran
    const done = new Promise((resolve) => { ran = resolve })
    const worker = await startWorker(holdfast, [defineType({ type: 'bill', run: () => ran() })], { logger: { info() {}, warn() {}, error() {} } })
    await holdfast.enqueue('bill', {})
    await done
    await worker.stop()
    await holdfast.close()
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    console.log(loaded.some((file) => file.includes('/pg/')), loaded.filter((file) => file.includes('opentelemetry')).length)`
  const env = { ...process.env, DATABASE_URL: queue.url }
  const options = { cwd: repository, env, timeout: 60_000 }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options)
  expect(stdout.trim()).toBe('true 0')
  expect(await stored(queue)).toEqual([null])
})

test('what the worker does after an attempt is not under its span', async () => {
  const queue = await makeQueue()
  startTracing()
  const type = defineType({ type: 'bill', run() {} })
  const worker = await startHere(queue, [type])
  const seen = new Promise((resolve) => worker.events.on('job.completed', () => resolve(trace.getSpan(context.active()))))
  await queue.holdfast.enqueue(type, {})
  expect(await seen).toBeUndefined()
})
