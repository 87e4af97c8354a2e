import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
const who = { by: 'ada' }
const plain = defineType({ type: 'plain' })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([plain], { update: true })
  await serving.holdfast.flow.setLane('maintenance', { lease: '2m' }, who)
})
afterAll(() => serving.end())

const call = async (path: string, body: unknown): Promise<Answer> => {
  const response = await serving.call('POST', path, body)
  return { ...((await response.json()) as object), http: response.status }
}
const good = { type: 'plain', payload: {} }
const idAt = (time: number, n = 1) => {
  const hex = Math.floor(time).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}
const day = 86_400_000

describe('the path of what is wrong', () => {
  test.each([
    ['an option', { ...good, delay: 'soon' }, 'jobs[1].delay'],
    ['an option of another name', { ...good, max_attempts: 5, idempotency_key: 'a\0' }, 'jobs[1].idempotency_key'],
    ['the payload', { type: 'plain', payload: { $enc: 1 } }, 'jobs[1].payload'],
    ['the type', { type: 'plian', payload: {} }, 'jobs[1].type'],
    ['an id from far away', { ...good, id: idAt(0) }, 'jobs[1].id'],
    ['uniqueness', { ...good, unique: { key: 'k', states: [] } }, 'jobs[1].unique.states'],
  ])('in a bulk is told with it: %s', async (_what, wrong, field) => {
    expect(await call('/jobs/bulk', { jobs: [good, wrong, good] })).toMatchObject({ field })
  })

  test.each([
    [{ type: 'other', timeout: '8d' }, 'types[1].timeout'],
    [{ type: 'other', backoff: { base: '31d' } }, 'types[1].backoff.base'],
    ['nobody_knows', 'types[1]'],
  ])('in a registration is told with it: %j', async (wrong, field) => {
    expect(await call('/worker/register', { name: 'w', types: ['plain', wrong] })).toMatchObject({ field })
  })

  test('is told of one job alone without it', async () => {
    expect(await call('/jobs', { ...good, delay: 'soon' })).toMatchObject({ http: 400, field: 'delay' })
  })
})

describe('a message', () => {
  test.each([
    [{ ...good, run_at: '1999-12-31T23:59:59Z' }, 'run_at', 'it must be from 2000 to 2199'],
    [{ ...good, run_at: '2030-13-31T00:00:00Z' }, 'run_at', 'there is no such time'],
    [{ ...good, run_at: '2030-01-31T00:00:00' }, 'run_at', 'with its zone'],
    [{ ...good, unique: { key: 'k', states: [] } }, 'unique.states', 'is empty'],
    [{ ...good, unique: { key: 'k', states: ['runAt'] } }, 'unique.states', '"runAt"'],
    [{ ...good, unique: { by: ['maxAttempts'] } }, 'unique.by', 'maxAttempts'],
    [{ ...good, unique: { by: ['the "runAt" of it'] } }, 'unique.by', 'the "runAt" of it'],
    [{ ...good, delay: 1, run_at: '2030-01-01T00:00:00Z' }, 'delay', 'delay and run_at exclude each other'],
    [
      { ...good, unique: { key: 'k', on_conflict: 'debounce', delay: '1m', max_wait: '1s' } },
      'unique',
      'unique.max_wait is shorter',
    ],
  ])('says what is wrong in the words of who sent it: %j', async (job, field, detail) => {
    const problem = await call('/jobs', job)
    expect(problem).toMatchObject({ field: expect.stringContaining(field.split('.')[0] as string) })
    expect(problem.detail).toContain(detail)
  })

  test('tells everything that is wrong with a job, by its field', async () => {
    const problem = await call('/jobs/bulk', {
      jobs: [good, { ...good, max_attempts: 3, delay: 'soon', unique: { by: ['x'] } }],
    })
    expect(problem).toMatchObject({
      http: 400,
      errors: [
        { field: 'jobs[1].delay', detail: expect.stringContaining('is "soon"') },
        { field: 'jobs[1].unique.by', detail: expect.stringContaining('names "x"') },
      ],
    })
  })

  test('leaves the names of fields inside of a payload as they are', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'maxAttempts is odd', path: ['maxAttempts'] }] }),
      },
    } as const
    const strict = defineType({ type: 'strict', payload: schema as StandardSchemaV1 })
    await serving.holdfast.registerTypes([strict], { update: true })
    const problem = await call('/jobs/bulk', { jobs: [good, { type: 'strict', payload: { maxAttempts: 1 } }] })
    expect(problem).toMatchObject({
      http: 422,
      field: 'jobs[1].payload.maxAttempts',
      detail: expect.stringContaining('maxAttempts is odd'),
    })
  })
})

describe('the id a client brings', () => {
  test.each([
    ['decades old', () => idAt(Date.parse('2001-09-09'), 1)],
    ['8 days old', () => idAt(Date.now() - 8 * day, 2)],
    ['two days ahead', () => idAt(Date.now() + 2 * day, 3)],
    ['of the end of time', () => idAt(2 ** 48 - 1, 4)],
  ])('is refused where it is %s, and nothing is stored', async (_how, id) => {
    const job = { ...good, id: id() }
    expect(await call('/jobs', job)).toMatchObject({ http: 400, code: 'invalid_option', field: 'id' })
    expect(await serving.holdfast.job(job.id)).toBeUndefined()
  })

  test('is taken where it is of these days', async () => {
    for (const [n, time] of [Date.now() - 6 * day, Date.now(), Date.now() + day / 2].entries()) {
      expect(await call('/jobs', { ...good, id: idAt(time, n + 10) })).toMatchObject({ http: 201 })
    }
  })
})

test('a replay does not take a payload that says it is encrypted', async () => {
  const { id } = await serving.holdfast.enqueue(plain, {})
  await serving.sql.query(
    `with gone as (delete from holdfast.queue where job_id = $1 returning *)
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason)
    select job_id, now(), type_id, priority, attempt, 'fatal' from gone`,
    [id],
  )
  const payload = { $enc: { v: 1 } }
  expect(await call(`/admin/dlq/${id}/replay`, { payload })).toMatchObject({
    http: 422,
    code: 'invalid_payload',
    field: 'payload',
  })
  expect((await serving.holdfast.job(id))?.status).toBe('dead')
})

describe('a body with a key twice in one object', () => {
  test.each([
    ['{"type":"plain","payload":{},"type":"plain"}', 'type'],
    ['{"type":"plain","payload":{"a":[{"b":1,"c":{},"b":2}]}}', 'b'],
    ['{"type":"plain","payload":{"a":1,"\\u0061":2}}', 'a'],
    ['{"type":"plain","payload":{"x\\"y":1,"x\\"y" : 2}}', 'x\\"y'],
  ])('is refused and the key is named: %s', async (body, key) => {
    const response = await serving.post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining(key) })
  })

  test.each([
    '{"type":"plain","payload":[{"a":1},{"a":2},{"b":{"a":3},"a":"a"}]}',
    '{"type":"plain","payload":{"a":"{\\"a\\":1,\\"a\\":2}","b":"a"}}',
  ])('is not what has it in several objects, or in a text: %s', async (body) => {
    expect((await serving.post(body)).status).toBe(201)
  })

  test('is looked for in time that grows with the body alone', async () => {
    const wide = `{"type":"plain","payload":{${Array.from({ length: 5_000 }, (_, n) => `"k${n}":${n}`).join()}}}`
    expect((await serving.post(wide)).status).toBe(201)
    expect((await serving.post(wide.replace('"k4999"', '"k1"'))).status).toBe(400)
  })
})

test('progress reads as it was told', async () => {
  const { worker } = await call('/worker/register', { name: 'w', types: ['plain'] })
  await serving.holdfast.enqueue(plain, {})
  const [{ id: job, lease }] = (await call('/worker/claim', { worker, wait: '10s' })).jobs
  await call('/worker/heartbeat', { worker, leases: [lease], reports: [{ job, lease, progress: 0.42 }] })
  expect((await serving.holdfast.job(job))?.progress?.fraction).toBe(0.42)
  await call('/worker/sign-off', { worker })
})

test('a heartbeat that does not say how long renews for as long as the claim was, or as the lane wants', async () => {
  await call('/worker/register', { name: 'w', types: [{ type: 'kept', lane: 'maintenance' }] })
  const { worker } = await call('/worker/register', { name: 'w', types: ['plain', 'kept'] })
  for (const [type, lease, seconds] of [
    ['plain', '10m', 600],
    ['plain', '20s', 20],
    ['kept', '10m', 120],
  ] as const) {
    await serving.holdfast.enqueue(type as never, {} as never)
    const [job] = (await call('/worker/claim', { worker, types: [type], lease, wait: '10s' })).jobs
    expect(job.lease_ms).toBe(seconds * 1_000)
    await serving.sql.query(`update holdfast.leases set expires_at = holdfast.now() + interval '1 second' where id = $1`, [
      job.lease,
    ])
    expect(await call('/worker/heartbeat', { worker, leases: [job.lease] })).toMatchObject({ lost: [] })
    const { rows } = await serving.sql.query(
      'select extract(epoch from expires_at - holdfast.now())::float8 as left from holdfast.leases where id = $1',
      [job.lease],
    )
    expect(rows[0].left).toBeGreaterThan(seconds - 15)
    expect(rows[0].left).toBeLessThanOrEqual(seconds)
  }
})
