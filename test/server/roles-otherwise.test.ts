import { Agent, request } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Authority, type Pair } from '../support/certificates.js'
import { expectedRules } from '../support/expected-rules.js'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, onceItsDatabaseAnswers, onceThereIsTime, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const allowed: Record<string, string[]> = {
  producer: ['jobs:enqueue', 'jobs:read', 'jobs:cancel'],
  worker: ['jobs:work'],
  viewer: ['jobs:read', 'workers:view'],
  operator: ['jobs:read', 'jobs:cancel', 'workers:view', 'workers:manage', 'types:manage', 'dlq:manage'],
  admin: Object.values(expectedRules),
}
const nobody = 'nobody'

/** An address of the route where there is nothing, so that whoever is let in is told that and changes nothing. */
const somewhere = (path: string) =>
  path.replace(':id', path.includes('/keys/') ? '999' : '01900000-0000-7000-8000-00000000dead').replace(/:\w+/, 'nothing')

describeWhenInstalled('openssl', 'every route × role, for those who come without a key', (openssl) => {
  let authority: Authority
  let serving: Serving
  const agents = new Map<string, Agent>()
  const sessions = new Map<string, string>()

  beforeAll(async () => {
    authority = new Authority(openssl, 'our authority')
    const own = authority.sign('/CN=holdfast.internal')
    serving = await serve({ tls: { ...own, ca: authority.cert } })
    agents.set('', agentFor())
    for (const role of [...Object.keys(allowed), nobody]) {
      agents.set(role, agentFor(authority.sign(`/CN=${role}.internal`)))
      if (role === nobody) continue
      await serving.holdfast.access.trustCertificate(`${role}.internal`, { service: `the-${role}`, roles: [role] }, who)
      const { key } = await serving.holdfast.access.createKey({ service: `the-${role}`, roles: [role] }, who)
      sessions.set(role, (await ask('POST', '/session', {}, { key })).cookie)
    }
    sessions.set(nobody, `${(sessions.get('viewer') as string).split('=')[0]}=${'A'.repeat(43)}`)
  })
  afterAll(async () => {
    for (const agent of agents.values()) agent.destroy()
    await serving?.end()
    authority?.end()
  })

  const agentFor = (pair?: Pair) => new Agent({ keepAlive: true, ca: authority.cert, ...pair })

  const ask = (method: string, path: string, headers: Record<string, string>, body?: object, agent = agents.get('')) =>
    new Promise<{ status: number; headers: Headers; cookie: string }>((resolve, reject) => {
      const sent = body && JSON.stringify(body)
      const more = sent ? { 'content-type': 'application/json' } : {}
      const asked = request(serving.address + path, { method, agent, headers: { ...headers, ...more } }, (response) => {
        response.resume()
        const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
        const answer = new Headers({ 'retry-after': response.headers['retry-after'] ?? '0' })
        response.on('end', () => resolve({ status: response.statusCode as number, headers: answer, cookie }))
      })
      asked.on('error', reject)
      asked.end(sent)
    })

  /** A session is over once it is ended, so that comes last. */
  const routes = Object.keys(expectedRules).sort((a, b) => Number(a === 'DELETE /session') - Number(b === 'DELETE /session'))
  const expectation = (route: string, role: string) => {
    const rule = expectedRules[route] as string
    if (rule === 'open') return 'let in'
    if (role === nobody) return 401
    return rule === 'any key' || allowed[role]?.includes(rule) ? 'let in' : 403
  }
  /** Whether a role may ask is not to be seen from an answer that says to come back later. */
  const answered = (asks: () => ReturnType<typeof ask>) => onceItsDatabaseAnswers(() => onceThereIsTime(asks))
  const told = (status: number) => ([401, 403].includes(status) ? status : 'let in')

  test.each([...Object.keys(allowed), nobody])('by session: %s', async (role) => {
    const headers = { cookie: sessions.get(role) as string, origin: serving.address }
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string]
      const { status } = await answered(() => ask(method, somewhere(path), headers))
      expect.soft(told(status), route).toBe(expectation(route, role))
      expect.soft(status, route).toBeLessThan(500)
    }
  })

  test.each([...Object.keys(allowed), nobody])('by certificate: %s', async (role) => {
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string]
      const { status } = await answered(() => ask(method, somewhere(path), {}, undefined, agents.get(role)))
      expect.soft(told(status), route).toBe(expectation(route, role))
      expect.soft(status, route).toBeLessThan(500)
    }
  })

  test('a key goes before the certificate it comes with, at every route', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string]
      expect
        .soft(told((await ask(method, somewhere(path), headers, undefined, agents.get('viewer'))).status), route)
        .toBe('let in')
    }
  })
})
