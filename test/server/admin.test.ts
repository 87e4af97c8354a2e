import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const greet = defineType({ type: 'greet' })
const nested = defineType({ type: 'mail/send:now' })
const nobody = '01900000-0000-7000-8000-00000000dead'

let serving: Serving
let call: Contract
let operator: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet, nested])
  call = await contractOf(serving)
  operator = (await serving.holdfast.access.createKey({ service: 'on-call', roles: ['operator'] }, { by: 'ada' })).key
})
afterAll(() => serving.end())

describe('/admin/workers/lanes', () => {
  test('are listed, and changed with a name and a reason that stand in the audit log', async () => {
    const changed = await call('PATCH', '/admin/workers/lanes/interactive', { slots: 7, poll: '5s', why: 'busy' }, operator)
    expect(changed.body).toMatchObject({ name: 'interactive', slots: 7, poll_ms: 5_000, changed: { by: 'on-call', why: 'busy' } })
    const { lanes } = (await call('GET', '/admin/workers/lanes', undefined, operator)).body
    expect(lanes.find((lane: { name: string }) => lane.name === 'interactive')).toEqual(changed.body)
    const { lines } = (await call('GET', '/admin/audit?target=interactive')).body
    expect(lines[0]).toMatchObject({
      ...{ actor: 'on-call', origin: '127.0.0.1', action: 'set_lane', why: 'busy' },
      before: { slots: 2, poll_ms: 2_000 },
      after: { slots: 7, poll_ms: 5_000 },
    })
  })

  test.each([
    ['a lease of 30 s that was meant to be 300', { lease: '30s' }, 400, 'lease'],
    ['no slots at all', { slots: 0 }, 400, 'slots'],
    ['a misspelt field', { worker_slot: 1 }, 400, 'worker_slot'],
    ['slots as a text', { worker_slots: '5' }, 400, 'worker_slots'],
  ])('refuse %s', async (_what, body, status, field) => {
    expect((await call('PATCH', '/admin/workers/lanes/interactive', body)).body).toMatchObject({ status, field })
  })

  test('that do not exist are 422, with the one that was probably meant', async () => {
    const { status, body } = await call('PATCH', '/admin/workers/lanes/interactiv', { slots: 1 })
    expect({ status, detail: body.detail }).toMatchObject({ status: 422, detail: expect.stringContaining('"interactive"') })
  })
})

test('GET /admin/workers/status shows workers that live, lanes and how much waits', async () => {
  const worker = await startWorker(serving.holdfast, [defineType({ type: 'greet', run() {} })], { logger: quiet, name: 'w-1' })
  await serving.holdfast.enqueue(greet, {}, { delay: '1h' })
  await eventually(async () => {
    await insideOf(serving.holdfast).store.operate.measureDepths()
    const { body } = await call('GET', '/admin/workers/status', undefined, operator)
    expect(body.workers).toMatchObject([{ name: 'w-1', types: ['greet', 'holdfast:bulk', 'holdfast:webhook'], jobs: 0 }])
    expect(body.depths).toMatchObject([{ type: 'greet', lane: 'default', scheduled: 1 }])
    return body.lanes.length >= 4
  })
  await worker.stop()
  expect((await call('GET', '/admin/workers/status')).body.workers).toEqual([])
})

test('POST /admin/workers/processes/:id/drain orders a remote worker to claim no more, and it hears so', async () => {
  const { id, worker } = (await call('POST', '/worker/register', { name: 'r-1', types: ['greet'] })).body
  expect((await call('POST', `/admin/workers/processes/${id}/drain`, { why: 'at first' }, operator)).status).toBe(204)
  expect((await call('POST', `/admin/workers/processes/${id}/resume`, {}, operator)).status).toBe(204)
  expect((await call('POST', '/worker/heartbeat', { worker, leases: [] })).body).toMatchObject({ drain: null })
  expect((await call('POST', `/admin/workers/processes/${id}/drain`, { why: 'a new version' }, operator)).status).toBe(204)
  expect((await call('POST', '/worker/claim', { worker })).body).toEqual({ jobs: [], drain: { why: 'a new version' } })
  expect((await call('POST', '/worker/sign-off', { worker })).body).toEqual({ handed_back: 0 })
  expect((await call('POST', `/admin/workers/processes/${id}/drain`, {}, operator)).status).toBe(404)
  expect((await call('POST', '/admin/workers/processes/999/drain', {}, operator)).status).toBe(404)
})

describe('/admin/workers/jobs', () => {
  test('can be cancelled and given another priority; what has ended is 409, what never was 404', async () => {
    const { id } = await serving.holdfast.enqueue(greet, {}, { delay: '1h' })
    const path = `/admin/workers/jobs/${id}`
    expect((await call('PATCH', `${path}/priority`, { priority: 9, why: 'now' }, operator)).body).toMatchObject({ done: true })
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({ priority: 9, changes: [{ by: 'on-call', why: 'now' }] })
    expect((await call('PATCH', `${path}/priority`, { priority: 10 })).body).toMatchObject({ status: 400, field: 'priority' })
    expect((await call('PATCH', `${path}/priority`, {})).body).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/priority is missing/),
    })
    expect((await call('POST', `${path}/cancel`, undefined, operator)).body).toMatchObject({ status: 'cancelled' })
    expect((await call('POST', `${path}/cancel`, {}, operator)).status).toBe(409)
    expect((await call('POST', `/admin/workers/jobs/${nobody}/cancel`)).status).toBe(404)
  })
})

describe('/admin/job-types', () => {
  const path = '/admin/job-types/greet'

  test('are paused and resumed', async () => {
    const paused = await call('POST', `${path}/pause`, { why: 'mail is down' }, operator)
    expect(paused.body).toMatchObject({ type: 'greet', gate: { paused: { by: 'on-call', why: 'mail is down' } } })
    const { types } = (await call('GET', '/admin/job-types')).body
    expect(types).toMatchObject([
      { type: 'greet', lane: 'default', gate: { paused: {} } },
      { type: 'holdfast:bulk' },
      { type: 'holdfast:webhook' },
      { type: 'mail/send:now', gate: null },
    ])
    expect((await call('POST', `${path}/resume`, undefined, operator)).body.gate?.paused ?? null).toBeNull()
  })

  test('have a breaker that is opened, held and released', async () => {
    expect((await call('POST', `${path}/breaker`, { action: 'hold_open' }, operator)).body.gate.breaker).toMatchObject({
      open: true,
      held_by: 'operator',
      reason: 'held open by on-call',
    })
    await call('POST', `${path}/breaker`, { action: 'release' })
    expect((await call('POST', `${path}/breaker`, { action: 'opne' })).body).toMatchObject({
      field: 'action',
      detail: expect.stringMatching(/"open"/),
    })
  })

  test('have limits that are set and taken away', async () => {
    const limits = { max_running: 4, max_running_per_key: 1, rate: { count: 100, per: '1m' }, breaker: { share: 0.5 } }
    const { gate } = (await call('PATCH', `${path}/limits`, limits, operator)).body
    expect(gate).toMatchObject({
      max_running: 4,
      max_running_per_key: 1,
      rate: { count: 100, per_ms: 60_000 },
      breaker: { share: 0.5 },
    })
    const gone = (await call('PATCH', `${path}/limits`, { max_running: null, max_running_per_key: null, rate: null })).body
    expect(gone.gate?.max_running ?? null).toBeNull()
    expect((await call('PATCH', `${path}/limits`, { max_running: -1 })).body).toMatchObject({ field: 'max_running', status: 400 })
    expect((await call('PATCH', `${path}/limits`, { rate: { count: 1, per: 'NaN' } })).body).toMatchObject({ status: 400 })
    expect((await call('PATCH', `${path}/limits`, { breaker: { share: 7 } })).body).toMatchObject({ field: 'breaker.share' })
  })

  test('with a slash in their name are found, and unknown ones are 422', async () => {
    const there = `/admin/job-types/${encodeURIComponent('mail/send:now')}`
    expect((await call('POST', `${there}/pause`)).body.type).toBe('mail/send:now')
    expect((await call('POST', '/admin/job-types/gret/pause')).body).toMatchObject({
      code: 'unknown_type',
      detail: expect.stringMatching(/"greet"/),
    })
  })
})

test('/admin/dependencies are listed, limited, paused and broken; unknown ones are 422', async () => {
  const path = '/admin/dependencies/stripe'
  expect((await call('PATCH', path, { max_running: 4 }, operator)).body).toMatchObject({
    code: 'unknown_dependency',
    status: 422,
  })
  const limits = { max_running: 4, rate: { count: 100, per: '1m' }, breaker: { share: 0.5 }, create: true }
  const { body } = await call('PATCH', path, limits, operator)
  expect(body).toMatchObject({
    max_running: 4,
    rate: { count: 100, per_ms: 60_000 },
    breaker: { share: 0.5 },
    types: [],
    held: 0,
  })
  expect((await call('POST', `${path}/pause`, { why: 'red' }, operator)).body.paused).toMatchObject({ by: 'on-call', why: 'red' })
  expect((await call('POST', `${path}/resume`, undefined, operator)).body.paused).toBeNull()
  const opened = (await call('POST', `${path}/breaker`, { action: 'open' }, operator)).body
  expect(opened.breaker).toMatchObject({ open: true, reason: 'opened by on-call' })
  expect((await call('GET', '/admin/dependencies', undefined, operator)).body).toEqual({ dependencies: [opened] })
  expect((await call('PATCH', path, { fair: true })).body).toMatchObject({ field: 'fair', status: 400 })
  expect((await call('PATCH', path, { max_running: 0 })).body).toMatchObject({ field: 'max_running', status: 400 })
  expect((await call('GET', '/admin/audit?target=stripe')).body.lines.map(({ action }: { action: string }) => action)).toEqual([
    'dependency_breaker_open',
    'resume_dependency',
    'pause_dependency',
    'limit_dependency',
  ])
})

test('what is given back to the code is named as HTTP names it, and no other name is looked up', async () => {
  const paths = [
    'job-types/mail/release',
    'job-types/mail/limits/release',
    'workers/lanes/default/release',
    'dependencies/stripe/release',
  ]
  for (const path of paths) {
    for (const field of ['constructor', 'maxRunningg', 'no_such']) {
      const { body } = await call('POST', `/admin/${path}`, { fields: [field] })
      expect([path, body.status, body.field]).toEqual([path, 400, 'fields'])
      expect(body.detail).toMatch(/^fields names "[a-z_]+"; there are [a-z_, ]+$/)
    }
  }
})

describe('/admin/keys, /admin/roles and /admin/audit', () => {
  test('make a key that is shown once, list, rotate and revoke it', async () => {
    const asked = { service: 'mailer', roles: ['producer'], types: ['greet'], rate_limit: 50, expires: '90d', why: 'new' }
    const made = await call('POST', '/admin/keys', asked)
    expect(made).toMatchObject({ status: 201, body: { service: 'mailer', rate_limit: 50, created_by: 'admin', live: true } })
    expect((await call('POST', '/jobs', { type: 'greet', payload: {}, delay: '1h' }, made.body.key)).status).toBe(201)
    const rotated = await call('POST', `/admin/keys/${made.body.id}/rotate`, { grace: '1h' })
    expect(rotated.body).toMatchObject({ service: 'mailer', types: ['greet'] })
    expect((await call('POST', '/admin/keys', asked)).body).toMatchObject({ status: 409, code: 'conflict' })
    expect((await call('DELETE', `/admin/keys/${made.body.id}?why=leaked`)).body).toMatchObject({ live: false })
    const { keys } = (await call('GET', '/admin/keys?service=mailer')).body
    expect(keys).toMatchObject([{ live: false }, { live: true }])
    expect(JSON.stringify(keys)).not.toContain(rotated.body.key)
    expect((await call('DELETE', '/admin/keys/999')).status).toBe(404)
    const { lines } = (await call('GET', '/admin/audit?action=revoke_key')).body
    expect(lines).toMatchObject([{ actor: 'admin', why: 'leaked', before: { revoked_at: null } }])
    expect(JSON.stringify(lines)).not.toMatch(/hash/)
  })

  test.each([
    [{ service: 'a', roles: ['nothing'] }, /no role "nothing"/],
    [{ service: 'admin', roles: ['viewer'] }, /uses itself/],
    [{ service: 'a', roles: ['viewer'], rate_limit: 0 }, /rate_limit is 0/],
    [{ service: 'a' }, /roles is missing/],
  ])('refuse the key %j', async (body, detail) => {
    expect((await call('POST', '/admin/keys', body)).body).toMatchObject({ status: 400, detail })
  })

  test('make roles of one’s own', async () => {
    expect((await call('PUT', '/admin/roles/support', { permissions: ['jobs:read', 'workers:view'] })).status).toBe(200)
    const { roles } = (await call('GET', '/admin/roles')).body
    expect(roles).toContainEqual({ name: 'support', permissions: ['jobs:read', 'workers:view'], built_in: false })
    expect((await call('PUT', '/admin/roles/support', { permissions: ['jobs:reed'] })).body.detail).toContain('"jobs:read"')
    expect((await call('PUT', '/admin/roles/admin', { permissions: [] })).status).toBe(409)
    expect((await call('DELETE', '/admin/roles/support')).status).toBe(204)
    expect((await call('DELETE', '/admin/roles/support')).status).toBe(404)
  })

  test('show the log in pages, and it has no way to be changed', async () => {
    const first = (await call('GET', '/admin/audit?limit=2')).body
    const second = (await call('GET', `/admin/audit?limit=2&cursor=${first.next}`)).body
    expect(Number(second.lines[0].id)).toBeLessThan(Number(first.lines[1].id))
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect((await call(method, '/admin/audit')).status).toBe(404)
  })
})
