import { defineSchedule, defineType, FatalError, Holdfast } from 'holdfast'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { quiet, type Serving, serve } from '../support/serving.js'

const order = z.object({ items: z.array(z.object({ sku: z.string(), count: z.int().min(1).default(1) })) })
const ship = defineType({ type: 'ship', payload: order, version: 2, upcast: { 1: (old) => old } })
const wrong = { items: [{ sku: 'a' }, { sku: 7 }] }
const right = { items: [{ sku: 'a' }] }
const path = 'payload.items[1].sku'
const who = { by: 'ada' }

/** Its server shares no process memory with the producer of the definition but the database: it has never seen a definition. */
let serving: Serving
let key: string
let elsewhere: Holdfast

beforeAll(async () => {
  serving = await serve()
  elsewhere = new Holdfast({ connectionString: await urlOf(serving) })
  await elsewhere.registerTypes([ship, defineType({ type: 'free' })], { update: true })
  await serving.holdfast.access.setRole(
    'all',
    ['jobs:enqueue', 'jobs:read', 'jobs:work', 'types:manage', 'workers:view', 'dlq:manage'],
    who,
  )
  key = (await serving.holdfast.access.createKey({ service: 'billing', roles: ['all'] }, who)).key
})
afterAll(async () => {
  await elsewhere.close()
  await serving.end()
})

/** The database of a server, as another process reaches it. */
async function urlOf({ sql }: Serving): Promise<string> {
  const url = new URL(process.env.HOLDFAST_TEST_URL as string)
  url.pathname = `/${(await sql.query('select current_database() as name')).rows[0].name}`
  return url.href
}

const call = async (method: string, url: string, body?: object) => {
  const response = await serving.call(method, url, body, key)
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
  return { status: response.status, body: (await response.json()) as any }
}
const stored = async () => Number((await serving.sql.query('select count(*) as n from holdfast.bodies')).rows[0].n)

describe('a payload that does not fit the stored schema of its type', () => {
  test('is refused to a SQL producer, naming the path, and nothing is stored', async () => {
    const before = await stored()
    const asked = serving.sql.query(`select * from holdfast.enqueue('ship', $1)`, [JSON.stringify(wrong)])
    await expect(asked).rejects.toMatchObject({
      code: 'HF014',
      message: `ship refuses its payload: ${path}: must be string, and is number`,
    })
    expect(await stored()).toBe(before)
    await serving.sql.query(`select * from holdfast.enqueue('ship', $1)`, [JSON.stringify(right)])
    await serving.sql.query(`select * from holdfast.enqueue('free', '{"anything": [1]}')`)
    expect(await stored()).toBe(before + 2)
  })

  test('is refused to an HTTP producer by a server that has not the definition', async () => {
    const before = await stored()
    expect(await call('POST', '/jobs', { type: 'ship', payload: wrong })).toMatchObject({
      status: 422,
      body: { code: 'payload_rejected', field: path },
    })
    expect(await call('POST', '/jobs', { type: 'ship', payload: wrong, delay: '1h' })).toMatchObject({ status: 422 })
    const many = {
      jobs: [
        { type: 'ship', payload: right },
        { type: 'free', payload: 1 },
        { type: 'ship', payload: wrong },
      ],
    }
    expect(await call('POST', '/jobs/bulk', many)).toMatchObject({
      status: 422,
      body: { code: 'payload_rejected', field: `jobs[2].${path}` },
    })
    expect(await stored()).toBe(before)
    expect((await call('POST', '/jobs', { type: 'ship', payload: right })).status).toBe(201)
  })

  test('is refused to an SDK that enqueues by name; beside it others are stored', async () => {
    const [refused, taken] = await Promise.allSettled([
      serving.holdfast.enqueue('ship', wrong),
      serving.holdfast.enqueue('ship', right),
    ])
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'payload_rejected', field: path } })
    expect(taken.status).toBe('fulfilled')
  })

  test('is taken where it is of an older version: the schema is that of the newest', async () => {
    expect((await call('POST', '/jobs', { type: 'ship', payload: wrong, version: 1 })).status).toBe(201)
    expect((await call('POST', '/jobs', { type: 'ship', payload: wrong, version: 2 })).status).toBe(422)
  })

  test('is refused as the payload of a schedule', async () => {
    const nightly = defineSchedule({ name: 'nightly', type: 'ship', cron: '0 3 * * *', payload: wrong })
    await expect(serving.holdfast.schedules.define([nightly])).rejects.toMatchObject({ code: 'payload_rejected', field: path })
  })

  test('is refused as the new payload of a dead job, and what fits is taken', async () => {
    const frail = defineType({ type: 'frail', payload: order, run: () => Promise.reject(new FatalError('no box')) })
    const worker = await startWorker(elsewhere, [frail], { logger: quiet })
    const { id } = await serving.holdfast.enqueue('frail', right)
    await vi.waitFor(async () => expect((await serving.holdfast.job(id))?.status).toBe('dead'), 30_000)
    await worker.stop()
    const refused = { status: 422, body: { code: 'payload_rejected', field: path } }
    expect(await call('POST', `/admin/dlq/${id}/replay`, { payload: wrong })).toMatchObject(refused)
    expect((await call('POST', `/admin/dlq/${id}/replay`, { payload: { items: [] } })).status).toBe(200)
  })

  test('is not looked for again where the SDK has checked it with its definition', async () => {
    const loose = defineType({ type: 'ship', version: 2 })
    await elsewhere.enqueue(loose, wrong)
  })
})

describe('the stored schema', () => {
  test('is shown with the type, and rules as an operator says until it is released', async () => {
    const shown = async () => (await call('GET', '/admin/job-types/ship')).body.payload_schema
    const code = await shown()
    expect(code).toMatchObject({ type: 'object', required: ['items'] })
    await call('PUT', '/admin/job-types/ship', { payload_schema: { required: ['by'] }, why: 'whoever ships signs' })
    expect(await call('POST', '/jobs', { type: 'ship', payload: right })).toMatchObject({
      status: 422,
      body: { field: 'payload.by' },
    })
    await elsewhere.registerTypes([ship], { update: true })
    expect(await shown()).toEqual({ required: ['by'] })
    await call('POST', '/admin/job-types/ship/release', { fields: ['payload_schema'] })
    expect(await shown()).toEqual(code)
  })

  test('comes from a remote worker, too', async () => {
    const schema = { type: 'object', properties: { weight: { type: 'number', exclusiveMinimum: 0 } }, required: ['weight'] }
    const registration = { name: 'py', types: [{ type: 'weigh', payload_schema: schema }] }
    expect((await call('POST', '/worker/register', registration)).status).toBe(201)
    expect(await call('POST', '/jobs', { type: 'weigh', payload: { weight: 0 } })).toMatchObject({
      status: 422,
      body: { code: 'payload_rejected', field: 'payload.weight', detail: expect.stringContaining('must be above 0') },
    })
    const large = { type: 'large', payload_schema: { description: 'x'.repeat(65_536) } }
    expect(await call('POST', '/worker/register', { name: 'py', types: [large] })).toMatchObject({
      status: 400,
      body: { field: 'types[0].payload_schema' },
    })
  })

  test('is that of the newest version: an older worker that starts later keeps it, and a newer one without a schema takes it away', async () => {
    const named = async () => (await call('GET', '/admin/job-types/sort')).body
    const sort = (version: number, payload?: z.ZodType) =>
      defineType({ type: 'sort', version, ...(payload === undefined ? {} : { payload }) })
    await elsewhere.registerTypes([sort(2, z.object({ by: z.string() }))], { update: true })
    await elsewhere.registerTypes([sort(1, z.object({ old: z.string() }))], { update: true })
    expect(await named()).toMatchObject({ version: 2, payload_schema: { required: ['by'] } })
    const newer = { type: 'sort', payload_schema: { required: ['three'] } }
    await call('POST', '/worker/register', { name: 'py', types: [newer], payload_versions: { sort: 3 } })
    expect(await named()).toMatchObject({ version: 3, payload_schema: { required: ['three'] } })
    await call('POST', '/worker/register', { name: 'py', types: ['sort'], payload_versions: { sort: 4 } })
    expect(await named()).toMatchObject({ version: 4, payload_schema: null })
  })

  test('comes from the definition of a remote worker of the SDK', async () => {
    const pack = defineType({ type: 'pack', payload: z.object({ box: z.string() }), run() {} })
    const worker = await startRemoteWorker({ url: serving.address, key }, [pack], { logger: quiet })
    await worker.stop()
    expect(await call('POST', '/jobs', { type: 'pack', payload: { box: 1 } })).toMatchObject({
      status: 422,
      body: { field: 'payload.box' },
    })
  })

  test('does not stand in the way of encrypted payloads, which the database cannot read', async () => {
    const hidden = defineType({ type: 'hidden', payload: z.object({ a: z.string() }), encrypt: true })
    await elsewhere.registerTypes([hidden])
    const sealed = { $enc: 'k1', data: 'x' }
    await serving.sql.query(`select * from holdfast.enqueue('hidden', $1)`, [JSON.stringify(sealed)])
  })
})
