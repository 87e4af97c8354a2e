import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startIdentityProvider, Visitor } from '../support/identity-provider.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const accounts = {
  ada: { email: 'ada@example.com', email_verified: true, groups: ['on-call', 'everybody'] },
  grace: { email: 'grace@example.com', email_verified: true, groups: ['everybody'] },
  linus: { email: 'linus@example.com', email_verified: true, groups: [] },
  eve: { email: 'ada@example.com', email_verified: 'false', groups: ['on-call'] },
  mallory: { email: 'ada@example.com', email_verified: false, groups: ['on-call'] },
  dennis: { groups: ['on-call'] },
}
const roles = { 'on-call': ['operator', 'auditor-to-be'], everybody: ['viewer'] }

/** Stops the clock by which a server counts what an address asks for, because a busy machine does not get so much done in a second. */
async function inOneMoment<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  try {
    return await ask()
  } finally {
    clock.mockRestore()
  }
}

describe('people sign in through a provider', () => {
  let provider: Awaited<ReturnType<typeof startIdentityProvider>>
  let serving: Serving
  let url: string

  beforeAll(async () => {
    provider = await startIdentityProvider(accounts)
    serving = await serve()
    url = serving.address
    provider.serve(url)
    await startAgain()
  })
  afterAll(async () => {
    await serving?.end()
    await provider?.end()
  })

  /** As nobody has asked for anything yet. */
  const startAgain = async () => {
    const { issuer, client } = provider
    await serving.comeBack({ oidc: { issuer, clientId: client.id, clientSecret: client.secret, url, roles } })
  }
  const signIn = async (login: string) => {
    const visitor = new Visitor()
    return { visitor, at: (await visitor.signIn(url, login)).href }
  }
  const cookieOf = (visitor: Visitor) =>
    [...(visitor.cookies.get(new URL(url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  const as = (visitor: Visitor, path: string, init: RequestInit = {}) =>
    fetch(url + path, {
      ...init,
      headers: {
        cookie: cookieOf(visitor),
        'sec-fetch-site': 'same-origin',
        ...(init.body ? { 'content-type': 'application/json' } : {}),
      },
    })

  test('groups give roles, and the person stands in the audit log with what they did', async () => {
    const { visitor, at } = await signIn('ada')
    expect(at).toBe(`${url}/`)
    expect(await (await as(visitor, '/session')).json()).toMatchObject({
      service: 'person:ada@example.com',
      permissions: ['dlq:manage', 'jobs:cancel', 'jobs:read', 'types:manage', 'workers:manage', 'workers:view'],
      types: null,
    })
    await serving.sql.query("insert into holdfast.types (name, lane_id) values ('mail', 1)")
    const body = JSON.stringify({ why: 'the mail server is down' })
    expect((await as(visitor, '/admin/job-types/mail/pause', { method: 'POST', body })).status).toBe(200)
    const [paused, opened] = await serving.holdfast.audit()
    expect(paused).toMatchObject({ actor: 'person:ada@example.com', action: 'pause_type', why: 'the mail server is down' })
    expect(opened).toMatchObject({
      actor: 'person:ada@example.com',
      action: 'open_session',
      target: 'person:ada@example.com',
      after: { roles: ['auditor-to-be', 'operator', 'viewer'] },
    })
    expect((await as(visitor, '/admin/audit')).status).toBe(403)
    expect((await as(visitor, '/session', { method: 'DELETE' })).status).toBe(204)
    expect((await as(visitor, '/status')).status).toBe(401)
  })

  test('what a role allows is what it allows now, not what it did when the person signed in', async () => {
    const { visitor } = await signIn('ada')
    await serving.holdfast.access.setRole('auditor-to-be', ['jobs:enqueue'], { by: 'root' })
    // A server remembers for a second who it was.
    const mine = async () => ((await (await as(visitor, '/session')).json()) as { permissions: string[] }).permissions
    await vi.waitFor(async () => expect(await mine()).toContain('jobs:enqueue'), { timeout: 20_000 })
    const answer = await as(visitor, '/jobs', { method: 'POST', body: JSON.stringify({ type: 'mail', payload: {} }) })
    const { id } = (await answer.json()) as { id: string }
    expect(await serving.holdfast.job(id)).toMatchObject({ owner: 'person:ada@example.com' })
  })

  test('an administrator ends the sessions of a person, and of nobody else', async () => {
    const [ada, grace] = [(await signIn('ada')).visitor, (await signIn('grace')).visitor]
    const status = async (visitor: Visitor) => (await as(visitor, '/session')).status
    expect([await status(ada), await status(grace)]).toEqual([200, 200])
    const end = (person: string, key = adminKey) =>
      serving.call('DELETE', `/admin/sessions?person=${encodeURIComponent(person)}&why=left`, undefined, key)
    expect((await (await as(ada, '/admin/sessions?person=person:grace@example.com', { method: 'DELETE' })).json()).code).toBe(
      'forbidden',
    )
    expect((await (await end('ada@example.com')).json()).detail).toMatch(
      /person is "ada@example\.com"; it must be a name as the audit log/,
    )
    expect((await (await end('person:ada@example.com')).json()).ended).toBeGreaterThan(0)
    expect([await status(ada), await status(grace)]).toEqual([401, 200])
    expect((await serving.holdfast.audit({ action: 'end_sessions' }))[0]).toMatchObject({
      ...{ actor: 'admin', target: 'person:ada@example.com', why: 'left', origin: '127.0.0.1' },
    })
  })

  test('a viewer looks and changes nothing', async () => {
    const { visitor, at } = await signIn('grace')
    expect(at).toBe(`${url}/`)
    expect((await as(visitor, '/status')).status).toBe(200)
    expect((await as(visitor, '/admin/job-types/mail/pause', { method: 'POST', body: '{}' })).status).toBe(403)
  })

  test.each([
    ['is in no group that has a role', 'linus', 'no-role'],
    ['has an address that was not verified', 'mallory', 'nameless'],
    ['has an address that was not verified, says a text', 'eve', 'nameless'],
    ['has no address', 'dennis', 'nameless'],
  ])('nobody gets in who %s', async (_who, login, how) => {
    const { visitor, at } = await signIn(login)
    expect(at).toBe(`${url}/#sign-in=${how}`)
    expect((await as(visitor, '/session')).status).toBe(401)
  })

  test('a code counts once, and only for the browser that asked for it', async () => {
    const other = new Visitor()
    await other.get(`${url}/session/oidc`)
    expect((await other.get(`${url}/session/oidc/callback?code=stolen&state=other`)).at.hash).toBe('#sign-in=failed')
    // What it kept of its sign-in is gone with the first answer.
    expect((await other.get(`${url}/session/oidc/callback?code=stolen&state=other`)).at.hash).toBe('#sign-in=expired')
    expect((await new Visitor().get(`${url}/session/oidc/callback?code=a&state=b`)).at.hash).toBe('#sign-in=expired')
    expect(cookieOf(other)).toBe('')
  })

  test('somebody who asks for codes that nobody gave is soon refused', async () => {
    const host = new URL(url).host
    const guess = async () => {
      const visitor = new Visitor()
      const pending = Buffer.from(JSON.stringify({ state: `s${Math.random()}`, nonce: 'n', verifier: 'v' })).toString('base64url')
      visitor.cookies.set(host, new Map([[`holdfast-${new URL(url).port}-sign-in`, pending]]))
      return (await visitor.get(`${url}/session/oidc/callback?code=x&state=y`)).response.status
    }
    const answers = await inOneMoment(() => Promise.all(Array.from({ length: 80 }, guess)))
    expect(answers).toContain(429)
  })

  test('who has signed in once may not ask for codes any more often than others', async () => {
    await startAgain()
    const { host, port } = new URL(url)
    const visitor = new Visitor()
    const begun = await visitor.get(`${url}/session/oidc`)
    const cookie = `holdfast-${port}-sign-in=${visitor.cookies.get(host)?.get(`holdfast-${port}-sign-in`)}`
    expect((await visitor.goOn(begun, url, 'grace')).href).toBe(`${url}/`)
    const again = () => fetch(`${url}/session/oidc/callback?code=x&state=y`, { redirect: 'manual', headers: { cookie } })
    const answers = await inOneMoment(() => Promise.all(Array.from({ length: 80 }, again)))
    expect(answers.map(({ status }) => status)).toContain(429)
  })

  test('the page is told that there is a provider', async () => {
    expect(await (await fetch(`${url}/session/ways`)).json()).toEqual({ key: true, oidc: true })
  })
})

test('where the provider does not answer, people are sent back to the page, which says so', async () => {
  const url = 'http://127.0.0.1:7070/jobs/'
  const serving = await serve({ oidc: { issuer: 'http://127.0.0.1:1', clientId: 'holdfast', url, roles } })
  try {
    const answer = await fetch(`${serving.address}/session/oidc`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${url}#sign-in=failed`])
    expect(answer.headers.getSetCookie()).toEqual([])
  } finally {
    await serving.end()
  }
})

test('a server without a provider says so', async () => {
  const serving = await serve()
  try {
    expect(await (await fetch(`${serving.address}/session/ways`)).json()).toEqual({ key: true, oidc: false })
    const answer = await fetch(`${serving.address}/session/oidc`, { redirect: 'manual' })
    expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([
      404,
      'this server has no provider for sign-in; log in with a key',
    ])
    const bad = { issuer: 'http://login.example.com', clientId: '', url: 'holdfast', roles: {} }
    expect(() => createServer(serving.holdfast, { logger: quiet, oidc: bad })).toThrow(
      /oidc\.issuer is "http:\/\/login\.example\.com"; it must be an https address[\s\S]*oidc\.url[\s\S]*oidc\.clientId is missing[\s\S]*oidc\.roles is empty/,
    )
  } finally {
    await serving.end()
  }
})
