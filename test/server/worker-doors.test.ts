import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
const who = { by: 'ada' }
const mine = defineType({ type: 'mine' })
const yours = defineType({ type: 'yours' })

beforeAll(async () => {
  serving = await serve()
  const alert = defineType({ type: 'holdfast:alert', lane: 'system' })
  await serving.holdfast.registerTypes([mine, yours, alert], { update: true })
})
afterAll(() => serving.end())

const call = async (path: string, body?: unknown, key = adminKey): Promise<Answer> => {
  const response = await serving.call(body === undefined ? 'GET' : 'POST', path, body, key)
  return { status: response.status, ...((await response.json()) as object) }
}
const keyOf = (service: string, roles: string[], more = {}) => serving.holdfast.access.createKey({ service, roles, ...more }, who)
const idleWorkers = async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount
const registered = async (types: string[]) => (await call('/worker/register', { name: 'w', types })).worker as string

describe('a type of Holdfast itself', () => {
  const own = { type: 'holdfast:alert', payload: { target: 1 } }
  test.each([
    ['enqueued', '/jobs', own],
    ['enqueued with others', '/jobs/bulk', { jobs: [{ type: 'mine', payload: 1 }, own] }],
    ['registered for', '/worker/register', { name: 'w', types: ['mine', 'holdfast:alert'] }],
    ['defined', '/worker/register', { name: 'w', types: [{ type: 'holdfast:alert', max_attempts: 1 }] }],
    ['made', '/worker/register', { name: 'w', types: [{ type: 'holdfast:other' }] }],
  ])('is not %s over HTTP, whatever the key', async (_how, path, body) => {
    const field = path === '/jobs/bulk' ? 'jobs[1].type' : 'type'
    expect(await call(path, body)).toMatchObject({ status: 403, code: 'forbidden', field })
    expect((await serving.sql.query('select from holdfast.bodies')).rowCount).toBe(0)
  })

  test('is neither claimed nor settled by a worker that has it, and its dead letters are replayed as they are', async () => {
    const worker = await registered(['mine'])
    await serving.sql.query(
      `update holdfast.workers set types = array(select id from holdfast.types where name like 'holdfast:%') where id = $1`,
      [worker.split('.')[0]],
    )
    const { id: job } = await serving.holdfast.enqueue('holdfast:alert' as never, { target: 1 } as never)
    expect(await call('/worker/claim', { worker })).toMatchObject({ status: 403, field: 'type' })
    expect(await call('/worker/settle', { worker, results: [{ job, lease: '1', result: 'complete' }] })).toMatchObject({
      status: 403,
    })
    await serving.sql.query(
      `with gone as (delete from holdfast.queue where job_id = $1 returning *)
      insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason)
      select job_id, now(), type_id, priority, attempt, 'fatal' from gone`,
      [job],
    )
    expect(await call(`/admin/dlq/${job}/replay`, { payload: { target: 2 } })).toMatchObject({ status: 403, field: 'type' })
    expect(await call(`/admin/dlq/${job}/replay`, {})).toMatchObject({ done: true })
  })
})

describe('a key that was made for some types', () => {
  test('neither settles, renews nor signs off for a job of another type, with whatever token it came by', async () => {
    const narrow = (await keyOf('narrow', ['worker'], { types: ['mine'] })).key
    const worker = await registered(['mine', 'yours'])
    const { id: job } = await serving.holdfast.enqueue(yours, {})
    const [{ lease }] = (await call('/worker/claim', { worker, types: ['yours'], wait: '10s' })).jobs
    for (const [path, body] of [
      ['settle', { results: [{ job, lease, result: 'complete' }] }],
      ['settle', { results: [{ job, lease, result: 'hand_back' }] }],
      ['heartbeat', { leases: [lease] }],
      ['heartbeat', { leases: [], reports: [{ job, lease, lines: ['x'] }] }],
      ['sign-off', {}],
    ] as const) {
      const answer = await call(`/worker/${path}`, { worker, ...body }, narrow)
      expect(answer, path).toMatchObject({ status: 403, code: 'forbidden', detail: expect.stringContaining('"yours"') })
    }
    expect(await serving.holdfast.job(job)).toMatchObject({ status: 'processing', attempts: [] })
    expect(await serving.holdfast.log(job)).toEqual([])
    const own = await serving.holdfast.enqueue(mine, {})
    const [claimed] = (await call('/worker/claim', { worker, types: ['mine'], wait: '10s' }, narrow)).jobs
    expect(claimed.id).toBe(own.id)
    expect(await call('/worker/heartbeat', { worker, leases: [claimed.lease] }, narrow)).toMatchObject({ status: 200, lost: [] })
    const settled = await call(
      '/worker/settle',
      { worker, results: [{ job: own.id, lease: claimed.lease, result: 'complete' }] },
      narrow,
    )
    expect(settled).toMatchObject({ status: 200, results: [{ settled: true }] })
    expect((await call('/worker/settle', { worker, results: [{ job, lease, result: 'complete' }] })).results).toMatchObject([
      { job, settled: true },
    ])
  })
})

describe('a key that is revoked or expires while something is waited for', () => {
  const ends = [
    ['is revoked elsewhere', {}, (id: number) => serving.holdfast.access.revokeKey(id, who)],
    ['expires', { expires: '2s' }, async () => {}],
  ] as const

  test.each(ends)('ends a claim that waits: %s', async (_how, options, end) => {
    const { id, key } = await keyOf('poller', ['worker'], options)
    const worker = await registered(['mine'])
    const waiting = call('/worker/claim', { worker, wait: '30s' }, key)
    await eventually(async () => (await idleWorkers()) === 1)
    await end(id)
    const endedAt = performance.now()
    expect(await waiting).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(performance.now() - endedAt).toBeLessThan(10_000)
    expect(await idleWorkers()).toBe(0)
  })

  test.each(ends)('ends a wait for a job: %s', async (_how, options, end) => {
    const { id, key } = await keyOf('waiter', ['viewer'], options)
    const { id: job } = await serving.holdfast.enqueue(yours, {}, { delay: '1h' })
    const waiting = call(`/jobs/${job}/wait?timeout=60s`, undefined, key)
    await serving.holdfast.job(job)
    await end(id)
    const endedAt = performance.now()
    expect(await waiting).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(performance.now() - endedAt).toBeLessThan(10_000)
  })

  test('gives back a job that the claim has found meanwhile, as if it had never had it', async () => {
    const { id, key } = await keyOf('swift', ['worker'])
    const worker = await registered(['mine'])
    const waiting = call('/worker/claim', { worker, wait: '30s' }, key)
    await eventually(async () => (await idleWorkers()) === 1)
    expect((await serving.call('DELETE', `/admin/keys/${id}`)).status).toBe(200)
    const { id: job } = await serving.holdfast.enqueue(mine, {})
    expect(await waiting).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(await serving.holdfast.job(job)).toMatchObject({ status: 'pending', attempt: 1, attempts: [] })
    expect((await serving.sql.query('select from holdfast.leases where worker_id = $1', [worker.split('.')[0]])).rowCount).toBe(0)
  })
})
