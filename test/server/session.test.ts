import { insideOf } from 'holdfast/inside'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

const logIn = (key: string, headers: Record<string, string> = {}) =>
  fetch(`${serving.address}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ key }),
  })

/** What a browser sends back: the cookie's name and value. */
async function cookieFor(key: string): Promise<string> {
  const response = await logIn(key)
  expect(response.status).toBe(201)
  return (response.headers.get('set-cookie') as string).split(';')[0] as string
}

const call = (method: string, path: string, headers: Record<string, string>) =>
  fetch(serving.address + path, { method, headers: { origin: serving.address, ...headers } })

test('the session tells the dashboard where traces are looked at, and a server with a wrong address does not start', async () => {
  const traceUrl = 'https://traces.example.com/trace/{trace}?from=holdfast'
  const tracing = await serve({ traceUrl })
  onTestFinished(() => tracing.end())
  expect(await (await tracing.call('GET', '/session')).json()).toMatchObject({ trace_url: traceUrl })
  const refusal = (given: string) => {
    try {
      createServer(tracing.holdfast, { adminKey, traceUrl: given })
    } catch (error) {
      return (error as Error).message
    }
    return 'none'
  }
  expect(refusal('https://traces.example.com')).toMatch(/traceUrl.* is "https:\/\/traces\.example\.com"; it must have \{trace\}/)
  expect(refusal('javascript:alert({trace})')).toContain('it must be an https or http address')
  expect(refusal('traces/{trace}')).toContain('it must be an https or http address')
  expect(refusal('https://{trace}.example.com/')).toContain('{trace} must not stand in its host')
})

describe('a session', () => {
  test('is had for a key, in a cookie that no script and no other site gets at, and stands for that key', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'grace', roles: ['viewer'], types: ['greet'] }, who)
    const response = await logIn(key)
    expect(response.status).toBe(201)
    const { port } = new URL(serving.address)
    expect(response.headers.get('set-cookie')).toMatch(
      new RegExp(`^holdfast-${port}=[\\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`),
    )
    const shown = { service: 'grace', permissions: ['jobs:read', 'workers:view'], types: ['greet'] }
    const answer = await response.json()
    expect(answer).toEqual({ ...shown, ends_at: expect.any(String), trace_url: null })
    expect(JSON.stringify(answer)).not.toContain(key)
    const cookie = (response.headers.get('set-cookie') as string).split(';')[0] as string
    expect(await (await call('GET', '/session', { cookie })).json()).toEqual(answer)
    expect((await call('GET', '/status', { cookie })).status).toBe(200)
    const refused = await call('POST', '/admin/keys', { cookie })
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('this needs admin') })
    expect(await serving.holdfast.audit({ actor: 'grace' })).toMatchObject([{ action: 'open_session', origin: '127.0.0.1' }])
  })

  test('is kept as a hash and nothing else', async () => {
    const cookie = await cookieFor(adminKey)
    const token = cookie.split('=')[1] as string
    const { rows } = await serving.sql.query(
      "select (select string_agg(to_jsonb(s)::text, ' ') from holdfast.sessions as s) || (select string_agg(to_jsonb(a)::text, ' ') from holdfast.audit_log as a) as kept",
    )
    expect(rows[0].kept).toContain('open_session')
    for (const secret of [token, Buffer.from(token).toString('hex'), adminKey]) expect(rows[0].kept).not.toContain(secret)
  })

  test('is Secure behind TLS, and two servers on one host have one each', async () => {
    const response = await logIn(adminKey, { 'x-forwarded-proto': 'https' })
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-holdfast-\d+=[\w-]{43}; .*; SameSite=Strict; Secure$/)
    const cookie = await cookieFor(adminKey)
    expect((await call('GET', '/status', { cookie: cookie.replace(/-\d+=/, '-1=') })).status).toBe(401)
  })

  test.each(['hf_of-nobody-at-all-anywhere', 'x', 'é'])('is not had for a wrong key: %s', async (key) => {
    const response = await logIn(key)
    expect(response.status).toBe(401)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await response.json()).toMatchObject({ code: 'unauthorized', field: 'key' })
  })

  test('ends when its owner says so, here at once; the cookie is taken back', async () => {
    const cookie = await cookieFor(adminKey)
    const ended = await call('DELETE', '/session', { cookie })
    expect(ended.status).toBe(204)
    expect(ended.headers.get('set-cookie')).toMatch(/^holdfast-\d+=; Path=\/; Max-Age=0;/)
    const after = await call('GET', '/status', { cookie })
    expect(after.status).toBe(401)
    expect(after.headers.get('set-cookie')).toContain('Max-Age=0')
    expect(await after.json()).toMatchObject({ detail: expect.stringContaining('the session has ended') })
    expect(await serving.holdfast.audit({ action: 'end_session', limit: 1 })).toMatchObject([{ actor: 'admin' }])
  })

  test('ends with its key: revoked, here at once and elsewhere within seconds', async () => {
    const { key, id } = await serving.holdfast.access.createKey({ service: 'fired', roles: ['viewer'] }, who)
    const cookie = await cookieFor(key)
    const other = createServer(serving.holdfast, { adminKey, logger: quiet })
    onTestFinished(() => other.close())
    const { host } = new URL(serving.address)
    const elsewhere = async () => (await other.inject({ url: '/jobs', headers: { cookie, host } })).statusCode
    expect(await elsewhere()).toBe(200)
    expect((await call('GET', '/jobs', { cookie })).status).toBe(200)
    expect((await serving.call('DELETE', `/admin/keys/${id}`)).status).toBe(200)
    expect((await call('GET', '/jobs', { cookie })).status).toBe(401)
    await eventually(async () => (await elsewhere()) === 401)
  })

  test('of the admin key ends when that is another', async () => {
    const cookie = await cookieFor(adminKey)
    const { host } = new URL(serving.address)
    for (const [key, status] of [
      [adminKey, 200],
      [`${adminKey}-changed`, 401],
    ] as const) {
      const other = createServer(serving.holdfast, { adminKey: key, logger: quiet })
      expect((await other.inject({ url: '/status', headers: { cookie, host } })).statusCode).toBe(status)
      await other.close()
    }
  })

  test('ends after half a day, and with a key that expires before', async () => {
    const other = await serve()
    onTestFinished(() => other.end())
    const { key } = await other.holdfast.access.createKey({ service: 'brief', roles: ['viewer'], expires: '1h' }, who)
    const { host } = new URL(other.address)
    const cookies = await Promise.all(
      [key, adminKey].map(async (one) => {
        const made = await other.call('POST', '/session', { key: one }, null)
        return (made.headers.get('set-cookie') as string).split(';')[0] as string
      }),
    )
    const statuses = async () => {
      // One that has nothing in mind yet.
      const fresh = createServer(other.holdfast, { adminKey, logger: quiet })
      const asked = cookies.map(async (cookie) => (await fresh.inject({ url: '/status', headers: { cookie, host } })).statusCode)
      const answered = await Promise.all(asked)
      await fresh.close()
      return answered
    }
    expect(await statuses()).toEqual([200, 200])
    await insideOf(other.holdfast).store.moveClock({ byMs: 3_600_001 })
    expect(await statuses()).toEqual([401, 200])
    await insideOf(other.holdfast).store.moveClock({ byMs: 12 * 3_600_000 })
    expect(await statuses()).toEqual([401, 401])
    // What has ended is cleared away by the next that begins.
    expect((await other.call('POST', '/session', { key: adminKey }, null)).status).toBe(201)
    const { rows } = await other.sql.query('select count(*)::integer as kept from holdfast.sessions')
    expect(rows).toEqual([{ kept: 1 }])
  })

  test('shares the requests a second of its service', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'eager', roles: ['viewer'], rateLimit: 2 }, who)
    const cookie = await cookieFor(key)
    const answers = await Promise.all(Array.from({ length: 12 }, () => call('GET', '/jobs', { cookie })))
    expect(answers.map(({ status }) => status)).toContain(429)
    expect((await serving.call('GET', '/jobs', undefined, key)).status).toBe(429)
  })
})

describe('what another site makes a browser send', () => {
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    // The same site to a cookie: only the port differs.
    { origin: 'http://127.0.0.1:1' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ] as Record<string, string>[]

  test.each(foreign)('changes nothing, by session or by logging in: %o', async (headers) => {
    const cookie = await cookieFor(adminKey)
    const ask = (method: string, path: string) => fetch(serving.address + path, { method, headers: { cookie, ...headers } })
    for (const [method, path] of [
      ['POST', '/admin/job-types/greet/pause'],
      ['PATCH', '/admin/workers/lanes/default'],
      ['PUT', '/admin/roles/x'],
      ['DELETE', '/session'],
    ] as const) {
      const response = await ask(method, path)
      expect(response.status, `${method} ${path}`).toBe(403)
      expect(await response.json()).toMatchObject({ code: 'forbidden', detail: 'the request comes from another site' })
    }
    expect((await logIn(adminKey, headers)).status).toBe(403)
    expect((await call('GET', '/status', { cookie })).status).toBe(200)
  })

  test('is told apart by the origin; by session a request has to have one, with a key it need not', async () => {
    const cookie = await cookieFor(adminKey)
    const ask = (headers: Record<string, string>) =>
      fetch(`${serving.address}/admin/roles/nothing`, { method: 'DELETE', headers }).then(({ status }) => status)
    expect(await ask({ cookie })).toBe(403)
    expect(await ask({ cookie, origin: serving.address })).toBe(404)
    expect(await ask({ cookie, 'sec-fetch-site': 'same-origin' })).toBe(404)
    const authorization = `Bearer ${adminKey}`
    expect(await ask({ authorization })).toBe(404)
    expect(await ask({ authorization, origin: 'https://evil.example' })).toBe(404)
    // A key is meant: a wrong one is not made good by a session.
    expect(await ask({ authorization: 'Bearer hf_of-nobody', cookie, origin: serving.address })).toBe(401)
  })
})
