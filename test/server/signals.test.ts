import { defineType } from 'holdfast'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { type Serving, serve } from '../support/serving.js'

let serving: Serving
let call: Contract

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'waits' })])
  call = await contractOf(serving, { comesBack: true })
})
afterAll(() => serving.end())

test('POST /jobs/:id/signals stores a signal for a job of the caller, names it in the audit log, and refuses one that has ended', async () => {
  const key = async (service: string) =>
    (await serving.holdfast.access.createKey({ service, roles: ['producer'] }, { by: 'ada' })).key
  const [billing, shipping] = [await key('billing'), await key('shipping')]
  const { id } = (await call('POST', '/jobs', { type: 'waits', payload: {}, delay: '1h' }, billing)).body
  const send = (who: string) => call('POST', `/jobs/${id}/signals`, { name: 'go', payload: { n: 7 } }, who)
  expect(await send(shipping)).toMatchObject({ status: 404 })
  expect(await send(billing)).toMatchObject({ status: 202, body: { id, signal: 'go' } })
  expect((await call('GET', `/jobs/${id}`, undefined, billing)).body).toMatchObject({
    steps: [],
    signals: [{ name: 'go', payload: { n: 7 }, by: 'billing', delivered: false }],
  })
  const [line] = await serving.holdfast.audit({ target: id })
  expect(line).toMatchObject({ action: 'signal_job', actor: 'billing', after: { signal: 'go' } })
  await serving.holdfast.cancel(id, { by: 'ada' })
  expect(await send(billing)).toMatchObject({ status: 409, body: { code: 'conflict' } })
})
