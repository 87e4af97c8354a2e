import { X509Certificate } from 'node:crypto'
import { type RequestOptions, request } from 'node:https'
import { connect } from 'node:tls'
import { insideOf } from 'holdfast/inside'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Authority, type Pair } from '../support/certificates.js'
import { eventually } from '../support/facts.js'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const fingerprintOf = ({ cert }: Pair) => new X509Certificate(cert).fingerprint256

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers is what the test looks at
  body: any
  cookie: string | undefined
  hsts: string | undefined
}

describeWhenInstalled('openssl', 'a server with TLS', (openssl) => {
  let authority: Authority
  let strangers: Authority
  let own: Pair
  let billing: Pair
  let named: Pair
  let serving: Serving

  beforeAll(async () => {
    authority = new Authority(openssl, 'our authority')
    strangers = new Authority(openssl, 'somebody else')
    own = authority.sign('/CN=holdfast.internal')
    billing = authority.sign('/CN=billing.internal')
    named = authority.sign('/CN=shop.internal')
    serving = await serve({ tls: { ...own, ca: authority.cert, clients: { 'shop.internal': 'shop' } } })
  })
  afterAll(async () => {
    await serving?.end()
    authority?.end()
    strangers?.end()
  })

  const ask = (path: string, pair?: Pair, { headers = {}, body, ...options }: RequestOptions & { body?: object } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = body && JSON.stringify(body)
      // A connection of its own each time: what is known about a client belongs to its connection.
      const asked = request(
        serving.address + path,
        {
          ca: authority.cert,
          agent: false,
          ...pair,
          ...options,
          headers: { ...headers, ...(sent && { 'content-type': 'application/json' }) },
        },
        (response) => {
          let text = ''
          response.on('data', (data) => {
            text += data
          })
          response.on('end', () => {
            const cookie = response.headers['set-cookie']?.[0]
            const hsts = response.headers['strict-transport-security']
            const status = response.statusCode as number
            resolve({ status, body: text === '' ? undefined : JSON.parse(text), cookie, hsts })
          })
        },
      )
      asked.on('error', reject)
      asked.end(sent)
    })

  test('speaks HTTPS, takes keys there, and its sessions are Secure', async () => {
    expect(serving.address).toMatch(/^https:/)
    const authorization = `Bearer ${adminKey}`
    expect((await ask('/status', undefined, { headers: { authorization } })).status).toBe(200)
    expect((await ask('/status')).status).toBe(401)
    const { status, cookie } = await ask('/session', undefined, { method: 'POST', body: { key: adminKey } })
    expect(status).toBe(201)
    expect(cookie).toMatch(/^__Host-holdfast-\d+=.*; HttpOnly; SameSite=Strict; Secure$/)
    const sent = (cookie as string).split(';')[0] as string
    expect((await ask('/status', undefined, { headers: { cookie: sent } })).status).toBe(200)
  })

  test('every answer tells browsers to come only over TLS, also what is refused, unparsed, or no request at all', async () => {
    const aYear = 'max-age=31536000'
    for (const path of ['/healthz', '/status', '/nowhere', '/jobs/%ff']) expect((await ask(path)).hsts, path).toBe(aYear)
    const { hostname: host, port } = new URL(serving.address)
    const nonsense = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host, port: Number(port), ca: authority.cert })
      socket.on('error', reject)
      socket.on('data', (data) => resolve(String(data)))
      socket.on('secureConnect', () => socket.write('nonsense\r\n\r\n'))
    })
    expect(nonsense).toContain(`strict-transport-security: ${aYear}`)
  })

  test('a certificate stands for the service it was registered for, with its roles, until that is revoked', async () => {
    const unknown = await ask('/session', billing)
    expect(unknown.status).toBe(401)
    expect(unknown.body.detail).toContain('the certificate stands for no service here')
    const made = await serving.app().inject({
      method: 'POST',
      url: '/admin/certificates',
      headers: { authorization: `Bearer ${adminKey}` },
      payload: { subject: 'billing.internal', service: 'billing', roles: ['viewer'], types: ['invoice'], why: 'mTLS' },
    })
    expect(made.statusCode).toBe(201)
    expect(made.json()).toMatchObject({ service: 'billing', subject: 'billing.internal', live: true, last_used_at: null })
    expect(made.json()).not.toHaveProperty('key')
    expect(await ask('/session', billing)).toMatchObject({
      status: 200,
      body: { service: 'billing', permissions: ['jobs:read', 'workers:view'], types: ['invoice'] },
    })
    expect((await ask('/admin/keys', billing)).status).toBe(403)
    expect(await serving.holdfast.access.keys('billing')).toMatchObject([{ lastUsedAt: expect.any(Date) }])
    expect(await serving.holdfast.audit({ action: 'trust_certificate', limit: 1 })).toMatchObject([
      { actor: 'admin', why: 'mTLS', after: { subject: 'billing.internal', roles: ['viewer'] } },
    ])
    await expect(
      serving.holdfast.access.trustCertificate('billing.internal', { service: 'other', roles: ['viewer'] }, who),
    ).rejects.toMatchObject({ code: 'conflict' })
    await expect(serving.holdfast.access.rotateKey(made.json().id, who)).rejects.toMatchObject({ code: 'conflict' })
    await serving.holdfast.access.revokeKey(made.json().id, who)
    await eventually(async () => (await ask('/session', billing)).status === 401)
  })

  test('a certificate of the same name that somebody else signed stands for nobody, and hinders no key', async () => {
    const pair = authority.sign('/CN=ledger.internal')
    await serving.holdfast.access.trustCertificate('ledger.internal', { service: 'ledger', roles: ['viewer'] }, who)
    expect((await ask('/session', pair)).status).toBe(200)
    const forged = strangers.sign('/CN=ledger.internal')
    const refused = await ask('/session', forged)
    expect(refused.status).toBe(401)
    expect(refused.body.detail).toContain('no key was sent')
    const headers = { authorization: `Bearer ${adminKey}` }
    expect((await ask('/session', forged, { headers })).body.service).toBe('admin')
    // Nor is the name of a certificate a key.
    for (const key of ['ledger.internal', fingerprintOf(pair)]) {
      expect((await ask('/session', undefined, { headers: { authorization: `Bearer ${key}` } })).status).toBe(401)
    }
  })

  test('by its fingerprint one certificate is meant, and no other of its name; a name that looks like one is none', async () => {
    const [first, second] = [authority.sign('/CN=twin.internal'), authority.sign('/CN=twin.internal')]
    const bare = fingerprintOf(first).replaceAll(':', '').toLowerCase()
    const made = await serving.holdfast.access.trustCertificate(fingerprintOf(first), { service: 'twin', roles: ['viewer'] }, who)
    expect(made.subject).toBe(`sha256:${bare}`)
    expect((await ask('/session', first)).status).toBe(200)
    expect((await ask('/session', second)).status).toBe(401)
    expect((await ask('/session', authority.sign(`/CN=${bare}`))).status).toBe(401)
    await expect(
      serving.holdfast.access.trustCertificate('sha256:abc', { service: 'x', roles: ['viewer'] }, who),
    ).rejects.toMatchObject({ code: 'invalid_option', field: 'subject' })
  })

  test('the configuration can say which service a certificate is; what it may do stands in the database', async () => {
    expect((await ask('/session', named)).status).toBe(401)
    const { id } = await serving.holdfast.access.trustCertificate(
      'whatever',
      { service: 'shop', roles: ['producer'], expires: '1h' },
      who,
    )
    await eventually(async () => (await ask('/session', named)).status === 200)
    expect((await ask('/session', named)).body).toMatchObject({ service: 'shop' })
    await serving.holdfast.access.revokeKey(id, who)
    await eventually(async () => (await ask('/session', named)).status === 401)
  })

  test('what another site makes a browser with a certificate send changes nothing; programs say nothing and are let in', async () => {
    const pair = authority.sign('/CN=browser.internal')
    await serving.holdfast.access.trustCertificate('browser.internal', { service: 'browser', roles: ['admin'] }, who)
    const drop = (headers: Record<string, string>) => ask('/admin/roles/nothing', pair, { method: 'DELETE', headers })
    expect((await drop({ origin: 'https://evil.example' })).status).toBe(403)
    expect((await drop({ 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await drop({})).status).toBe(404)
  })

  test('a certificate that has run out by its registration is let in no more', async () => {
    const other = await serve({ tls: { ...own, ca: authority.cert } })
    onTestFinished(() => other.end())
    await other.holdfast.access.trustCertificate(
      'billing.internal',
      { service: 'billing', roles: ['viewer'], expires: '1h' },
      who,
    )
    const status = async () => (await ask('/session', billing, { port: new URL(other.address).port })).status
    expect(await status()).toBe(200)
    await insideOf(other.holdfast).store.moveClock({ byMs: 3_600_001 })
    await eventually(async () => (await status()) === 401)
  })

  test.each([
    ['a key of another certificate', () => ({ cert: own.cert, key: billing.key }), /tls cannot be used/],
    ['no key', () => ({ cert: own.cert, key: '' }), /tls.key is missing/],
    ['what is no PEM', () => ({ cert: 'x', key: 'y' }), /tls cannot be used/],
    ['clients and nobody who signs them', () => ({ ...own, clients: { a: 'b' } }), /tls.ca is missing/],
    ['a misspelt field', () => ({ ...own, cas: 'x' }), /did you mean "ca"/],
  ])('is not made with %s', (_what, tls, message) => {
    expect(() => createServer(serving.holdfast, { adminKey, logger: quiet, tls: tls() })).toThrow(message)
  })

  test('may listen on every address', async () => {
    const server = createServer(serving.holdfast, { adminKey, logger: quiet, tls: own })
    onTestFinished(() => server.close())
    expect(await server.listen({ host: '0.0.0.0', port: 0 })).toMatch(/^https:/)
  })
})

describe('a server without TLS', () => {
  let serving: Serving
  beforeAll(async () => {
    serving = await serve()
  })
  afterAll(() => serving.end())

  test.each(['0.0.0.0', '::', '', '10.1.2.3', 'example.com', '127.0.0.1.example.com'])(
    'does not listen on "%s", and says what to do',
    async (host) => {
      const server = createServer(serving.holdfast, { adminKey, logger: quiet })
      onTestFinished(() => server.close())
      await expect(server.listen({ host, port: 0 })).rejects.toMatchObject({
        code: 'invalid_configuration',
        message: expect.stringMatching(/HOLDFAST_TLS_CERT.*proxy.*allowInsecure: true/),
      })
    },
  )

  test.each([{ host: '127.0.0.1' }, { host: 'localhost' }, { host: '127.0.0.2' }, {}])('listens on %o', async (where) => {
    const server = createServer(serving.holdfast, { adminKey, logger: quiet })
    onTestFinished(() => server.close())
    expect(await server.listen({ ...where, port: 0 })).toMatch(/^http:/)
  })

  test('tells no browser to come over TLS', async () => {
    expect((await fetch(`${serving.address}/healthz`)).headers.get('strict-transport-security')).toBeNull()
  })

  test('listens on every address where that is said to be meant', async () => {
    const server = createServer(serving.holdfast, { adminKey, logger: quiet, allowInsecure: true })
    onTestFinished(() => server.close())
    expect(await server.listen({ host: '0.0.0.0', port: 0 })).toMatch(/^http:/)
  })
})
