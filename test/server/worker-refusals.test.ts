import { defineType } from 'holdfast'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { adminKey, type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
let worker: string
const type = defineType({ type: 'remote', maxAttempts: 2, backoff: { base: '1h', jitter: 0 }, limits: { breaker: false } })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([type], { update: true })
})
afterAll(() => serving.end())
beforeEach(async () => {
  await serving.holdfast.cancelMany({ all: true }, { by: 'the test before' })
  worker = (await ask('register', { name: 'w', types: ['remote'] })).worker
})

async function send(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  return fetch(`${serving.address}/worker/${path}`, { method: 'POST', headers, body: JSON.stringify(body), ...init })
}

async function ask(path: string, body: unknown): Promise<Answer> {
  return (await send(path, body)).json()
}

describe('a key that is not for every type', () => {
  test('signs on and claims for its own types only, also with the token of another worker', async () => {
    const { access } = serving.holdfast
    const { key } = await access.createKey({ service: 'narrow', roles: ['worker'], types: ['other'] }, { by: 'ada' })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    for (const [path, body] of [
      ['register', { name: 'n', types: ['remote'] }],
      ['register', { name: 'n', types: [{ type: 'remote', max_attempts: 1 }] }],
      ['claim', { worker }],
    ] as const) {
      const response = await send(path, body, { headers })
      expect([response.status, ((await response.json()) as Answer).code], path).toEqual([403, 'forbidden'])
    }
    expect((await send('register', { name: 'n', types: [{ type: 'other' }] }, { headers })).status).toBe(201)
  })
})

describe('what is wrong in a request', () => {
  const job = '01900000-0000-7000-8000-000000000001'
  test.each([
    ['claim', { limt: 3 }, 'limt', 'did you mean "limit"?'],
    ['claim', { limit: 1e9 }, 'limit', 'from 1 to 100'],
    ['claim', { limit: '5' }, 'limit', 'a whole number'],
    ['claim', { wait: '31s' }, 'wait', '30000'],
    ['claim', { lease: '10ms' }, 'lease', 'between 1000'],
    ['claim', { types: ['remot'] }, 'types', 'did you mean "remote"?'],
    ['heartbeat', {}, 'leases', 'is missing'],
    ['heartbeat', { leases: ['..'] }, 'leases[0]', 'the lease of a claimed job'],
    ['heartbeat', { leases: [], reports: [{ job, lease: '1', progress: 7 }] }, 'reports[0].progress', 'from 0 to 1'],
    [
      'heartbeat',
      { leases: [], reports: [{ job, lease: '1', lines: [{ line: 'x', level: 'loud' }] }] },
      'reports[0].lines[0].level',
      'info',
    ],
    ['settle', { results: [] }, 'results', '1 to 100'],
    ['settle', { results: [{ job, lease: '1', result: 'done' }] }, 'results[0].result', 'it can be complete, fail'],
    ['settle', { results: [{ job, lease: '1', result: 'complete', eror: {} }] }, 'results[0].eror', 'did you mean "error"?'],
    ['settle', { results: [{ job, lease: '1', result: 'complete', fatal: true }] }, 'results[0].fatal', 'only for'],
    ['settle', { results: [{ job, lease: '1', result: 'snooze' }] }, 'results[0].delay', 'is missing'],
    ['settle', { results: [{ job, lease: '1', result: 'fail' }] }, 'results[0].error', 'is missing'],
    ['settle', { results: [{ job: 'x'.repeat(36), lease: '1', result: 'complete' }] }, 'results[0].job', 'the id of a job'],
    ['settle', { results: [1, 2].map(() => ({ job, lease: '1', result: 'complete' })) }, 'results', 'twice'],
  ])('POST /worker/%s with %j is refused at %s', async (path, body, field, detail) => {
    const response = await send(path, { worker, ...body })
    const problem = (await response.json()) as Answer
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(problem).toMatchObject({ code: 'invalid_option', field })
    expect(problem.detail).toContain(detail)
  })

  test('a type nobody defined is refused, and defined by whoever registers with its definition', async () => {
    const unknown = await send('register', { name: 'w', types: ['remote', 'nobody.knows'] })
    expect(unknown.status).toBe(422)
    expect(((await unknown.json()) as Answer).code).toBe('unknown_type')
    const backoff = { base: '2m', factor: 3, jitter: 0 }
    expect(await ask('register', { name: 'w', types: [{ type: 'from.afar', max_attempts: 7, backoff }] })).toMatchObject({
      types: ['from.afar'],
    })
    const { rows } = await serving.sql.query(`select max_attempts, backoff from holdfast.types where name = 'from.afar'`)
    expect(rows).toEqual([{ max_attempts: 7, backoff: { base: 120_000, factor: 3, cap: 3_600_000, jitter: 0 } }])
  })

  test('no key is no worker', async () => {
    expect((await send('claim', { worker }, { headers: { 'content-type': 'application/json' } })).status).toBe(401)
  })
})
