import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { type Serving, serve } from '../support/serving.js'

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
        ...{ status: 400, detail: 'give either run_at or delay', field: 'run_at' },
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
