import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { type Serving, serve } from '../support/serving.js'

const nobody = '01900000-0000-7000-8000-00000000dead'
let serving: Serving
let call: Contract
let operator: string
let worker: string

beforeAll(async () => {
  serving = await serve()
  const sensitive = ['pay', 'refund']
  const types = ['mail', 'bill', 'many', ...sensitive].map((type) =>
    defineType({ type, limits: { breaker: false }, sensitive: sensitive.includes(type) }),
  )
  await serving.holdfast.registerTypes(types, { update: true })
  call = await contractOf(serving, { comesBack: true })
  operator = (await serving.holdfast.access.createKey({ service: 'on-call', roles: ['operator'] }, { by: 'ada' })).key
  worker = (await call('POST', '/worker/register', { name: 'w', types: types.map(({ type }) => type) })).body.worker
})
afterAll(() => serving.end())

/** Jobs that have died of that, in the order they were enqueued. */
async function died(type: string, message: string, count = 1): Promise<string[]> {
  const asked = Array.from({ length: count }, (_, n) => ({ type, payload: { n } }))
  const ids = (await serving.holdfast.enqueueMany(asked)).map(({ id }) => id)
  const { jobs } = (await call('POST', '/worker/claim', { worker, types: [type], limit: count, wait: '20s' })).body
  const end = { result: 'fail', fatal: true, error: { name: 'Error', message, stack: 'at some/file.js' } }
  const results = jobs.map(({ id, lease }: { id: string; lease: string }) => ({ job: id, lease, ...end }))
  await call('POST', '/worker/settle', { worker, results })
  return ids
}

describe('GET /admin/dlq', () => {
  test('lists dead letters newest first, by type, reason, error and time, in pages', async () => {
    const [mail] = await died('mail', 'Connection refused')
    const [bill] = await died('bill', 'no such customer')
    const found = async (query = '') =>
      (await call('GET', `/admin/dlq${query}`, undefined, operator)).body.letters.map(({ id }: { id: string }) => id)
    expect(await found()).toEqual([bill, mail])
    expect(await found('?type=mail')).toEqual([mail])
    expect(await found('?error=CUSTOMER')).toEqual([bill])
    expect(await found('?reason=poison')).toEqual([])
    expect(await found('?died_before=2020-01-01T00:00:00Z')).toEqual([])
    const first = (await call('GET', '/admin/dlq?limit=1', undefined, operator)).body
    expect(first.letters).toMatchObject([{ id: bill, reason: 'fatal', error: { message: 'no such customer' } }])
    expect(first.letters[0].error).not.toHaveProperty('stack')
    expect(await found(`?limit=1&cursor=${first.next}`)).toEqual([mail])
    const impossible = Buffer.from(`2026-02-31T00:00:00.000000Z ${nobody}`).toString('base64url')
    expect((await call('GET', `/admin/dlq?cursor=${impossible}`)).body).toMatchObject({ status: 400, field: 'cursor' })
    expect((await call('GET', '/admin/dlq?type=unheard_of')).status).toBe(422)
  })

  test('/:id shows one with its payload and every attempt; what is not dead is 404', async () => {
    const [id] = await died('mail', 'gone')
    const { body } = await call('GET', `/admin/dlq/${id}`, undefined, operator)
    expect(body).toMatchObject({ id, status: 'dead', reason: 'fatal', payload: { n: 0 }, error: { message: 'gone' } })
    expect(body.attempts).toMatchObject([{ outcome: 'failed', worker: 'w', error: { stack: 'at some/file.js' } }])
    const { id: alive } = await serving.holdfast.enqueue('mail', {}, { delay: '1h' })
    expect((await call('GET', `/admin/dlq/${alive}`)).status).toBe(404)
    expect((await call('GET', `/admin/dlq/${nobody}`)).status).toBe(404)
  })
})

describe('POST /admin/dlq/:id', () => {
  test('/replay makes it due again, with another payload too; a second time is 409', async () => {
    const [id] = await died('mail', 'gone')
    const replayed = await call('POST', `/admin/dlq/${id}/replay`, { payload: { to: 'ada' }, why: 'repaired' }, operator)
    expect(replayed.body).toEqual({ id, done: true, was: 'dead', status: 'pending' })
    const { body } = await call('GET', `/jobs/${id}`)
    expect(body).toMatchObject({ status: 'pending', attempt: 1, payload: { to: 'ada' } })
    expect(body.changes).toMatchObject([{ move: 'replay', by: 'on-call', before: { payload: { n: 0 } } }])
    const again = await call('POST', `/admin/dlq/${id}/replay`, {}, operator)
    expect(again.body).toMatchObject({
      status: 409,
      code: 'conflict',
      detail: expect.stringMatching(/already replayed by on-call/),
    })
    expect((await call('POST', `/admin/dlq/${nobody}/replay`)).status).toBe(404)
    const [line] = await serving.holdfast.audit({ action: 'replay_job', target: id as string })
    expect(line).toMatchObject({ actor: 'on-call', origin: '127.0.0.1', why: 'repaired', after: { new_payload: true } })
    // The log is kept for ever, and payloads are not.
    expect(JSON.stringify(line)).not.toMatch(/"n"|"to"/)
    await serving.holdfast.cancel(id as string, { by: 'ada' })
  })

  test('/discard ends it for good', async () => {
    const [id] = await died('bill', 'gone')
    expect((await call('POST', `/admin/dlq/${id}/discard`, { why: 'nobody needs it' }, operator)).body).toMatchObject({
      done: true,
      status: 'discarded',
    })
    expect((await call('POST', `/admin/dlq/${id}/discard`, {}, operator)).status).toBe(409)
    expect(await serving.holdfast.audit({ action: 'discard_job' })).toMatchObject([{ target: id, why: 'nobody needs it' }])
  })

  test('is refused to a key that may look and not act', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'looker', roles: ['viewer'] }, { by: 'ada' })
    const [id] = await died('bill', 'gone')
    expect((await call('GET', `/admin/dlq/${id}`, undefined, key)).status).toBe(200)
    expect((await call('POST', `/admin/dlq/${id}/replay`, {}, key)).status).toBe(403)
    expect((await call('POST', '/admin/dlq/discard', { filter: { all: true }, dry_run: false }, key)).status).toBe(403)
  })
})

describe('POST /admin/dlq/replay and /admin/dlq/discard', () => {
  test('count what a filter finds, and do it only when they are told to', async () => {
    const ids = await died('many', 'flood', 7)
    const ask = (move: string, more: object = {}) =>
      call('POST', `/admin/dlq/${move}`, { filter: { type: 'many' }, ...more }, operator)
    expect((await ask('replay')).body).toMatchObject({ dry_run: true, matched: 7, done: 0 })
    expect((await call('GET', `/jobs/${ids[0]}`)).body.status).toBe('dead')
    const some = (await ask('replay', { dry_run: false, at_most: 2, why: 'a few first' })).body
    expect(some).toMatchObject({ dry_run: false, matched: 2, done: 2, refused: {} })
    expect((await call('GET', `/jobs/${ids[6]}`)).body.status).toBe('pending')
    expect((await ask('discard', { dry_run: false })).body).toMatchObject({ matched: 5, done: 5 })
    expect((await ask('discard', { dry_run: false })).body).toMatchObject({ matched: 0, done: 0 })
    const [line] = await serving.holdfast.audit({ action: 'replay_jobs' })
    expect(line).toMatchObject({ actor: 'on-call', target: '2 jobs', why: 'a few first' })
  })

  test('find those of one batch, as the list does', async () => {
    const { holdfast } = serving
    const { id: batch } = await holdfast.batch({ jobs: [1, 2].map((n) => ({ type: 'bill', payload: { n } })) })
    const beside = await holdfast.enqueue('bill', {})
    await holdfast.buryMany({ type: 'bill' }, { by: 'ada' })
    const list = async () => (await call('GET', `/admin/dlq?batch=${batch}`, undefined, operator)).body.letters
    expect((await list()).map(({ id }: { id: string }) => id)).not.toContain(beside.id)
    expect(await list()).toHaveLength(2)
    const discarded = await call('POST', '/admin/dlq/discard', { filter: { batch }, dry_run: false }, operator)
    expect(discarded.body).toMatchObject({ matched: 2, done: 2 })
    expect(await list()).toEqual([])
    expect((await call('GET', `/jobs/${beside.id}`)).body.status).toBe('dead')
    expect((await call('GET', '/admin/dlq?batch=nightly')).body).toMatchObject({ status: 400, field: 'batch' })
  })

  test('refuse a filter that is empty, misspelt or missing', async () => {
    for (const [body, field] of [
      [{ filter: {}, dry_run: false }, 'filter'],
      [{ filter: { typ: 'mail' } }, 'filter.typ'],
      [{ filter: { reason: 'bad luck' } }, 'filter.reason'],
      [{ dry_run: false }, 'filter'],
      [{ filter: { all: true }, at_most: 0 }, 'at_most'],
    ] as const) {
      expect((await call('POST', '/admin/dlq/discard', body)).body).toMatchObject({ status: 400, field })
    }
  })
})

describe('a job of a sensitive type', () => {
  const missing = { status: 409, code: 'confirmation_required', field: 'confirm' }

  test('is replayed only by who names the type, over HTTP and in the library; the audit log has that', async () => {
    const [id = '', second = ''] = await died('pay', 'no such account', 2)
    const replay = (body: object) => call('POST', `/admin/dlq/${id}/replay`, body, operator)
    for (const body of [{}, { confirm: 'refund' }, { confirm: [] }, { payload: {}, why: 'yes' }]) {
      const { body: problem } = await replay(body)
      expect(problem).toMatchObject({
        ...missing,
        detail: 'jobs of "pay" are sensitive; to replay or resume them send confirm: "pay"',
      })
    }
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({ status: 'dead', changes: [] })
    expect(await serving.holdfast.audit({ target: id })).toEqual([])
    expect((await replay({ confirm: 'pay', why: 'called the bank' })).body).toMatchObject({ done: true, status: 'pending' })
    const { deadLetters } = serving.holdfast
    await expect(deadLetters.replay(second, { by: 'ada' })).rejects.toMatchObject({ code: 'confirmation_required' })
    expect(await deadLetters.replay(second, { by: 'ada' }, { confirm: ['pay'] })).toMatchObject({ done: true })
    expect(await serving.holdfast.audit({ target: id })).toMatchObject([
      { action: 'replay_job', actor: 'on-call', why: 'called the bank', after: { confirmed: ['pay'] } },
    ])
    // What is not sensitive is not said to have been confirmed.
    const [plain = ''] = await died('mail', 'gone')
    expect((await call('POST', `/admin/dlq/${plain}/replay`, { confirm: 'mail' }, operator)).status).toBe(200)
    expect((await serving.holdfast.audit({ target: plain }))[0]?.after).not.toHaveProperty('confirmed')
    for (const one of [id, second, plain]) await serving.holdfast.cancel(one, { by: 'ada' })
  })

  test('is not replayed by a filter either, nor is anything beside it, until every such type is named', async () => {
    const [pay = ''] = await died('pay', 'strange trouble')
    const [refund = ''] = await died('refund', 'strange trouble')
    const [mail = ''] = await died('mail', 'strange trouble')
    const replay = (more: object) =>
      call('POST', '/admin/dlq/replay', { filter: { error: 'strange trouble' }, dry_run: false, ...more }, operator)
    expect((await replay({ dry_run: true })).body).toMatchObject({ matched: 3, done: 0 })
    for (const confirm of [undefined, 'pay', 'refund', ['pay', 'mail']]) {
      const { body } = await replay(confirm === undefined ? {} : { confirm })
      expect(body).toMatchObject({ ...missing, detail: expect.stringContaining('confirm: ["pay", "refund"]') })
    }
    for (const id of [pay, refund, mail]) expect((await call('GET', `/jobs/${id}`)).body.status).toBe('dead')
    // Those that are not among what fits need not be named.
    expect((await call('POST', '/admin/dlq/replay', { filter: { type: 'mail' }, dry_run: false })).body.done).toBeGreaterThan(0)
    expect((await replay({ confirm: ['refund', 'pay'] })).body).toMatchObject({ matched: 2, done: 2 })
    expect((await serving.holdfast.audit({ action: 'replay_jobs' }))[0]?.after).toMatchObject({ confirmed: ['pay', 'refund'] })
    for (const id of [pay, refund, mail]) await serving.holdfast.cancel(id, { by: 'ada' })
    // Only what runs again is asked about.
    const [gone = ''] = await died('pay', 'gone')
    expect((await call('POST', `/admin/dlq/${gone}/discard`, {}, operator)).status).toBe(200)
  })

  test('is named as one where types are listed, and a worker in another language can say it too', async () => {
    const named = { name: 'other', types: [{ type: 'wire', sensitive: true }, 'mail'] }
    expect((await call('POST', '/worker/register', named)).status).toBe(201)
    const { types } = (await call('GET', '/admin/job-types')).body
    const sensitive = types.filter((one: { sensitive: boolean }) => one.sensitive).map((one: { type: string }) => one.type)
    expect(sensitive).toEqual(['pay', 'refund', 'wire'])
    expect(() => defineType({ type: 'x', sensitive: 'yes' as never })).toThrow('must be true or false')
  })
})
