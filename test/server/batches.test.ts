import { defineType, FatalError } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let broken = true
const called: string[] = []
const part = defineType({
  type: 'part',
  maxAttempts: 1,
  run: async (payload: unknown) => {
    if (payload === 'bad' && broken) throw new FatalError('broken')
  },
})
const done = defineType({ type: 'done', run: async (payload: unknown) => void called.push(payload as string) })

let serving: Serving
let call: Contract
const keys: Record<string, string> = {}
beforeAll(async () => {
  serving = await serve()
  const { access } = serving.holdfast
  await serving.holdfast.registerTypes([part, done, defineType({ type: 'other' })])
  await access.setRole('retries', ['dlq:manage', 'jobs:read'], who)
  for (const service of ['billing', 'shipping']) {
    keys[service] = (
      await access.createKey({ service, roles: ['producer', 'retries'], types: ['part', 'done'], rateLimit: 10_000 }, who)
    ).key
  }
  call = await contractOf(serving, { comesBack: true })
})
afterAll(() => serving.end())

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
async function ask(method: string, path: string, body?: object, key = keys.billing): Promise<{ status: number; answer: any }> {
  const { status, body: answer } = await call(method, path, body, key)
  return { status, answer }
}

async function working(): Promise<void> {
  const worker = await startWorker(serving.holdfast, [part, done], { logger: quiet })
  onTestFinished(() => worker.stop())
}

const ended = (id: string) =>
  eventually(async () => {
    const { answer } = await ask('GET', `/batches/${id}`)
    return answer.status !== 'running' && answer
  })

test('a service makes a batch, adds to it, closes it, retries what failed, and sees it all', async () => {
  const job = (payload: string) => ({ type: 'part', payload })
  const callback = (payload: string) => ({ type: 'done', payload })
  const body = {
    ...{ name: 'parts', open: true, jobs: [job('good'), job('bad')] },
    ...{ on_success: callback('success'), on_failure: callback('failure'), on_complete: callback('complete') },
  }
  const created = await ask('POST', '/batches', body)
  expect(created).toMatchObject({
    status: 201,
    answer: { status: 'created', jobs: [{ status: 'created' }, { status: 'created' }] },
  })
  const { id } = created.answer
  const again = await ask('POST', '/batches', { ...body, id })
  expect(again).toEqual({ status: 200, answer: { id, status: 'existing', jobs: [] } })
  expect((await ask('POST', `/batches/${id}/jobs`, { jobs: [job('good')] })).answer.jobs).toHaveLength(1)
  await working()
  await eventually(async () => (await ask('GET', `/batches/${id}`)).answer.live === 0)
  expect((await ask('GET', `/batches/${id}`)).answer).toMatchObject({
    status: 'running',
    open: true,
    waits_for: 'somebody to close it',
  })
  expect((await ask('POST', `/batches/${id}/close`)).answer).toEqual({ id, closed: true })
  expect(await ended(id)).toMatchObject({ status: 'failed', owner: 'billing', total: 3, completed: 2, dead: 1, round: 1 })
  expect(await ask('POST', `/batches/${id}/jobs`, { jobs: [job('late')] })).toMatchObject({
    status: 409,
    answer: { code: 'conflict' },
  })
  expect(await ask('POST', `/batches/${id}/cancel`, {})).toMatchObject({ status: 409, answer: { code: 'conflict' } })
  broken = false
  expect((await ask('POST', `/batches/${id}/retry`, { why: 'mended' })).answer).toEqual({ matched: 1, done: 1, refused: {} })
  await eventually(() => called.length === 4)
  expect(called.sort()).toEqual(['complete', 'complete', 'failure', 'success'])
  const { answer } = await ask('GET', '/batches?limit=1')
  expect(answer).toMatchObject({ batches: [{ id, status: 'succeeded', round: 2 }], next: id })
  const [{ batch_id, job_id }] = (await serving.sql.query('select batch_id, job_id from holdfast.batch_callbacks limit 1')).rows
  expect((await ask('GET', `/batches?job=${job_id}`)).answer.batches).toMatchObject([{ id: batch_id }])
  expect((await ask('GET', `/jobs/${job_id}`)).answer, 'a callback belongs to the service of its batch').toMatchObject({
    owner: 'billing',
  })
  const [line] = await serving.holdfast.audit({ action: 'retry_batch' })
  expect(line).toMatchObject({ actor: 'billing', target: id, why: 'mended' })
})

test('another service neither sees nor touches a batch, and a key names its own types alone', async () => {
  const { answer } = await ask('POST', '/batches', { jobs: [{ type: 'part', payload: 'x', delay: '1h' }], open: true })
  const other = (method: string, path: string, body?: object) => ask(method, `/batches/${answer.id}${path}`, body, keys.shipping)
  for (const [method, path, body] of [
    ['GET', ''],
    ['POST', '/jobs', { jobs: [{ type: 'part', payload: 'x' }] }],
    ['POST', '/close'],
    ['POST', '/cancel', {}],
    ['POST', '/retry', {}],
  ] as const) {
    expect(await other(method, path, body), path).toMatchObject({ status: 404, answer: { code: 'not_found' } })
  }
  expect((await ask('GET', '/batches', undefined, keys.shipping)).answer.batches).toEqual([])
  expect((await ask('GET', `/batches?job=${answer.jobs[0].id}`, undefined, keys.shipping)).answer.batches).toEqual([])
  expect(await ask('POST', '/batches', { id: answer.id }, keys.shipping)).toMatchObject({
    status: 409,
    answer: { code: 'id_conflict' },
  })
  expect((await ask('GET', `/batches/${answer.id}`)).answer).toMatchObject({ total: 1, live: 1, open: true, cancelled_by: null })
  const foreign = { type: 'other', payload: {} }
  expect(await ask('POST', '/batches', { jobs: [foreign] })).toMatchObject({ status: 403, answer: { field: 'jobs[0].type' } })
  expect(await ask('POST', '/batches', { on_complete: foreign })).toMatchObject({
    status: 403,
    answer: { field: 'on_complete.type' },
  })
  expect((await ask('POST', `/batches/${answer.id}/cancel`, { why: 'enough' })).answer).toEqual({
    id: answer.id,
    done: true,
    was: 'running',
  })
  expect(await ended(answer.id)).toMatchObject({
    status: 'cancelled',
    cancelled: 1,
    cancelled_by: 'billing',
    cancelled_why: 'enough',
  })
})

test('the client makes a batch of any number of jobs, also where an answer was lost', async () => {
  const client = new HoldfastClient({ url: serving.address, key: keys.billing as string })
  const jobs = [...Array(230).keys()].map((n) => part.job(`good ${n}`))
  const made = await client.batch({ name: 'many', jobs, onComplete: done.job('all of them') })
  expect(new Set(made.jobs.map(({ id }) => id)).size).toBe(230)
  expect(await client.batches.get(made.id)).toMatchObject({ total: 230, open: false })
  await working()
  await eventually(() => called.includes('all of them'))
  const open = await client.batch({ open: true })
  await client.batches.add(open.id, [part.job('one', { delay: '1h' })])
  expect((await client.batches.list({ limit: 1 })).batches).toMatchObject([{ id: open.id }])
  await client.batches.cancel(open.id, { why: 'no' })
  expect(await ended(open.id)).toMatchObject({ status: 'cancelled', cancelled_why: 'no' })
  expect(await client.batches.retry(open.id)).toEqual({ matched: 0, done: 0, refused: {} })
})
