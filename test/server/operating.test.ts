import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const greet = defineType({ type: 'greet' })
let serving: Serving
let call: Contract
let operator: string
let producer: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet])
  call = await contractOf(serving)
  const { access } = serving.holdfast
  operator = (await access.createKey({ service: 'on-call', roles: ['operator'] }, { by: 'ada' })).key
  producer = (await access.createKey({ service: 'shop', roles: ['producer'] }, { by: 'ada' })).key
})
afterAll(() => serving.end())

const lastLine = async (action: string) => (await serving.holdfast.audit({ action, limit: 1 }))[0]
const enqueued = async (body: object = {}) =>
  (await call('POST', '/jobs', { type: 'greet', payload: {}, ...body }, producer)).body.id as string

describe('one job that waits', () => {
  test('is made due now, put off and buried by whoever may, with a line in the audit log each', async () => {
    const id = await enqueued({ delay: '1h' })
    const hurried = await call('POST', `/jobs/${id}/run-now`, { why: 'they wait' }, producer)
    expect(hurried.body).toEqual({ id, done: true, was: 'scheduled', status: 'pending' })
    expect(await lastLine('run_now_job')).toMatchObject({ actor: 'shop', target: id, why: 'they wait', origin: '127.0.0.1' })

    const later = await call('POST', `/jobs/${id}/reschedule`, { delay: '2h' }, producer)
    expect(later.body).toEqual({ id, done: true, was: 'pending', status: 'scheduled' })
    const at = '2100-01-01T00:00:00.000Z'
    await call('POST', `/jobs/${id}/reschedule`, { run_at: at }, operator)
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({ status: 'scheduled', due_at: at })
    expect(await lastLine('reschedule_job')).toMatchObject({ actor: 'on-call', target: id })

    expect((await call('POST', `/jobs/${id}/bury`, {}, producer)).status).toBe(403)
    const buried = await call('POST', `/jobs/${id}/bury`, { why: 'for Monday' }, operator)
    expect(buried.body).toEqual({ id, done: true, was: 'scheduled', status: 'dead' })
    expect(await lastLine('bury_job')).toMatchObject({ actor: 'on-call', target: id, why: 'for Monday' })
    expect((await call('GET', `/admin/dlq/${id}`, undefined, operator)).body).toMatchObject({
      reason: 'buried',
      error: { message: 'buried by on-call: for Monday' },
      changes: [{ move: 'run_now' }, { move: 'reschedule' }, { move: 'reschedule' }, { move: 'bury', by: 'on-call' }],
    })
  })

  test('is refused with what stands in the way, or what is wrong with the request', async () => {
    const id = await enqueued()
    expect((await call('POST', `/jobs/${id}/run-now`, {}, producer)).body).toMatchObject({
      ...{ status: 409, code: 'conflict', detail: 'nothing was changed: it is due already' },
    })
    for (const time of [{}, { delay: '1h', run_at: '2100-01-01T00:00:00Z' }]) {
      expect((await call('POST', `/jobs/${id}/reschedule`, time, producer)).body).toMatchObject({
        ...{ status: 400, detail: 'run_at or delay must be given, and not both', field: 'run_at' },
      })
    }
    expect((await call('POST', `/jobs/${id}/reschedule`, { delay: 'soon' }, producer)).body).toMatchObject({
      ...{ status: 400, field: 'delay' },
    })
    await call('POST', `/jobs/${id}/bury`, {}, operator)
    for (const move of ['run-now', 'bury']) {
      expect((await call('POST', `/jobs/${id}/${move}`, {}, operator)).body).toMatchObject({
        ...{ status: 409, detail: 'nothing was changed: it is dead; it can be replayed or discarded' },
      })
    }
  })
})

describe('a lane', () => {
  test('is made with its job types, and changed, and a type is moved into another one with what waits of it', async () => {
    const path = '/admin/workers/lanes/bulk'
    expect((await call('PATCH', path, { slots: 3 }, operator)).body).toMatchObject({ status: 422, code: 'unknown_lane' })
    const unknown = await call('PATCH', path, { create: true, types: ['greet', 'gret'] }, operator)
    expect(unknown.body).toMatchObject({ status: 422, code: 'unknown_type', field: 'types[1]' })
    expect((await call('GET', '/admin/workers/lanes', undefined, operator)).body.lanes).toHaveLength(4)

    const waits = await enqueued()
    const made = await call('PATCH', path, { create: true, slots: 3, types: ['greet'], why: 'for the night' }, operator)
    expect(made.body).toMatchObject({ name: 'bulk', slots: 3, types: ['greet'], in_use: 0, changed: { by: 'on-call' } })
    expect(await lastLine('set_lane')).toMatchObject({ actor: 'on-call', target: 'bulk', before: null, why: 'for the night' })
    expect(await lastLine('move_type')).toMatchObject({ actor: 'on-call', before: { lane: 'default' }, after: { lane: 'bulk' } })
    expect((await call('GET', `/jobs/${waits}`)).body.lane).toBe('bulk')

    const back = await call('PATCH', '/admin/job-types/greet', { lane: 'default', why: 'morning' }, operator)
    expect(back.body).toMatchObject({ type: 'greet', lane: 'default', moved: expect.any(Number) })
    expect((await call('GET', `/jobs/${waits}`)).body.lane).toBe('default')
    expect((await call('PATCH', '/admin/job-types/greet', { lane: 'nowhere' }, operator)).body.code).toBe('unknown_lane')
    const bad = await call('PATCH', `/admin/workers/lanes/${encodeURIComponent('Not A Lane')}`, { create: true }, operator)
    expect(bad.body).toMatchObject({ status: 400, code: 'invalid_option' })
  })

  test('says which jobs take its slots, where and since when, with a limit and without', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const hold = defineType({ type: 'hold', run: () => held })
    const worker = await startWorker(serving.holdfast, [hold], { logger: quiet })
    const ids = (await serving.holdfast.enqueueMany([hold.job({}), hold.job({})])).map(({ id }) => id)
    const slots = async () => (await call('GET', '/admin/workers/lanes/default/slots', undefined, operator)).body
    await eventually(async () => (await slots()).slots.length === 2)
    expect(await slots()).toEqual({
      ...{ lane: 'default', limit: null },
      slots: expect.arrayContaining(
        ids.map((job) => ({
          ...{ job, type: 'hold', attempt: 1, worker: worker.name, worker_id: worker.id, stopping: false },
          ...{ since: expect.any(String), lease_until: expect.any(String) },
        })),
      ),
    })
    const lane = async () =>
      (await call('GET', '/admin/workers/lanes')).body.lanes.find(({ name }: { name: string }) => name === 'default')
    expect(await lane()).toMatchObject({ slots: null, in_use: 2 })
    await call('PATCH', '/admin/workers/lanes/default', { slots: 5 }, operator)
    expect(await lane()).toMatchObject({ slots: 5, in_use: 2 })
    expect((await slots()).slots).toHaveLength(2)
    // A handler that was told to stop keeps its slot until it has.
    await serving.holdfast.cancel(ids[0] as string, { by: 'ada' })
    expect((await slots()).slots).toContainEqual(expect.objectContaining({ job: ids[0], attempt: 1, stopping: true }))
    release()
    await eventually(async () => (await slots()).slots.length === 0)
    expect(await lane()).toMatchObject({ in_use: 0 })
    await call('PATCH', '/admin/workers/lanes/default', { slots: null }, operator)
    await worker.stop()
    expect((await call('GET', '/admin/workers/lanes/nowhere/slots')).body.code).toBe('unknown_lane')
  })
})

describe('a job type', () => {
  const path = '/admin/job-types/mail.send'

  test('is defined without a worker, enqueued, and changed in what is named alone', async () => {
    expect((await call('GET', path, undefined, operator)).body).toMatchObject({ status: 404, code: 'not_found' })
    expect((await call('PUT', path, {}, producer)).status).toBe(403)
    const settings = {
      lane: 'maintenance',
      priority: 7,
      timeout: '30s',
      approval: { quorum: 2 },
      redact: ['card'],
      searchable: ['order.id'],
      unique: { by: 'payload' },
    }
    const made = await call('PUT', path, { ...settings, backoff: { base: '10s' }, on_dead: 'greet', why: 'new' }, operator)
    expect(made.body).toMatchObject({
      ...{ type: 'mail.send', lane: 'maintenance', priority: 7, timeout_ms: 30_000, max_attempts: 5, redact: ['card'] },
      ...{
        searchable: ['order.id'],
        approval: { quorum: 2 },
        on_dead: 'greet',
        backoff: { base: 10_000, factor: 2 },
        version: 1,
        gate: null,
      },
    })
    expect(await lastLine('define_type')).toMatchObject({ actor: 'on-call', target: 'mail.send', why: 'new', before: null })
    const job = (await call('POST', '/jobs', { type: 'mail.send', payload: { card: 1 } })).body.id
    expect((await call('GET', `/jobs/${job}`)).body).toMatchObject({
      status: 'awaiting_approval',
      lane: 'maintenance',
      priority: 7,
    })

    const changed = await call('PUT', path, { max_attempts: 9, lane: 'default' }, operator)
    expect(changed.body).toEqual({ ...made.body, max_attempts: 9, lane: 'default', overrides: changed.body.overrides })
    expect(changed.body.overrides).toContainEqual(expect.objectContaining({ field: 'max_attempts', value: 9, by: 'on-call' }))
    expect(await lastLine('change_type')).toMatchObject({ before: { max_attempts: 5 }, after: { max_attempts: 9 } })
    expect((await call('GET', path, undefined, operator)).body).toEqual(changed.body)
  })

  test('keeps what guards it, unless an admin changes that', async () => {
    const before = (await call('GET', path)).body
    for (const [name, value] of Object.entries({
      approval: null,
      redact: [],
      unique: null,
      sensitive: true,
      shared_keys: true,
    })) {
      const refused = await call('PUT', path, { [name]: value, priority: 1 }, operator)
      expect(refused.body, name).toMatchObject({ status: 403, code: 'forbidden', field: name })
    }
    expect((await call('GET', path)).body).toEqual(before)
    expect((await call('PUT', path, { approval: null, unique: false })).body).toMatchObject({ approval: null, unique: null })
    expect((await call('PUT', path, { priority: 12, timeout: '0s' }, operator)).body).toMatchObject({ status: 400 })
    expect((await call('PUT', path, { on_dead: 'nobody' }, operator)).body).toMatchObject({ status: 422, code: 'unknown_type' })
    expect((await call('PUT', '/admin/job-types/holdfast:mine', {}, operator)).body).toMatchObject({ status: 403 })
  })

  test('and its lane change beside a full load: every job runs once, and never more than the slots', async () => {
    const { holdfast } = serving
    const ran: string[] = []
    let most = 0
    let now = 0
    const busy = defineType({
      type: 'busy',
      lane: 'left',
      async run(_, { job }) {
        most = Math.max(most, ++now)
        ran.push(job.id)
        await new Promise((done) => setTimeout(done, 1))
        now--
      },
    })
    for (const lane of ['left', 'right'])
      await call('PATCH', `/admin/workers/lanes/${lane}`, { create: true, slots: 4, poll: '20ms' }, operator)
    await call('PUT', '/admin/job-types/busy', { lane: 'left' }, operator)
    const ids = (await holdfast.enqueueMany(Array.from({ length: 120 }, () => ({ type: 'busy', payload: {} })))).map(
      ({ id }) => id,
    )
    const workers = [
      await startWorker(holdfast, [busy], { logger: quiet }),
      await startWorker(holdfast, [busy], { logger: quiet }),
    ]
    for (let n = 0; n < 4; n++) {
      await call('PATCH', '/admin/job-types/busy', { lane: n % 2 === 0 ? 'right' : 'left' }, operator)
      await call('PUT', '/admin/job-types/busy', { priority: n, max_attempts: 3 + n }, operator)
      await call('PATCH', '/admin/workers/lanes/left', { slots: n % 2 === 0 ? 6 : 4 }, operator)
    }
    await eventually(
      async () =>
        ran.length >= 120 &&
        (
          await serving.sql.query(
            `select from holdfast.live as l join holdfast.types as t on t.id = l.type_id where t.name = 'busy'`,
          )
        ).rowCount === 0,
    )
    await Promise.all(workers.map((worker) => worker.stop()))
    expect([...ran].sort()).toEqual([...ids].sort())
    expect((await serving.sql.query('select * from holdfast.find_drift()')).rows).toEqual([])
    expect((await serving.sql.query('select from holdfast.lane_slots')).rowCount).toBe(0)
    // Four in the one lane and six in the other: what runs when its type moves keeps its slot where it began.
    expect(most).toBeLessThanOrEqual(10)
  })
})
