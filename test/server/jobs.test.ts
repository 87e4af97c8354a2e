import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { quiet, type Serving, serve } from '../support/serving.js'

const greet = defineType({
  type: 'greet',
  backoff: { base: 0, jitter: 0 },
  async run(payload, { job }) {
    if (job.attempt < ((payload as { fails?: number }).fails ?? 0) + 1) throw new Error('not yet')
  },
})

let serving: Serving
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet], { update: true })
})
afterAll(() => serving.end())

describe('POST /jobs', () => {
  test('stores a job with all its options and answers 201 with its id', async () => {
    const response = await serving.post({
      type: 'greet',
      payload: { name: 'Ada', tags: ['é', '日本'], deep: { __proto__: null } },
      priority: 9,
      max_attempts: 3,
      delay: '1h',
      idempotency_key: 'greet:ada',
    })
    expect(response.status).toBe(201)
    const { id, status } = (await response.json()) as { id: string; status: string }
    expect(status).toBe('created')
    expect(response.headers.get('location')).toBe(`/jobs/${id}`)
    expect(await (await serving.ask(`/jobs/${id}`)).json()).toMatchObject({
      id,
      type: 'greet',
      status: 'scheduled',
      payload: { name: 'Ada', tags: ['é', '日本'], deep: {} },
      priority: 9,
      max_attempts: 3,
      idempotency_key: 'greet:ada',
      attempts: [],
    })
  })

  test('answers 200 with the first job where id or idempotency key exist already', async () => {
    const job = { type: 'greet', payload: {}, delay: '1h' }
    const first = await (await serving.post({ ...job, idempotency_key: 'twice' })).json()
    const again = await serving.post({ ...job, idempotency_key: 'twice' })
    expect(again.status).toBe(200)
    expect(await again.json()).toEqual({ ...(first as object), status: 'existing' })
    const hex = Date.now().toString(16).padStart(12, '0')
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`
    expect((await serving.post({ ...job, id })).status).toBe(201)
    expect((await serving.post({ ...job, id })).status).toBe(200)
  })

  test('takes run_at as a time with its zone', async () => {
    const response = await serving.post({ type: 'greet', payload: {}, run_at: '2099-12-31T23:30:00+02:00' })
    const { id } = (await response.json()) as { id: string }
    expect(await (await serving.ask(`/jobs/${id}`)).json()).toMatchObject({ due_at: '2099-12-31T21:30:00.000Z' })
  })

  test('keeps __proto__ as a property like any other, and pollutes nothing', async () => {
    const payload = '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}'
    const response = await serving.post(`{"type": "greet", "payload": ${payload}, "delay": "1h"}`)
    expect(response.status).toBe(201)
    const { id } = (await response.json()) as { id: string }
    expect(await (await serving.ask(`/jobs/${id}`)).text()).toContain('"payload":{"__proto__":{"polluted":true}')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  const job = { type: 'greet', payload: {} }
  test.each([
    ['an unknown field, by name', { ...job, prioritty: 9 }, 400, 'invalid_option', 'prioritty', /did you mean "priority"/],
    ['the name the library uses', { ...job, maxAttempts: 9 }, 400, 'invalid_option', 'maxAttempts', /"max_attempts"/],
    ['a priority of 10', { ...job, priority: 10 }, 400, 'invalid_option', 'priority', /from 0 to 9/],
    ['max_attempts of 0', { ...job, max_attempts: 0 }, 400, 'invalid_option', 'max_attempts', /^max_attempts is 0; /],
    ['an empty idempotency_key', { ...job, idempotency_key: '' }, 400, 'invalid_option', 'idempotency_key', /^idempotency_key /],
    ['a time without zone', { ...job, run_at: '2030-01-01T00:00:00' }, 400, 'invalid_option', 'run_at', /with its zone/],
    ['a delay that is none', { ...job, delay: 'soon' }, 400, 'invalid_option', 'delay', /"soon"/],
    ['an id that is no UUIDv7', { ...job, id: 'mine' }, 400, 'invalid_option', 'id', /idempotency_key/],
    ['delay and run_at together', { ...job, delay: 1, run_at: '2030-01-01T00:00:00Z' }, 400, 'invalid_option', 'delay', /run_at/],
    ['a missing payload', { type: 'greet' }, 400, 'invalid_option', 'payload', /missing/],
    ['a missing type', { payload: {} }, 400, 'invalid_option', 'type', /name of a job type/],
    ['a type nobody registered', { ...job, type: 'greeet' }, 422, 'unknown_type', 'type', /did you mean "greet"/],
    ['a type with NUL', { ...job, type: 'gr\0eet' }, 400, 'invalid_option', 'type', /name of a job type/],
    ['a payload with NUL', { ...job, payload: 'a\0b' }, 422, 'invalid_payload', 'payload', /NUL/],
    ['a payload of 65 KB', { ...job, payload: 'x'.repeat(66_000) }, 413, 'payload_too_large', 'payload', /65536/],
    ['a list', [job], 400, 'invalid_request', undefined, /one JSON object/],
  ])('refuses %s', async (_what, body, status, code, field, detail) => {
    const response = await serving.post(body)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    const problem = (await response.json()) as Record<string, unknown>
    expect(problem).toMatchObject({ status, code, type: `urn:holdfast:error:${code}`, title: expect.any(String) })
    expect(problem.field).toBe(field)
    expect(problem.detail).toMatch(detail)
    expect(response.status).toBe(status)
  })

  test.each([
    ['a body that is no JSON', '{"type": greet}', 400, 'invalid_request'],
    ['an empty body', '', 400, 'invalid_request'],
    ['a name that stands twice', '{"type":"greet","payload":{"to":"ada","to":"eve"}}', 400, 'invalid_request'],
    ['bytes that are no UTF-8', Uint8Array.from([0x22, 0xff, 0xfe, 0x22]), 400, 'invalid_request'],
    ['a whole number too large to hold', '{"type":"greet","payload":{"n":9007199254740993}}', 422, 'invalid_payload'],
    ['a number larger than any', '{"type":"greet","payload":[1e400]}', 422, 'invalid_payload'],
    ['more than 128 KB', `"${'x'.repeat(140_000)}"`, 413, 'request_too_large'],
  ])('refuses %s', async (_what, body, status, code) => {
    const response = await serving.post(body)
    expect(await response.json()).toMatchObject({ status, code })
    expect(response.status).toBe(status)
  })

  test('takes the largest numbers that can be held, and digits in texts', async () => {
    const response = await serving.post('{"type":"greet","delay":"1h","payload":[9007199254740992,-1.5e300,"90071992547409931"]}')
    expect(response.status).toBe(201)
  })

  test('takes nothing but JSON', async () => {
    const response = await serving.post('type=greet', 'application/x-www-form-urlencoded')
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ code: 'unsupported_media_type' })
  })
})

describe('GET /jobs/:id', () => {
  test('tells the whole story, attempt by attempt', async () => {
    const worker = await startWorker(serving.holdfast, [greet], { logger: quiet, name: 'the-worker' })
    const { id } = (await (await serving.post({ type: 'greet', payload: { fails: 1 } })).json()) as { id: string }
    await vi.waitFor(async () => expect(await (await serving.ask(`/jobs/${id}`)).json()).toMatchObject({ status: 'completed' }), {
      timeout: 20_000,
    })
    expect(await (await serving.ask(`/jobs/${id}`)).json()).toMatchObject({
      attempt: 2,
      attempts: [
        { attempt: 1, outcome: 'failed', worker: 'the-worker', error: { name: 'Error', message: 'not yet' } },
        { attempt: 2, outcome: 'completed', worker: 'the-worker', error: null },
      ],
    })
    await worker.stop()
  })

  test('answers 404 for a job that is not kept and 400 for what is no id', async () => {
    const missing = await serving.ask('/jobs/01900000-0000-7000-8000-00000000dead')
    expect(missing.status).toBe(404)
    expect(await missing.json()).toMatchObject({ code: 'not_found', detail: expect.stringContaining('dead is kept') })
    expect((await serving.ask('/jobs/17')).status).toBe(400)
    expect((await serving.ask(`/jobs/${encodeURIComponent("'; drop table x; --")}`)).status).toBe(400)
  })
})
