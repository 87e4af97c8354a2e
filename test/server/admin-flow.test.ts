import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const greet = defineType({ type: 'greet', limits: { fair: true }, run() {} })
const nested = defineType({ type: 'mail/send:now' })
let serving: Serving
let call: Contract
let operator: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet, nested], { update: true })
  call = await contractOf(serving)
  operator = (await serving.holdfast.access.createKey({ service: 'on-call', roles: ['operator'] }, { by: 'ada' })).key
})
afterAll(() => serving.end())

const lastLine = async (action: string) => (await serving.holdfast.audit({ action, limit: 1 }))[0]

describe('/admin/job-types/:type/keys', () => {
  const key = 'tenant/7 ä'

  test('/pause makes the jobs of one key wait and those of others not, until /resume', async () => {
    const asked = ['pause', 'resume'].map((move) => `/admin/job-types/greet/keys/${move}`) as [string, string]
    const paused = await call('POST', asked[0], { key, why: 'sends too much' }, operator)
    expect(paused.body).toMatchObject({ type: 'greet', key, weight: 1, paused: { by: 'on-call', why: 'sends too much' } })
    expect((await call('GET', '/admin/job-types/greet/keys', undefined, operator)).body.keys).toMatchObject([{ key }])
    expect(await lastLine('pause_key')).toMatchObject({ actor: 'on-call', origin: '127.0.0.1', target: `greet ${key}` })

    const worker = await startWorker(serving.holdfast, [greet], { logger: quiet })
    const { id: held } = await serving.holdfast.enqueue('greet', {}, { concurrencyKey: key })
    const { id: free } = await serving.holdfast.enqueue('greet', {}, { concurrencyKey: 'tenant 8' })
    const statusOf = async (id: string) => (await call('GET', `/jobs/${id}`)).body.status
    await eventually(async () => (await statusOf(free)) === 'completed')
    expect(await statusOf(held)).not.toBe('completed')
    expect((await call('GET', `/jobs/${held}/explain`)).body.gates[0].why).toContain('sends too much')

    const resumed = await call('POST', asked[1], { key, why: 'they promised' }, operator)
    expect(resumed.body).toEqual({ type: 'greet', key, weight: 1, paused: null, rests_until: null, halted: null })
    await eventually(async () => (await statusOf(held)) === 'completed')
    await worker.stop()
    expect(await lastLine('resume_key')).toMatchObject({
      actor: 'on-call',
      why: 'they promised',
      before: { paused_by: 'on-call' },
    })
    expect((await call('GET', '/admin/job-types/greet/keys')).body.keys).toEqual([])
  })

  test('/weight sets the share of a key, also of a type with a slash in its name', async () => {
    const path = `/admin/job-types/${encodeURIComponent('mail/send:now')}/keys`
    const weighted = await call('PUT', `${path}/weight`, { key: 'large', weight: 2.5, why: 'pays more' }, operator)
    expect(weighted.body).toEqual({
      type: 'mail/send:now',
      key: 'large',
      weight: 2.5,
      paused: null,
      rests_until: null,
      halted: null,
    })
    expect((await call('GET', path)).body).toMatchObject({ type: 'mail/send:now', keys: [{ key: 'large', weight: 2.5 }] })
    expect(await lastLine('set_weight')).toMatchObject({
      target: 'mail/send:now large',
      why: 'pays more',
      after: { weight: 2.5 },
    })
  })

  test.each([
    ['POST', 'pause', {}, 'key'],
    ['POST', 'pause', { key: '' }, 'key'],
    ['POST', 'resume', { key: 'x'.repeat(501) }, 'key'],
    ['PUT', 'weight', { key: 'k', weight: 0 }, 'weight'],
    ['PUT', 'weight', { key: 'k', weight: 1_001 }, 'weight'],
    ['PUT', 'weight', { key: 'k', wieght: 1 }, 'wieght'],
  ])('%s /%s refuses %o', async (method, move, body, field) => {
    expect((await call(method, `/admin/job-types/greet/keys/${move}`, body)).body).toMatchObject({ status: 400, field })
  })

  test('of an unknown type are 422', async () => {
    for (const [method, path, body] of [
      ['GET', '/keys', undefined],
      ['POST', '/keys/pause', { key: 'k' }],
      ['POST', '/keys/resume', { key: 'k' }],
      ['PUT', '/keys/weight', { key: 'k', weight: 2 }],
    ] as const) {
      const { status, body: problem } = await call(method, `/admin/job-types/gret${path}`, body)
      expect([status, problem.code]).toEqual([422, 'unknown_type'])
    }
  })
})

describe('/admin/depth-limits', () => {
  const set = (body: object, key = operator) => call('PUT', '/admin/depth-limits', body, key)
  const limits = async () => (await call('GET', '/admin/depth-limits', undefined, operator)).body.limits

  test('are set and shown for the queue, a lane and a type, with how much waits; enqueue holds to them', async () => {
    const queue = { scope: 'queue', name: null, soft: 100_000, hard: 500_000, oldest_ms: null }
    expect(await limits()).toMatchObject([queue])
    const { id } = await serving.holdfast.enqueue('mail/send:now', {})
    const type = { scope: 'type', name: 'mail/send:now' }
    expect((await set({ ...type, hard: 1, oldest: '1h', why: 'they are down' })).body.limits).toMatchObject([
      queue,
      { ...type, soft: null, hard: 1, oldest_ms: 3_600_000 },
    ])
    expect((await set({ scope: 'lane', name: 'interactive', soft: 5, hard: 10 })).body.limits[1]).toMatchObject({
      ...{ scope: 'lane', name: 'interactive', soft: 5, hard: 10, waiting: 0, waits_ms: null },
    })
    expect(await lastLine('limit_depth')).toMatchObject({ actor: 'on-call', target: 'lane interactive', after: { hard: 10 } })
    await eventually(async () => (await limits()).at(-1).waiting === 1)
    expect((await limits()).at(-1).waits_ms).toBeGreaterThanOrEqual(0)
    await eventually(async () => (await call('POST', '/jobs', { type: 'mail/send:now', payload: {} })).status === 429)
    // What is null or left out is not limited any more.
    for (const [place, fields] of [
      [type, { hard: null }],
      [{ scope: 'lane', name: 'interactive' }, {}],
    ] as const) {
      expect((await set({ ...place, ...fields })).status).toBe(200)
    }
    expect(await limits()).toMatchObject([queue])
    await serving.holdfast.cancel(id, { by: 'ada' })
  })

  test.each([
    [{ hard: 5 }, 400, 'scope'],
    [{ scope: 'lane', hard: 5 }, 400, 'name'],
    [{ scope: 'queue', name: 'default', hard: 5 }, 400, 'name'],
    [{ scope: 'queue', hard: 0 }, 400, 'hard'],
    [{ scope: 'queue', soft: 10, hard: 5 }, 400, 'soft'],
    [{ scope: 'queue', oldest: 'soon' }, 400, 'oldest'],
    [{ scope: 'type', name: 'gret', hard: 5 }, 422, 'type'],
    [{ scope: 'lane', name: 'defualt', hard: 5 }, 422, 'lane'],
  ])('refuse %o', async (body, status, field) => {
    expect((await set(body)).body).toMatchObject({ status, field })
    expect(await limits()).toHaveLength(1)
  })

  test('are not for those who may only look', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'looker', roles: ['viewer'] }, { by: 'ada' })
    expect((await set({ scope: 'queue', hard: 5 }, key)).status).toBe(403)
    expect((await call('GET', '/admin/depth-limits', undefined, key)).status).toBe(200)
  })
})
