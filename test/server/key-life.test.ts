import { insideOf } from 'holdfast/inside'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { adminKey, onceItsDatabaseAnswers, quiet, type Serving, serve } from '../support/serving.js'

let serving: Serving
let call: Contract
beforeAll(async () => {
  serving = await serve()
  call = await contractOf(serving)
})
afterAll(() => serving.end())

const viewer = async (service: string, more: object = {}) =>
  (await call('POST', '/admin/keys', { service, roles: ['viewer', 'producer'], ...more })).body as { id: number; key: string }
/** Of a type nobody registered, so that nothing is stored; each job is paid for all the same. */
const bulk = (count: number) => ({ jobs: Array.from({ length: count }, () => ({ type: 'nobody_knows', payload: {} })) })

describe('the requests a second of a service', () => {
  test('are a thousand where nobody said otherwise: a thousand at once are let in, ten times as many are not', async () => {
    const { key } = await viewer('usual')
    const ask = () => call('POST', '/jobs/bulk', bulk(100), key)
    const answers = await Promise.all(Array.from({ length: 100 }, () => onceItsDatabaseAnswers(ask)))
    const passed = answers.filter(({ status }) => status === 422)
    const refused = answers.filter(({ status }) => status === 429)
    expect(passed.length).toBeGreaterThanOrEqual(10)
    expect(refused.length).toBeGreaterThan(0)
    expect(passed.length + refused.length).toBe(100)
    expect(refused[0]?.body).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('1000 requests a second') })
  })

  test('are shared by its two keys: a second key is no second share; another service has its own', async () => {
    const first = await viewer('twofold', { rate_limit: 5 })
    const second = (await call('POST', `/admin/keys/${first.id}/rotate`, {})).body as { key: string }
    const other = await viewer('onefold', { rate_limit: 5 })
    for (const { key } of [first, second, other]) expect((await call('GET', '/session', undefined, key)).status).toBe(200)
    expect((await call('POST', '/jobs/bulk', bulk(100), first.key)).status).toBe(422)
    expect((await call('GET', '/session', undefined, second.key)).status).toBe(429)
    expect((await call('GET', '/session', undefined, other.key)).status).toBe(200)
  })

  test('are shared by all server processes: what one let in is paid back at the other', async () => {
    const { key } = await viewer('both', { rate_limit: 5 })
    const second = createServer(serving.holdfast, { adminKey, logger: quiet })
    onTestFinished(() => second.close())
    const there = () => second.inject({ url: '/session', headers: { authorization: `Bearer ${key}` } })
    expect((await there()).statusCode).toBe(200)
    expect((await call('POST', '/jobs/bulk', bulk(100), key)).status).toBe(422)
    // Alone it would have at most a fraction of a second to pay back.
    const wait = await eventually(async () => Number((await there()).headers['retry-after'] ?? 0) > 5)
    expect(wait).toBe(true)
  })

  test('go on being counted when the key is looked up again', async () => {
    const { key } = await viewer('patient', { rate_limit: 5 })
    expect((await call('POST', '/jobs/bulk', bulk(100), key)).status).toBe(422)
    // Forgets what it knows of every key.
    await viewer('reason-to-forget')
    expect((await call('GET', '/session', undefined, key)).status).toBe(429)
  })
})

describe('a rotation', () => {
  test('lets both keys in until the grace is over, and a third is refused', async () => {
    const other = await serve()
    onTestFinished(() => other.end())
    const ask = async (method: string, path: string, body?: object, key?: string) => {
      const response = await other.call(method, path, body, key)
      return { status: response.status, body: (await response.json()) as Record<string, string> }
    }
    const first = (await ask('POST', '/admin/keys', { service: 'billing', roles: ['viewer'] })).body
    const second = (await ask('POST', `/admin/keys/${first.id}/rotate`, { grace: '1h' })).body
    const statuses = async () =>
      Promise.all([first, second].map(async ({ key }) => (await ask('GET', '/session', undefined, key)).status))
    expect(await statuses()).toEqual([200, 200])
    expect((await ask('POST', `/admin/keys/${second.id}/rotate`, {})).body).toMatchObject({ status: 409, code: 'conflict' })
    await insideOf(other.holdfast).store.moveClock({ byMs: 3_600_001 })
    await eventually(async () => (await statuses()).join() === '401,200')
    expect((await ask('POST', `/admin/keys/${second.id}/rotate`, {})).status).toBe(201)
  })
})

describe('when a key was used last', () => {
  test('is shown to the minute, of each key by itself, and goes on with time', async () => {
    const other = await serve()
    onTestFinished(() => other.end())
    const { access } = other.holdfast
    const { store } = insideOf(other.holdfast)
    const key = await access.createKey({ service: 'mailer', roles: ['viewer'] }, { by: 'ada' })
    await access.createKey({ service: 'mailer', roles: ['viewer'] }, { by: 'ada' })
    const used = async (): Promise<(string | null)[]> => {
      const response = await other.call('GET', '/admin/keys?service=mailer')
      return ((await response.json()) as { keys: { last_used_at: string | null }[] }).keys.map((one) => one.last_used_at)
    }
    expect(await used()).toEqual([null, null])
    expect((await other.call('GET', '/session', undefined, key.key)).status).toBe(200)
    const [first, never] = await used()
    expect(first).toMatch(/:00\.000Z$/)
    expect(never).toBeNull()
    await store.moveClock({ byMs: 10 * 60_000 })
    await eventually(async () => {
      await other.call('GET', '/session', undefined, key.key)
      return Date.parse((await used())[0] as string) - Date.parse(first as string) >= 10 * 60_000
    })
  })
})
