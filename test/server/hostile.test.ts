import { defineType } from 'holdfast'
import { rules } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, type Serving, serve } from '../support/serving.js'

let serving: Serving
const logged: object[] = []
let job: string
beforeAll(async () => {
  const logger = { info() {}, warn() {}, error: (fields: object) => void logged.push(fields) }
  serving = await serve({ logger })
  await serving.holdfast.types.ensure([defineType({ type: 'greet' })])
  job = (await serving.holdfast.enqueue('greet', {}, { delay: '1h' })).id
})
afterAll(() => serving.end())

const silly = [
  '1e9',
  '-1',
  'NaN',
  '..',
  'x'.repeat(300),
  '',
  '0',
  '1.5',
  '99999999999999999999',
  "' or 1=1 --",
  '%00',
  'null',
  '[]',
]

describe('limits, cursors and ids of every silly kind', () => {
  const places = [
    '/jobs/?',
    '/jobs/?/explain',
    '/jobs/?/wait',
    '/jobs/?/stream',
    '/jobs?limit=?',
    '/jobs?cursor=?',
    '/jobs?status=?',
    '/jobs?created_after=?',
    '/jobs?created_before=?',
    '/admin/audit?limit=?',
    '/admin/audit?cursor=?',
    '/jobs?nonsense=?',
  ]

  test.each(places)('are 4xx in %s', async (place) => {
    for (const value of silly) {
      // A 0 is a cursor of the log like any other, before which there is nothing.
      if (place === '/admin/audit?cursor=?' && value === '0') continue
      const encoded = value === '%00' ? value : encodeURIComponent(value)
      const response = await serving.call(
        'GET',
        place.replace('?', place.startsWith('/jobs/?') ? encoded : '?').replace('=?', `=${encoded}`),
      )
      const text = await response.text()
      // What is nothing at all, or goes up, is another path: the list, which is not hostile.
      if (place === '/jobs/?' && (value === '' || value === '..')) continue
      expect(response.status, `${place} ${value}: ${text}`).toBeGreaterThanOrEqual(400)
      expect(response.status, `${place} ${value}: ${text}`).toBeLessThan(500)
      expect(JSON.parse(text)).toHaveProperty('code')
    }
  })
})

/** A generator whose runs can be repeated: the seed is printed with what failed. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const values: unknown[] = [
  null, true, false, 0, -1, 1e9, 1e308, 0.1, '', '..', 'NaN', '\0', '\ud800', 'x'.repeat(300), "'; drop table holdfast.bodies; --",
  '{}', [], {}, [[[[]]]], { $gt: '' }, { constructor: { prototype: { x: 1 } } }, '2030-01-01T00:00:00Z', '9999999d', '1h', 'greet',
  ['greet'], '٣', '😀', '\u202e', '$\u007bjndi:ldap://x}', '01900000-0000-7000-8000-00000000dead', Array(200).fill('a'), 'a'.repeat(70_000),
] // biome-ignore format: a list
const names = [
  'type', 'payload', 'id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'approval', 'unique',
  'jobs', 'why', 'slots', 'worker_slots', 'poll', 'lease', 'enabled', 'ageing', 'unsafe', 'action', 'rate', 'max_running', 'breaker',
  'service', 'roles', 'types', 'rate_limit', 'expires', 'permissions', 'grace', 'quorum', 'key', 'by', 'count', 'per', '__proto__', 'x',
] // biome-ignore format: a list
const queryNames = [
  'limit',
  'cursor',
  'status',
  'type',
  'owner',
  'payload',
  'created_after',
  'timeout',
  'why',
  'service',
  'actor',
  'target',
  'x',
]

test('two thousand hostile requests: none is answered 5xx, with a stack or with SQL, and the server goes on', {
  timeout: 120_000,
}, async () => {
  const seed = 20_260_101
  const next = numbers(seed)
  const one = <Item>(list: readonly Item[]) => list[Math.floor(next() * list.length)] as Item
  const made = (depth = 0): unknown => {
    if (depth > 2 || next() < 0.5) return one(values)
    return Object.fromEntries(Array.from({ length: Math.floor(next() * 6) }, () => [one(names), made(depth + 1)]))
  }
  const routes = Object.keys(rules).filter((route) => !/stream|wait|DELETE .*keys/.test(route))
  const ask = async (nth: number) => {
    const [method, path] = one(routes).split(' ') as [string, string]
    const text = () =>
      one([
        () =>
          encodeURIComponent(
            String(JSON.stringify(one(values)))
              .slice(0, 500)
              .replace(/[\ud800-\udfff]/g, ''),
          ),
        () => one(['..%2f..', '%00', '%zz', job, 'greet', 'interactive', '1']),
      ])()
    const query = next() < 0.4 ? `?${one(queryNames)}=${text()}&${one(queryNames)}=${text()}` : ''
    const address = path.replace(/:\w+/g, text) + query
    const hasBody = method !== 'GET' && next() < 0.9
    const base =
      path === '/jobs/batch'
        ? { jobs: [made(), made()] }
        : path === '/jobs'
          ? { type: 'greet', payload: {}, ...(made() as object) }
          : made()
    const body = one([
      () => JSON.stringify(base),
      () => JSON.stringify(base),
      () => JSON.stringify(base).slice(0, -1),
      () => '\xff\xfe',
    ])()
    const type = one([
      'application/json',
      'application/json',
      'application/json',
      'text/plain',
      'application/json; charset=utf-16',
    ])
    const key = next() < 0.9 ? adminKey : one(['x', 'hf_', 'é', adminKey.toUpperCase()])
    const response = await serving.app().inject({
      method: method as 'GET',
      url: address,
      headers: { authorization: `Bearer ${key}`, ...(hasBody ? { 'content-type': type } : {}) },
      ...(hasBody ? { payload: body } : {}),
    })
    const shown = `seed ${seed}, request ${nth}: ${method} ${address.slice(0, 200)} ${hasBody ? body.slice(0, 300) : ''}\n→ ${response.body.slice(0, 400)}`
    expect(response.statusCode, shown).toBeLessThan(500)
    if (response.statusCode < 400) return
    expect(response.body, shown).not.toMatch(
      /\bat [\w.<>]+ \(|node_modules|\.js:\d+|select .* from|holdfast\.\w+\(|relation "|syntax error|SQLSTATE|pg_/i,
    )
    expect(response.headers['content-type'], shown).toContain('application/problem+json')
  }
  for (let nth = 0; nth < 2_000; nth += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => ask(nth + n)))
  expect(logged).toEqual([])
  expect((await serving.call('POST', '/jobs', { type: 'greet', payload: {} })).status).toBe(201)
  expect(({} as Record<string, unknown>).x).toBeUndefined()
})
