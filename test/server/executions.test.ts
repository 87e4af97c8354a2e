import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let broken: boolean
const part = defineType({ type: 'part', run: async (payload: unknown) => `part of ${JSON.stringify(payload)}` })
const order = defineWorkflow({
  name: 'order',
  input: z.object({ cart: z.array(z.string()) }),
  tasks(task) {
    const pack = task('pack', { run: async ({ cart }) => ({ parcels: cart }) })
    const parts = task('parts', { type: part, after: [pack], each: '$.pack.parcels[*]' })
    return task('ship', {
      after: [parts],
      maxAttempts: 1,
      run: async (_, { parents }) => {
        if (broken) throw new FatalError('no van')
        return (await parents()).parts
      },
    })
  },
})
const slow = defineWorkflow({ name: 'slow', tasks: (task) => task('later', { type: part, delay: '1h' }) })
const foreign = defineWorkflow({
  name: 'foreign',
  tasks(task) {
    task('mine', { type: part })
    task('sub', {
      workflow: defineWorkflow({ name: 'inner', tasks: (inner) => inner('theirs', { type: 'other' }) }),
      payload: {},
    })
  },
})

let serving: Serving
let call: Contract
const keys: Record<string, string> = {}
beforeAll(async () => {
  serving = await serve()
  const { access, executions } = serving.holdfast
  await serving.holdfast.registerTypes([defineType({ type: 'other' })])
  for (const workflow of [order, slow, foreign]) await executions.register(workflow)
  await access.setRole('resumes', ['dlq:manage', 'jobs:read'], who)
  const types = ['part', 'order.pack', 'order.ship']
  for (const service of ['billing', 'shipping']) {
    keys[service] = (await access.createKey({ service, roles: ['producer', 'resumes'], types, rateLimit: 10_000 }, who)).key
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
  const worker = await startWorker(serving.holdfast, [...order.types, part], { logger: quiet })
  onTestFinished(() => worker.stop())
}

const ended = (id: string) =>
  eventually(async () => {
    const { answer } = await ask('GET', `/executions/${id}`)
    return answer.status !== 'running' && answer
  })

test('a service starts an execution, sees it fail, resumes it, runs it again from a task, and all of it is in the audit log', async () => {
  broken = true
  const body = { workflow: 'order', input: { cart: ['hat', 'socks'] }, priority: 7, concurrency_key: 'ada', tags: ['spring'] }
  const started = await ask('POST', '/executions', body)
  expect(started).toMatchObject({ status: 201, answer: { status: 'created' } })
  const { id } = started.answer
  expect(await ask('POST', '/executions', { ...body, id })).toEqual({ status: 200, answer: { id, status: 'existing' } })
  await working()
  expect(await ended(id)).toMatchObject({
    ...{ status: 'failed', workflow: 'order', version: 1, owner: 'billing', input: body.input },
    tasks: { completed: 2, dead: 1, blocked: 0 },
  })
  const first = (await ask('GET', `/executions/${id}/tasks?limit=3`)).answer
  const rest = (await ask('GET', `/executions/${id}/tasks?limit=3&cursor=${encodeURIComponent(first.next)}`)).answer
  expect(rest.next).toBeNull()
  expect([...first.tasks, ...rest.tasks].map(({ name, item, status }) => [name, item, status])).toEqual([
    ['pack', null, 'completed'],
    ['parts', null, 'completed'],
    ['parts', 0, 'completed'],
    ['parts', 1, 'completed'],
    ['ship', null, 'dead'],
  ])
  expect((await ask('GET', `/executions/${id}/tasks?status=dead`)).answer.tasks).toMatchObject([
    { name: 'ship', error: { message: 'no van' }, after: ['parts'], type: 'order.ship' },
  ])
  const { job_id: job } = first.tasks.find(({ item }: { item: number }) => item === 0)
  expect((await ask('GET', `/jobs/${job}`)).answer).toMatchObject({ owner: 'billing', priority: 7, tags: ['spring'] })

  expect(await ask('POST', `/executions/${id}/cancel`, {})).toMatchObject({ status: 409, answer: { code: 'conflict' } })
  broken = false
  expect((await ask('POST', `/executions/${id}/resume`, { why: 'a van came' })).answer).toEqual({
    ...{ id, done: true, was: 'failed', status: 'running' },
  })
  const output = ['part of "hat"', 'part of "socks"']
  expect(await ended(id)).toMatchObject({ status: 'completed', output })
  const again = await ask('POST', `/executions/${id}/rerun`, { from: 'ship', why: 'lost' })
  expect(again).toMatchObject({ status: 201, answer: { status: 'created' } })
  expect(await ended(again.answer.id)).toMatchObject({ rerun_of: id, rerun_from: 'ship', owner: 'billing', output })
  expect(await ask('POST', `/executions/${id}/rerun`, { from: 'ship', id: again.answer.id })).toMatchObject({ status: 200 })
  expect(await ask('POST', `/executions/${id}/rerun`, { from: 'shop' })).toMatchObject({ status: 400, answer: { field: 'from' } })
  expect((await ask('GET', '/executions?workflow=order&limit=1')).answer).toMatchObject({
    executions: [{ id: again.answer.id, status: 'completed' }],
    next: again.answer.id,
  })
  for (const [action, why] of [
    ['resume_execution', 'a van came'],
    ['rerun_execution', 'lost'],
  ] as const) {
    expect(await serving.holdfast.audit({ action })).toMatchObject([{ actor: 'billing', target: id, why }])
  }
})

test('another service neither sees nor touches an execution, nor takes its id', async () => {
  const { answer } = await ask('POST', '/executions', { workflow: 'slow', input: {} })
  for (const [method, path, body] of [
    ['GET', ''],
    ['GET', '/tasks'],
    ['POST', '/cancel', {}],
    ['POST', '/resume', {}],
    ['POST', '/rerun', { from: 'later' }],
  ] as const) {
    const other = await ask(method, `/executions/${answer.id}${path}`, body, keys.shipping)
    expect(other, path).toMatchObject({ status: 404, answer: { code: 'not_found' } })
  }
  expect((await ask('GET', '/executions', undefined, keys.shipping)).answer.executions).toEqual([])
  expect(await ask('GET', '/executions?owner=billing', undefined, keys.shipping)).toMatchObject({ status: 403 })
  const [{ job_id: job }] = (await ask('GET', `/executions/${answer.id}/tasks`)).answer.tasks
  for (const id of [answer.id, job]) {
    const taken = await ask('POST', '/executions', { workflow: 'slow', input: {}, id }, keys.shipping)
    expect(taken).toMatchObject({ status: 409, answer: { code: 'id_conflict' } })
  }
  expect((await ask('GET', `/executions/${answer.id}`)).answer).toMatchObject({ status: 'running', tasks: { started: 1 } })
  expect((await ask('POST', `/executions/${answer.id}/cancel`, { why: 'enough' })).answer).toEqual({
    ...{ id: answer.id, done: true, was: 'running', status: 'cancelled' },
  })
  expect(await serving.holdfast.audit({ action: 'cancel_execution' })).toMatchObject([{ actor: 'billing', why: 'enough' }])
  expect((await ask('GET', `/jobs/${job}`)).answer).toMatchObject({ status: 'cancelled' })
})

test('a workflow that is not registered, or makes jobs the key is not for, or refuses the input, is not started', async () => {
  const unknown = await ask('POST', '/executions', { workflow: 'ordre', input: {} })
  expect(unknown).toMatchObject({ status: 422, answer: { code: 'unknown_workflow', field: 'workflow' } })
  const others = await ask('POST', '/executions', { workflow: 'foreign', input: {} })
  expect(others.answer.detail.replace('foreign', 'ordre')).toBe(unknown.answer.detail)
  expect(await ask('POST', '/executions', { workflow: 'order', input: { cart: 1 } })).toMatchObject({
    status: 422,
    answer: { code: 'payload_rejected', field: 'input.cart' },
  })
  expect(await ask('POST', '/executions', { workflow: 'order', version: 2, input: { cart: [] } })).toMatchObject({ status: 422 })
  expect(await ask('POST', '/executions', { workflow: 'order', input: {}, concurencyKey: 'x' })).toMatchObject({ status: 400 })
  const { rows } = await serving.sql.query(`select from holdfast.executions where workflow in ('foreign', 'inner')`)
  expect(rows).toEqual([])
})

test('the client starts, waits for, looks at, cancels and repeats executions', async () => {
  broken = false
  const { executions } = new HoldfastClient({ url: serving.address, key: keys.billing as string })
  const { id, status } = await executions.start(order, { cart: ['hat'] }, { concurrencyKey: 'ada', tags: ['one'] })
  expect(status).toBe('created')
  expect(await executions.wait(id, { timeout: 10 })).toMatchObject({ id, status: 'running' })
  const waiting = executions.wait(id, { timeout: '30s' })
  await working()
  expect(await waiting).toMatchObject({ id, status: 'completed', output: ['part of "hat"'] })
  expect(await ask('GET', `/executions/${id}/wait?timeout=2m`)).toMatchObject({ status: 400, answer: { field: 'timeout' } })
  expect((await ask('GET', `/executions/${id}/wait`, undefined, keys.shipping)).status).toBe(404)
  expect((await executions.tasks(id, { status: 'completed' })).tasks).toHaveLength(4)
  const repeated = await executions.rerun(id, 'ship', { why: 'again' })
  expect((await executions.list({ workflow: 'order' })).executions[0]).toMatchObject({ id: repeated.id, rerun_of: id })
  const late = await executions.start('slow', {})
  await executions.cancel(late.id, { why: 'no' })
  await executions.resume(late.id)
  expect(await executions.get(late.id)).toMatchObject({ status: 'running', tasks: { started: 1 } })
  expect(await executions.get(notThere(late.id))).toBeUndefined()
})

/** An id of the same time that nothing has. */
const notThere = (id: string) => id.slice(0, -4) + (id.endsWith('0000') ? '0001' : '0000')

test('a remote worker reads parents, items and execution of a task while it holds it, and only then', async () => {
  const { key } = await serving.holdfast.access.createKey({ service: 'robots', roles: ['worker'], rateLimit: 10_000 }, who)
  const own = defineType({ type: 'robot' })
  await serving.holdfast.registerTypes([own])
  const work = defineWorkflow({
    name: 'work',
    tasks(task) {
      const list = task('list', { type: own })
      const silent = task('silent', { type: own })
      const each = task('each', { type: own, after: [list, silent], each: '$.list[*]' })
      task('end', { type: own, after: [each] })
    },
  })
  const worker = (await ask('POST', '/worker/register', { name: 'r', types: ['robot'] }, key)).answer.worker
  const other = (await ask('POST', '/worker/register', { name: 's', types: ['robot'] }, key)).answer.worker
  const { id } = await serving.holdfast.start(work, { from: 'ada' })
  /** Claims the next job and reads its task; `returned` says what to settle it with. */
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
  const next = async (returned: (task: string) => unknown): Promise<any> => {
    const { jobs } = (await ask('POST', '/worker/claim', { worker, wait: '20s' }, key)).answer
    const attempt = { job: jobs[0].id, lease: jobs[0].lease }
    const read = await ask('POST', '/worker/task', { worker, ...attempt }, key)
    expect(await ask('POST', '/worker/task', { worker: other, ...attempt }, key)).toMatchObject({
      status: 409,
      answer: { code: 'lease_lost' },
    })
    const value = returned(read.answer.execution.task)
    const result = { ...attempt, result: 'complete', ...(value === undefined ? {} : { returned: value }) }
    await ask('POST', '/worker/settle', { worker, results: [result] }, key)
    expect(await ask('POST', '/worker/task', { worker, ...attempt }, key), 'it has ended').toMatchObject({ status: 409 })
    return read.answer
  }
  const firsts = [
    await next((task) => (task === 'list' ? ['x', 'y'] : undefined)),
    await next((task) => (task === 'list' ? ['x', 'y'] : undefined)),
  ]
  expect(firsts.map(({ parents }) => parents)).toEqual([{}, {}])
  const items = [await next(() => 'sent'), await next(() => 'sent')]
  items.sort((one, two) => one.execution.item - two.execution.item)
  expect(items[0]).toEqual({
    execution: { id, workflow: 'work', task: 'each', item: 0, input: { from: 'ada' } },
    parents: { list: ['x', 'y'], silent: null },
  })
  expect(items[1].execution.item).toBe(1)
  expect((await next(() => 1)).parents).toEqual({ each: ['sent', 'sent'] })
  await serving.holdfast.executions.wait(id)

  await serving.holdfast.enqueue(own, {})
  const { jobs } = (await ask('POST', '/worker/claim', { worker, wait: '20s' }, key)).answer
  expect(await ask('POST', '/worker/task', { worker, job: jobs[0].id, lease: jobs[0].lease }, key)).toMatchObject({
    status: 404,
    answer: { code: 'not_found', field: 'job' },
  })
})
