import { defineType } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { quiet, type Serving, serve } from '../support/serving.js'

/** Keys of all kinds belong to the service that uses them: another one can neither take nor touch nor learn of what they lead to. */
const who = { by: 'ada' }
const greet = defineType({ type: 'greet' })
const common = defineType({ type: 'common', sharedKeys: true })

let serving: Serving
let call: Contract
let billing: string
let shipping: string
let operator: string
let colleague: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet, common])
  call = await contractOf(serving)
  const key = async (service: string, ...roles: string[]) =>
    (await serving.holdfast.access.createKey({ service, roles: [...roles] }, who)).key
  billing = await key('billing', 'producer')
  shipping = await key('shipping', 'producer')
  operator = await key('on-call', 'operator', 'producer')
  colleague = await key('colleague', 'operator', 'producer')
})
afterAll(() => serving.end())

const post = (job: object, key: string) => call('POST', '/jobs', { type: 'greet', payload: {}, delay: '1h', ...job }, key)
const read = async (id: string, key?: string) => (await call('GET', `/jobs/${id}`, undefined, key)).body

describe('a key of one service', () => {
  test('does not lead another one to its job: idempotency key', async () => {
    const theirs = await post({ payload: 'theirs', idempotency_key: 'charge:4711' }, shipping)
    const ours = await post({ payload: 'ours', idempotency_key: 'charge:4711' }, billing)
    expect(ours).toMatchObject({ status: 201, body: { status: 'created' } })
    expect(ours.body.id).not.toBe(theirs.body.id)
    expect(await post({ payload: 'ours', idempotency_key: 'charge:4711' }, billing)).toMatchObject({
      body: { id: ours.body.id, status: 'existing' },
    })
  })

  test.each(['existing', 'replace', 'reject'])('does not lead another one to its job: unique with %s', async (on_conflict) => {
    const unique = { key: `k ${on_conflict}`, on_conflict }
    const first = await post({ payload: 'first', unique }, billing)
    const second = await post({ payload: 'second', unique }, shipping)
    expect(second).toMatchObject({ status: 201, body: { status: 'created' } })
    expect(await read(first.body.id)).toMatchObject({ payload: 'first', owner: 'billing', changes: [] })
  })

  test('is not that of the application itself, which enqueues with the library or SQL', async () => {
    const here = await serving.holdfast.enqueue(greet, 'here', { delay: '1h', idempotencyKey: 'ours', unique: { key: 'ours' } })
    const { rows } = await serving.sql.query(
      `select * from holdfast.enqueue('greet', '"sql"', '{"unique": {"key": "ours", "on_conflict": "existing"}}')`,
    )
    expect(rows).toEqual([{ id: here.id, status: 'existing' }])
    const there = await post({ idempotency_key: 'ours', unique: { key: 'ours' } }, billing)
    expect(there).toMatchObject({ status: 201 })
  })

  test('holds in a large enqueue of the library too, which takes its keys in a statement of its own', async () => {
    const owned = (owner: string, n: number) =>
      serving.holdfast.enqueueMany(
        Array.from({ length: n }, (_, i) => greet.job(i, { delay: '1h', idempotencyKey: `large ${i % 5_001}` })),
        { owner },
      )
    const first = await owned('billing', 5_001)
    const second = await owned('shipping', 5_001)
    expect(new Set([...first, ...second].map(({ status }) => status))).toEqual(new Set(['created']))
  })

  test('stays its own when the job is replayed', async () => {
    const mortal = defineType({ type: 'mortal', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
    await serving.holdfast.registerTypes([mortal])
    const unique = { key: 'm', on_conflict: 'existing' }
    const { id } = (await post({ type: 'mortal', unique, delay: undefined }, billing)).body
    const worker = await startWorker(serving.holdfast, [mortal], { logger: quiet })
    await vi.waitFor(async () => expect((await read(id)).status).toBe('dead'), { timeout: 20_000 })
    await worker.stop()
    await post({ type: 'mortal', unique, delay: undefined }, shipping)
    await serving.holdfast.deadLetters.replay(id, who)
    expect((await serving.holdfast.explain(id))?.gates.map(({ gate }) => gate)).not.toContain('behind')
    expect(await post({ type: 'mortal', unique, delay: undefined }, billing)).toMatchObject({ body: { id, status: 'existing' } })
  })

  test('is everybody’s where the type shares its keys, and the story says who replaced what', async () => {
    const unique = { key: 'k', on_conflict: 'replace' }
    const { id } = (await post({ type: 'common', payload: { v: 1 }, unique }, billing)).body
    expect(await post({ type: 'common', payload: { v: 2 }, priority: 8, unique }, shipping)).toMatchObject({
      body: { id, status: 'replaced' },
    })
    expect(await read(id, billing)).toMatchObject({
      owner: 'billing',
      payload: { v: 2 },
      changes: [
        {
          ...{ move: 'replace', by: 'shipping', at: expect.any(String) },
          ...{ before: { payload: { v: 1 }, priority: 5 }, after: { priority: 8, replacements: 1 } },
        },
      ],
    })
    const taken = await post({ type: 'common', unique: { key: 'k' } }, shipping)
    expect(taken).toMatchObject({ status: 409, body: { code: 'unique_conflict' } })
    expect(JSON.stringify(taken.body), 'the id of what shipping may not read').not.toContain(id)
    expect((await post({ type: 'common', unique: { key: 'k' } }, operator)).body).toMatchObject({ job_id: id })
  })
})

test('a unique key that is taken is answered with the job that has it, and the client has it too', async () => {
  const { id } = (await post({ unique: { key: 'mine' } }, billing)).body
  expect(await post({ unique: { key: 'mine' } }, billing)).toMatchObject({ status: 409, body: { job_id: id, field: 'unique' } })
  const client = new HoldfastClient({ url: serving.address, key: billing })
  await expect(client.enqueue('greet', {}, { unique: { key: 'mine' } })).rejects.toMatchObject({
    name: 'UniqueConflictError',
    jobId: id,
  })
})

test('two of one enqueue that exclude each other are named by their indexes', async () => {
  const job = (key: string) => ({ type: 'greet', payload: {}, unique: { key } })
  const jobs = [job('b1'), job('b2'), job('b3'), job('b2')]
  const { status, body } = await call('POST', '/jobs/bulk', { jobs }, billing)
  expect(status).toBe(409)
  expect(body.detail).toContain('jobs[1] and jobs[3]')
  expect(body).not.toHaveProperty('job_id')
})

describe('an id', () => {
  test('of another service’s job is refused and says nothing about it', async () => {
    const { id } = (await post({ payload: 'secret' }, billing)).body
    const { status, body } = await post({ id, payload: 'secret' }, shipping)
    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'id_conflict', field: 'id' })
    expect(await post({ id, payload: 'secret' }, billing)).toMatchObject({ status: 200, body: { status: 'existing' } })
    expect((await post({ id, payload: 'other' }, billing)).body).toMatchObject({ code: 'id_conflict' })
  })
})

describe('four eyes', () => {
  const approve = (id: string, key: string) => call('POST', `/jobs/${id}/approve`, {}, key)

  test('whoever replaced the payload does not approve it, and neither does who asked for the job', async () => {
    const unique = { key: 'four', on_conflict: 'replace' }
    const { id } = (await post({ type: 'common', payload: 1, unique, approval: true }, colleague)).body
    await post({ type: 'common', payload: 2, unique }, operator)
    expect(await approve(id, operator)).toMatchObject({ status: 403, body: { detail: expect.stringContaining('on-call') } })
    expect(await approve(id, colleague)).toMatchObject({ status: 403 })
    expect(await approve(id, (await third()).key)).toMatchObject({ status: 200 })
  })

  test('whoever replayed it with another payload does not approve it, over HTTP or with the library', async () => {
    const dies = defineType({ type: 'dies', approval: true, maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
    await serving.holdfast.registerTypes([dies])
    const { id } = await serving.holdfast.enqueue(dies, 1)
    await serving.holdfast.approve(id, { by: 'eve' })
    const worker = await startWorker(serving.holdfast, [dies], { logger: quiet })
    await vi.waitFor(async () => expect((await read(id)).status).toBe('dead'), { timeout: 20_000 })
    await worker.stop()
    expect((await call('POST', `/admin/dlq/${id}/replay`, { payload: 2 }, operator)).status).toBe(200)
    expect(await approve(id, operator)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(await serving.holdfast.approve(id, { by: 'on-call' })).toMatchObject({
      ...{ done: false, status: 'awaiting_approval' },
      because: 'on-call wrote its payload, so somebody else has to approve it',
    })
    expect(await approve(id, colleague)).toMatchObject({ status: 200 })
  })

  const third = () => serving.holdfast.access.createKey({ service: `third-${Date.now()}`, roles: ['operator'] }, who)
})

test('a replaced job keeps the last twenty replacements in its story, and their number', async () => {
  const unique = { key: 'often', onConflict: 'replace' } as const
  let id = ''
  for (let n = 0; n <= 25; n++) id = (await serving.holdfast.enqueue(greet, n, { unique, delay: '1h' })).id
  const { changes } = (await serving.holdfast.job(id)) ?? { changes: [] }
  expect(changes).toHaveLength(20)
  expect(changes.at(-1)).toMatchObject({ before: { payload: 24 }, after: { replacements: 25 } })
})
