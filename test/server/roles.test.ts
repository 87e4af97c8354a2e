import { createServer, rules } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectedRules } from '../support/expected-rules.js'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
/** What each role that comes with the installation allows, written down once more: a change of either has to be meant. */
const allowed: Record<string, string[]> = {
  producer: ['jobs:enqueue', 'jobs:read', 'jobs:cancel'],
  worker: ['jobs:work'],
  viewer: ['jobs:read', 'workers:view'],
  operator: ['jobs:read', 'jobs:cancel', 'workers:view', 'workers:manage', 'types:manage', 'dlq:manage'],
  admin: [...new Set(Object.values(expectedRules))],
  'night-watch': ['workers:view'],
}

let serving: Serving
const keys: Record<string, string> = {}

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.access.setRole('night-watch', ['workers:view'], who)
  for (const role of Object.keys(allowed)) {
    const made = await serving.holdfast.access.createKey({ service: `the-${role}`, roles: [role] }, who)
    keys[role] = made.key
  }
})
afterAll(() => serving.end())

/** An address of the route where there is nothing, so that whoever is let in is told that and changes nothing. */
const somewhere = (path: string) =>
  path.replace(':id', path.includes('/keys/') ? '999' : '01900000-0000-7000-8000-00000000dead').replace(/:\w+/, 'nothing')

describe('every route × method × role', () => {
  const roles = [...Object.keys(allowed), 'the admin key', 'no key', 'a wrong key']

  test.each(Object.entries(expectedRules))('%s', async (route, rule) => {
    const [method, path] = route.split(' ') as ['GET', string]
    const answer = async (role: string) => {
      const key = role === 'no key' ? undefined : role === 'the admin key' ? adminKey : (keys[role] ?? 'hf_of-nobody-at-all')
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      // Without the network, which costs more than all that is asked.
      const { statusCode } = await serving.app().inject({ method, url: somewhere(path), headers })
      expect(statusCode, role).toBeLessThan(500)
      return [401, 403].includes(statusCode) ? statusCode : 'let in'
    }
    const expected = (role: string) => {
      const isIn =
        rule === 'open' || role === 'the admin key' || (role in allowed && (rule === 'any key' || allowed[role]?.includes(rule)))
      return isIn ? 'let in' : role in allowed ? 403 : 401
    }
    const answers: Record<string, unknown> = {}
    for (const role of roles) answers[role] = await answer(role)
    expect(answers).toEqual(Object.fromEntries(roles.map((role) => [role, expected(role)])))
  })

  test('is the table and nothing else: what is described is ruled, and what is ruled is there', async () => {
    const { paths } = (await (await serving.call('GET', '/openapi.json')).json()) as { paths: Record<string, object> }
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    const undescribed = ['GET /', 'GET /icon.svg', 'GET /assets/:file']
    expect([...described, ...undescribed].sort()).toEqual(Object.keys(rules).sort())
  })

  test('has an expectation for each, which is what the server goes by', () => {
    expect(rules).toEqual(expectedRules)
    const there = (route: string) => {
      const [method, url] = route.split(' ') as ['GET', string]
      return serving.app().hasRoute({ method, url })
    }
    expect(Object.keys(expectedRules).filter((route) => !there(route))).toEqual([])
  })

  test('a route without a rule does not start', () => {
    const server = createServer(serving.holdfast, { adminKey, logger: quiet })
    expect(() => server.get('/new', async () => 'data')).toThrow('no rule says who may call GET /new')
  })
})

describe('a refusal', () => {
  test('names the permission that is missing, and comes before the body is read', async () => {
    const response = await fetch(`${serving.address}/admin/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.viewer}`, 'content-type': 'application/json' },
      body: 'no json',
    })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'forbidden', detail: expect.stringContaining('this needs admin') })
  })

  test('of a job type the key is not for is 403, also among several, and nothing is stored', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'narrow', roles: ['producer'], types: ['greet'] }, who)
    for (const [path, body] of [
      ['/jobs', { type: 'pay', payload: {} }],
      [
        '/jobs/bulk',
        {
          jobs: [
            { type: 'greet', payload: {} },
            { type: 'pay', payload: {} },
          ],
        },
      ],
    ] as const) {
      const response = await serving.call('POST', path, body, key)
      expect(response.status).toBe(403)
      expect(await response.json()).toMatchObject({
        code: 'forbidden',
        field: path === '/jobs' ? 'type' : 'jobs[1].type',
        detail: expect.stringMatching(/not for jobs of type "pay"/),
      })
    }
    const { rows } = await serving.sql.query('select count(*)::integer as count from holdfast.bodies')
    expect(rows).toEqual([{ count: 0 }])
  })
})

describe('a key', () => {
  test('that is revoked here is refused at once, and elsewhere within seconds', async () => {
    const made = await serving.holdfast.access.createKey({ service: 'gone', roles: ['viewer'] }, who)
    const other = createServer(serving.holdfast, { adminKey, logger: quiet })
    const elsewhere = () => other.inject({ url: '/jobs', headers: { authorization: `Bearer ${made.key}` } })
    expect((await elsewhere()).statusCode).toBe(200)
    expect((await serving.call('GET', '/jobs', undefined, made.key)).status).toBe(200)
    expect((await serving.call('DELETE', `/admin/keys/${made.id}`)).status).toBe(200)
    expect((await serving.call('GET', '/jobs', undefined, made.key)).status).toBe(401)
    await eventually(async () => (await elsewhere()).statusCode === 401)
    await other.close()
  })

  test('has so many requests a second, and is told when to come back; others are not held up', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'hasty', roles: ['viewer'], rateLimit: 2 }, who)
    const answers = await Promise.all(Array.from({ length: 12 }, () => serving.call('GET', '/jobs', undefined, key)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await refused[0]?.json()).toMatchObject({ code: 'rate_limited', status: 429 })
    expect((await serving.call('GET', '/jobs', undefined, keys.viewer)).status).toBe(200)
    await eventually(async () => (await serving.call('GET', '/jobs', undefined, key)).status === 200)
  })

  test('pays for each 64 KB of a body, before anybody has read it', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'heavy', roles: ['producer'], rateLimit: 5 }, who)
    const post = (body: string) =>
      fetch(`${serving.address}/jobs/bulk`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      })
    const deep = await post('['.repeat(4_000_000))
    expect(await deep.json()).toMatchObject({
      status: 400,
      code: 'invalid_request',
      detail: expect.stringContaining('64 levels'),
    })
    const next = await serving.call('GET', '/jobs', undefined, key)
    expect(next.status).toBe(429)
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(5)
  })

  test('pays for each job of a bulk', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'bulk', roles: ['producer'], rateLimit: 5 }, who)
    const jobs = Array.from({ length: 60 }, () => ({ type: 'nobody_knows', payload: {} }))
    expect((await serving.call('POST', '/jobs/bulk', { jobs }, key)).status).toBe(422)
    const next = await serving.call('GET', '/jobs', undefined, key)
    expect(next.status).toBe(429)
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(5)
  })
})
