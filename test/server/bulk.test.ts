import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { quiet, serve } from '../support/serving.js'

let serving: Awaited<ReturnType<typeof serve>>
const mail = defineType({ type: 'mail' })
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([mail])
})
afterAll(() => serving.end())

test('a service acts on its own jobs only, with the permission of the action, and sees its own bulk actions only', async () => {
  const { holdfast, call } = serving
  const { access } = holdfast
  await access.setRole('canceller', ['jobs:enqueue', 'jobs:read', 'jobs:cancel'], { by: 'ada' })
  const keyOf = async (service: string) => (await access.createKey({ service, roles: ['canceller'] }, { by: 'ada' })).key
  const [billing, shop] = [await keyOf('billing'), await keyOf('shop')]
  const enqueue = async (key: string) =>
    ((await (await call('POST', '/jobs', { type: 'mail', payload: {} }, key)).json()) as { id: string }).id
  const [its, others] = [await enqueue(billing), await enqueue(shop)]
  const bulk = async (body: object, key: string) => {
    const answer = await call('POST', '/bulk', body, key)
    return { status: answer.status, body: await answer.json() }
  }
  const all = { filter: { all: true } }
  expect((await bulk({ action: 'cancel', ...all, dry_run: true }, billing)).body).toEqual({
    dry_run: true,
    estimate: 1,
    more: false,
  })
  for (const action of ['discard', 'replay', 'retry', 'set-priority', 'bury']) {
    expect(await bulk({ action, ...all }, billing)).toMatchObject({ status: 403, body: { code: 'forbidden', field: 'action' } })
  }
  expect((await bulk({ action: 'cancel', filter: { owner: 'shop' } }, billing)).status).toBe(403)
  expect((await bulk({ action: 'cancel', filter: {} }, billing)).body).toMatchObject({ code: 'invalid_option', field: 'filter' })
  const made = await bulk({ action: 'cancel', ids: [its, others], why: 'not wanted' }, billing)
  expect(made).toMatchObject({ status: 201, body: { by: 'billing', owner: 'billing', estimate: 2 } })
  const { id } = made.body
  for (const [method, path] of [
    ['GET', `/bulk/${id}`],
    ['POST', `/bulk/${id}/abort`],
  ] as const) {
    expect((await call(method, path, method === 'POST' ? {} : undefined, shop)).status).toBe(404)
  }
  expect(await (await call('GET', '/bulk', undefined, shop)).json()).toEqual({ actions: [], next: null })
  const worker = await startWorker(holdfast, [defineType({ type: 'other', run() {} })], { logger: quiet })
  try {
    const done = await eventually(async () => {
      const found = await (await call('GET', `/bulk/${id}`, undefined, billing)).json()
      return found.ended_at ? found : undefined
    })
    expect(done).toMatchObject({ status: 'completed', done: 1, refused: { 'it is gone': 1 } })
  } finally {
    await worker.stop()
  }
  expect((await holdfast.job(others))?.status).toBe('pending')
  expect((await call('POST', `/bulk/${id}/abort`, {})).status).toBe(409)
})
