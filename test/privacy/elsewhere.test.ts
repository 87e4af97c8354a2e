import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { type Serving, serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

const secret = 'the-secret-4111111111111111'
const encryption = { keys: { one: randomBytes(32).toString('base64') }, current: 'one' }
const charge = defineType({ type: 'charge', encrypt: true, maxAttempts: 3, limits: { breaker: false } })
let serving: Serving
let worker: string

beforeAll(async () => {
  serving = await serve({}, { encryption })
  // Some other process has the definition; the server knows the name.
  const elsewhere = new Holdfast({
    connectionString: insideOf(serving.holdfast).store.database.clientConfig.connectionString as string,
  })
  await elsewhere.registerTypes([charge], { update: true })
  await elsewhere.close()
  worker = (await ask('register', { name: 'w', types: ['charge'] })).worker
})
afterAll(() => serving.end())

const ask = async (path: string, body: object) => (await serving.call('POST', `/worker/${path}`, body)).json()
const stored = async () => JSON.stringify((await serving.sql.query('select payload from holdfast.bodies')).rows)

describe('over HTTP, where the server has the keys', () => {
  test('a payload is stored encrypted, and the remote worker gets it and its checkpoint in plain', async () => {
    const { id } = await (await serving.post({ type: 'charge', payload: { card: secret } })).json()
    expect(await stored()).toContain('$enc')
    expect(await stored()).not.toContain(secret)
    const [job] = (await ask('claim', { worker, wait: '10s' })).jobs
    expect(job).toMatchObject({ id, payload: { card: secret } })
    const reports = [{ job: id, lease: job.lease, checkpoint: { at: secret } }]
    const again = { job: id, lease: job.lease, result: 'fail', error: { message: 'no' }, retry_after: 0 }
    await ask('settle', { worker, reports, results: [again] })
    const { rows } = await serving.sql.query('select value::text as value from holdfast.checkpoints')
    expect(rows[0].value).toMatch(/^\{"\$enc":\{"k":"one"/)
    const [second] = (await ask('claim', { worker, wait: '10s' })).jobs
    expect(second).toMatchObject({ id, attempt: 2, payload: { card: secret }, checkpoint: { at: secret } })
    await ask('settle', { worker, results: [{ job: id, lease: second.lease, result: 'complete' }] })
  })

  test('the steps of a remote worker and the signals it is sent are stored encrypted, and it gets them in plain', async () => {
    const { id } = await (await serving.post({ type: 'charge', payload: {} })).json()
    await serving.holdfast.signal(id, 'go', { card: secret })
    const [job] = (await ask('claim', { worker, wait: '10s' })).jobs
    const attempt = { worker, job: id, lease: job.lease }
    await ask('step', { ...attempt, name: 'one', kind: 'step', result: { card: secret } })
    expect(await ask('step', { ...attempt, name: 'go', kind: 'signal' })).toMatchObject({
      state: 'completed',
      result: { card: secret },
    })
    const { rows } = await serving.sql.query(
      'select result::text as kept from holdfast.steps union all select payload::text from holdfast.signals',
    )
    expect(rows).toHaveLength(3)
    for (const { kept } of rows) expect(kept).toMatch(/^\{"\$enc":/)
    expect((await ask('steps', attempt)).steps).toMatchObject([{ result: { card: secret } }, { result: { card: secret } }])
    await ask('settle', { worker, results: [{ job: id, lease: job.lease, result: 'complete' }] })
  })

  test('a job that the server cannot decrypt ends dead and is not handed out; those beside it are', async () => {
    const [broken, good] = await serving.holdfast.enqueueMany([1, 2].map((n) => ({ type: 'charge', payload: n })))
    await serving.sql.query(
      `update holdfast.bodies set payload = replace(payload::text, '"one"', '"gone"')::json where id = $1`,
      [broken?.id],
    )
    const { jobs } = await ask('claim', { worker, wait: '10s', limit: 10 })
    expect(jobs).toMatchObject([{ id: good?.id, payload: 2 }])
    expect(await serving.holdfast.job(broken?.id as string)).toMatchObject({
      status: 'dead',
      attempts: [{ error: { message: 'the payload is encrypted with the key "gone", which this process does not have' } }],
    })
    await ask('settle', { worker, results: [{ job: jobs[0].id, lease: jobs[0].lease, result: 'complete' }] })
    expect((await serving.sql.query('select from holdfast.leases')).rowCount).toBe(0)
  })

  test('a server without keys says so and stores nothing', async () => {
    const without = await serve()
    onTestFinished(() => without.end())
    await without.holdfast.registerTypes([charge], { update: true })
    const refused = await without.post({ type: 'charge', payload: { card: secret } })
    expect([refused.status, (await refused.json()).code]).toEqual([503, 'encryption_keys_missing'])
    expect((await without.sql.query('select from holdfast.bodies')).rowCount).toBe(0)
  })
})

test('a handler in a thread or a process gets the payload in plain, and what it says is redacted', async () => {
  const queue = await makeQueue()
  const holdfast = new Holdfast({ connectionString: queue.url, encryption })
  onTestFinished(() => holdfast.close())
  await startHere({ ...queue, holdfast }, new URL('../support/encrypted-handlers.mjs', import.meta.url))
  for (const type of ['encrypted_thread', 'encrypted_process']) {
    const { id } = await holdfast.enqueue(type, { word: secret })
    await eventually(async () => (await holdfast.log(id)).length === 1)
    expect((await holdfast.log(id))[0]?.line).toBe(`got ${secret.length} characters: [redacted]`)
  }
})
