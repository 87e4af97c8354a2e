import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { onceThereIsTime, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const greet = defineType({ type: 'greet', run() {} })
const other = defineType({ type: 'other' })
const nobody = '01900000-0000-7000-8000-00000000dead'

let serving: Serving
let call: Contract
let billing: string
let shipping: string
let operator: string
let colleague: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet, other])
  call = await contractOf(serving, { comesBack: true })
  const key = async (service: string, role: string) =>
    (await serving.holdfast.access.createKey({ service, roles: [role] }, who)).key
  billing = await key('billing', 'producer')
  shipping = await key('shipping', 'producer')
  operator = await key('on-call', 'operator')
  colleague = await key('colleague', 'operator')
})
afterAll(() => serving.end())

async function enqueue(job: object = {}, key = billing): Promise<string> {
  return (await call('POST', '/jobs', { type: 'greet', payload: {}, delay: '1h', ...job }, key)).body.id
}

describe('POST /jobs', () => {
  test('takes every option the library has, under the names of the API', async () => {
    const id = await enqueue({ concurrency_key: 'tenant 7', approval: { quorum: 2, deadline: '1h', on_deadline: 'approve' } })
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({
      owner: 'billing',
      concurrency_key: 'tenant 7',
      status: 'awaiting_approval',
      approval: { quorum: 2, on_deadline: 'approve', verdicts: [] },
    })
    const unique = { unique: { key: 'only-one', on_conflict: 'existing' } }
    const first = await enqueue(unique)
    const again = await call('POST', '/jobs', { type: 'greet', payload: {}, delay: '1h', ...unique }, billing)
    expect(again).toMatchObject({ status: 200, body: { id: first, status: 'existing' } })
  })

  test.each([
    ['unique.on_conflict', { unique: { on_conflict: 'exsting' } }],
    ['unique.max_wait', { unique: { on_conflict: 'debounce', delay: '1m', max_wait: '1s' }, delay: undefined }],
    ['approval.quorum', { approval: { quorum: 0 } }],
  ])('names %s as the caller wrote it', async (field, job) => {
    const { status, body } = await call('POST', '/jobs', { type: 'greet', payload: {}, ...job })
    expect(status).toBe(400)
    expect(body.detail + body.field).toContain(field.split('.')[0])
  })

  test('answers 409 where another job has the unique key, and 429 with Retry-After where too much waits', async () => {
    await enqueue({ unique: { key: 'taken' } })
    const again = await call('POST', '/jobs', { type: 'greet', payload: {}, unique: { key: 'taken' } }, billing)
    expect(again).toMatchObject({ status: 409, body: { code: 'unique_conflict' } })
    await serving.holdfast.flow.limitDepth({ type: 'other' }, { hard: 1 }, who)
    await serving.holdfast.enqueue(other, {})
    await insideOf(serving.holdfast).store.operate.measureDepths()
    for (const refused of [
      await call('POST', '/jobs/bulk', { jobs: [1, 2, 3].map((n) => ({ type: 'other', payload: n })) }, billing),
      await call('POST', '/jobs', { type: 'other', payload: {}, priority: 9 }, billing),
    ]) {
      expect(refused).toMatchObject({ status: 429, body: { code: 'too_much_waiting' } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(5)
    }
    expect((await call('GET', '/jobs?type=other', undefined, billing)).body.jobs).toEqual([])
    await serving.holdfast.flow.limitDepth({ type: 'other' }, {}, who)
  })
})

describe('POST /jobs/bulk', () => {
  test('spreads paced jobs over time, behind those of an earlier request', async () => {
    const jobs = Array.from({ length: 10 }, () => ({ type: 'other', payload: {} }))
    for (let nth = 0; nth < 2; nth++) expect((await call('POST', '/jobs/bulk', { jobs, pace: 1 }, billing)).status).toBe(201)
    const { rows } = await serving.sql.query(`
      select extract(epoch from max(b.run_at) - min(b.run_at))::float8 as seconds, count(*)::int as jobs, max(b.priority)::int as priority
      from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where t.name = 'other' and b.run_at is not null`)
    expect(rows[0]).toMatchObject({ jobs: 20, priority: 2 })
    expect(rows[0].seconds).toBeGreaterThanOrEqual(18.9)
    const wrong = await call('POST', '/jobs/bulk', { jobs, pace: 0 }, billing)
    expect(wrong).toMatchObject({ status: 400, body: { field: 'pace' } })
    await serving.holdfast.cancelMany({ type: 'other' }, who)
  })

  test('stores up to 100 jobs and answers in their order', async () => {
    const jobs = Array.from({ length: 100 }, (_, n) => ({ type: 'greet', payload: { n }, delay: '1h' }))
    const { status, body } = await onceThereIsTime(() => call('POST', '/jobs/bulk', { jobs }, billing))
    expect(status).toBe(201)
    expect(body.jobs).toHaveLength(100)
    expect((await call('GET', `/jobs/${body.jobs[41].id}`, undefined, billing)).body.payload).toEqual({ n: 41 })
  })

  test('stores all or none, and names the path of what is wrong', async () => {
    const before = (await call('GET', '/jobs', undefined, shipping)).body.jobs.length
    const good = { type: 'greet', payload: {} }
    for (const [bad, code, field] of [
      [{ ...good, priority: 11 }, 'invalid_option', 'jobs[1].priority'],
      [{ ...good, delay: 'soonish' }, 'invalid_option', 'jobs[1].delay'],
      [{ ...good, prioritty: 1 }, 'invalid_option', 'jobs[1].prioritty'],
      [{ ...good, type: 'unheard_of' }, 'unknown_type', 'jobs[1].type'],
    ] as const) {
      const { body } = await call('POST', '/jobs/bulk', { jobs: [good, bad] }, shipping)
      expect(body).toMatchObject({ code, field })
    }
    expect((await call('GET', '/jobs', undefined, shipping)).body.jobs).toHaveLength(before)
    const many = Array.from({ length: 101 }, () => good)
    expect((await call('POST', '/jobs/bulk', { jobs: many })).body).toMatchObject({
      field: 'jobs',
      detail: expect.stringMatching(/101 entries/),
    })
    expect((await call('POST', '/jobs/bulk', { jobs: [] })).status).toBe(400)
  })

  test('takes a hundred payloads of the largest size', async () => {
    const jobs = Array.from({ length: 100 }, () => ({ type: 'greet', payload: 'x'.repeat(65_000), delay: '1h' }))
    expect((await call('POST', '/jobs/bulk', { jobs })).status).toBe(201)
  })
})

describe('one job', () => {
  test('of another service is not found: neither seen, explained, waited for, streamed, cancelled nor approved', async () => {
    const id = await enqueue({ approval: true })
    for (const [method, path] of [
      ['GET', `/jobs/${id}`],
      ['GET', `/jobs/${id}/explain`],
      ['GET', `/jobs/${id}/wait?timeout=1s`],
      ['GET', `/jobs/${id}/stream`],
      ['DELETE', `/jobs/${id}`],
      ['POST', `/jobs/${id}/approve`],
    ] as const) {
      expect((await call(method, path, undefined, shipping)).status, path).toBe(404)
    }
    expect((await call('GET', `/jobs/${id}`, undefined, billing)).body.status).toBe('awaiting_approval')
  })

  test('is explained: the gates that are shut', async () => {
    const { body } = await call('GET', `/jobs/${await enqueue()}/explain`, undefined, billing)
    expect(body).toMatchObject({ type: 'greet', status: 'scheduled' })
    expect(body.gates[0]).toMatchObject({ gate: 'scheduled', held_by: [], opens_in_ms: expect.any(Number) })
    expect((await call('GET', `/jobs/${nobody}/explain`)).status).toBe(404)
  })

  test('is cancelled by who enqueued it; twice is 409 with the reason', async () => {
    const id = await enqueue()
    const cancelled = await call('DELETE', `/jobs/${id}?why=no%20longer`, undefined, billing)
    expect(cancelled).toMatchObject({ status: 200, body: { id, done: true, was: 'scheduled', status: 'cancelled' } })
    const again = await call('DELETE', `/jobs/${id}`, undefined, billing)
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict', detail: expect.stringMatching(/already cancelled/) } })
    expect((await call('DELETE', `/jobs/${nobody}`)).status).toBe(404)
    const [line] = await serving.holdfast.audit({ target: id })
    expect(line).toMatchObject({ actor: 'billing', origin: '127.0.0.1', action: 'cancel_job', why: 'no longer' })
  })

  test('that has ended is deleted when that is asked for: nothing of it is left but a line of the audit log', async () => {
    const secret = 'a secret of Ada'
    const id = await enqueue({ payload: { secret }, idempotency_key: 'forgettable' })
    const path = `/jobs/${id}?forget=true&why=asked%20for`
    expect((await call('DELETE', path, undefined, billing)).body).toMatchObject({
      status: 409,
      detail: expect.stringMatching(/has not ended/),
    })
    await call('DELETE', `/jobs/${id}`, undefined, billing)
    expect((await call('DELETE', path, undefined, shipping)).status).toBe(404)
    expect((await call('DELETE', path, undefined, billing)).body).toEqual({
      id,
      done: true,
      was: 'cancelled',
      status: 'cancelled',
    })
    expect((await call('GET', `/jobs/${id}`, undefined, billing)).status).toBe(404)
    expect((await call('DELETE', path, undefined, billing)).status).toBe(404)
    const { rows } = await serving.sql.query(
      "select table_name as name from information_schema.tables where table_schema = 'holdfast'",
    )
    const holding = async (name: string, text: string) =>
      (await serving.sql.query(`select from holdfast."${name}" as t where to_jsonb(t)::text like $1`, [`%${text}%`])).rowCount
    const holders: string[] = []
    for (const { name } of rows) {
      expect(await holding(name, secret), name).toBe(0)
      if ((await holding(name, id)) !== 0) holders.push(name)
    }
    expect(holders.sort()).toEqual(['audit_log', 'idempotency_keys'])
    expect(await serving.holdfast.audit({ action: 'forget_job' })).toMatchObject([
      { actor: 'billing', target: id, before: { type: 'greet', status: 'cancelled' }, after: null, why: 'asked for' },
    ])
    // What was done once is not done again because it was forgotten.
    const again = await call('POST', '/jobs', { type: 'greet', payload: {}, idempotency_key: 'forgettable' }, billing)
    expect(again).toMatchObject({ status: 200, body: { id, status: 'existing' } })
  })

  test('is resumed by its service after it was cancelled, and no other', async () => {
    const id = await enqueue({ delay: '1h' })
    await call('DELETE', `/jobs/${id}`, undefined, billing)
    expect((await call('POST', `/jobs/${id}/resume`, {}, shipping)).status).toBe(404)
    const resumed = await call('POST', `/jobs/${id}/resume`, { why: 'needed after all' }, billing)
    expect(resumed).toMatchObject({ status: 200, body: { id, done: true, was: 'cancelled', status: 'scheduled' } })
    const again = await call('POST', `/jobs/${id}/resume`, {}, billing)
    expect(again.body).toMatchObject({
      status: 409,
      code: 'conflict',
      detail: expect.stringMatching(/already resumed by billing and is scheduled/),
    })
  })

  test('is approved by as many others as it needs, and never by who asked for it', async () => {
    const id = await enqueue({ approval: { quorum: 2 } })
    expect((await call('POST', `/jobs/${id}/approve`, {}, billing)).status).toBe(403)
    const once = await call('POST', `/jobs/${id}/approve`, { why: 'fine' }, operator)
    expect(once.body).toMatchObject({ done: true, status: 'awaiting_approval', approvals: 1, quorum: 2 })
    expect((await call('POST', `/jobs/${id}/approve`, {}, operator)).body).toMatchObject({
      code: 'conflict',
      detail: expect.stringMatching(/on-call has/),
    })
    expect((await call('POST', `/jobs/${id}/approve`, {}, colleague)).body).toMatchObject({ status: 'scheduled', approvals: 2 })
    expect((await call('POST', `/jobs/${id}/approve`, {}, colleague)).status).toBe(409)
    expect((await call('GET', `/jobs/${id}`, undefined, billing)).body.approval.verdicts).toMatchObject([
      { by: 'on-call', verdict: 'approve', why: 'fine' },
      { by: 'colleague', verdict: 'approve', why: null },
    ])
  })

  test('is rejected with a reason and not without one', async () => {
    const id = await enqueue({ approval: true })
    expect((await call('POST', `/jobs/${id}/reject`, {}, operator)).body).toMatchObject({ status: 400, field: 'why' })
    expect((await call('POST', `/jobs/${id}/reject`, { why: 'too dear' }, operator)).body).toMatchObject({ status: 'cancelled' })
  })

  test('is waited for: until it has ended, or as long as asked', async () => {
    const late = await enqueue()
    expect((await call('GET', `/jobs/${late}/wait?timeout=50ms`, undefined, billing)).body.status).toBe('scheduled')
    const worker = await startWorker(serving.holdfast, [greet], { logger: quiet })
    const { body } = await call('GET', `/jobs/${await enqueue({ delay: '300ms' })}/wait?timeout=30s`, undefined, billing)
    expect(body).toMatchObject({ status: 'completed', attempts: [{ outcome: 'completed' }] })
    await worker.stop()
    for (const timeout of ['61s', '-1', '1e9', 'NaN', '', '30', 'x'.repeat(300)]) {
      expect((await call('GET', `/jobs/${late}/wait?timeout=${timeout}`)).status, timeout).toBe(400)
    }
  })
})
