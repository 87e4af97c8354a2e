import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { createServer } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

const closed = [
  '/status',
  '/jobs/01900000-0000-7000-8000-000000000001',
  '/nothing',
  '/assets/x/y',
  '/assets/../status',
  '/healthz/x',
  '/readyz',
]
const open = ['/', '/icon.svg', '/healthz']

describe('the key', () => {
  test.each(closed)('is needed for %s', async (path) => {
    const response = await serving.ask(path, { headers: {} })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(await response.json()).toMatchObject({ code: 'unauthorized', status: 401 })
  })

  test('is needed to enqueue, and the body of a stranger is not even read', async () => {
    const response = await serving.ask('/jobs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'no json',
    })
    expect(response.status).toBe(401)
  })

  test.each(open)('is not needed for %s, which holds no data', async (path) => {
    expect((await serving.ask(path, { headers: {} })).status).toBe(200)
  })

  test.each([
    ['a wrong one', `Bearer ${adminKey}x`],
    ['the beginning of the right one', `Bearer ${adminKey.slice(0, -1)}`],
    ['an empty one', 'Bearer '],
    ['another scheme', `Basic ${Buffer.from(`admin:${adminKey}`).toString('base64')}`],
    ['the key alone', adminKey],
  ])('is refused where it is %s', async (_what, authorization) => {
    expect((await serving.ask('/status', { headers: { authorization } })).status).toBe(401)
  })

  test('is taken however the scheme is written', async () => {
    expect((await serving.ask('/status', { headers: { authorization: `bearer ${adminKey}` } })).status).toBe(200)
  })

  test('must be long enough to be one', () => {
    expect(() => createServer(serving.holdfast, { adminKey: 'admin', logger: quiet })).toThrow(/at least 20 characters/)
  })
})

describe('every answer', () => {
  test.each([...open, '/status', '/nothing', '/%zz'])('of %s may load, frame and sniff nothing from elsewhere', async (path) => {
    const { headers } = await serving.ask(path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|\*|data:/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('to an unknown path or method is a problem, and so is one to a path that cannot be read', async () => {
    for (const [path, method, status] of [
      ['/nothing', 'GET', 404],
      ['/jobs', 'DELETE', 404],
      ['/jobs/%zz', 'GET', 400],
    ] as const) {
      const response = await serving.ask(path, { method, headers: { authorization: `Bearer ${adminKey}` } })
      expect(response.status).toBe(status)
      expect(response.headers.get('content-type')).toContain('application/problem+json')
      expect(await response.json()).toMatchObject({ status })
    }
  })

  test('of the page is asked for again each time, and sent only when it changed; its files are kept for ever', async () => {
    const first = await serving.ask('/')
    const etag = first.headers.get('etag') as string
    expect(first.headers.get('cache-control')).toBe('no-cache')
    expect((await serving.ask('/', { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await serving.ask('/', { headers: { 'if-none-match': '"old"' } })).status).toBe(200)
    const named = [...(await first.text()).matchAll(/\.\/(assets\/[\w.-]+)/g)].map(([, path]) => `/${path}`)
    expect(named.length).toBeGreaterThanOrEqual(2)
    for (const path of named) {
      const file = await serving.ask(path, { headers: {} })
      expect([file.status, file.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
    }
    expect((await serving.ask('/assets/index-of-before.js', { headers: {} })).status).toBe(404)
  })
})

describe('what nobody expected', () => {
  test('is answered without a word of how it is made, and written to the log', async () => {
    const logged: object[] = []
    const logger = { ...quiet, error: (fields: object) => void logged.push(fields) }
    const other = await serve({ logger })
    onTestFinished(() => other.end())
    await other.sql.query('alter table holdfast.types rename column name to label')
    const response = await other.ask('/status')
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(JSON.parse(text)).toMatchObject({ code: 'internal_error' })
    expect(text).not.toMatch(/select|column|holdfast\.types|\.js/i)
    expect(JSON.stringify(logged)).toContain('column')
  })

  test('a database that is away is 503, to be tried again', async () => {
    const nowhere = new Holdfast({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
    const server = createServer(nowhere, { adminKey, logger: quiet })
    onTestFinished(() => server.close())
    const address = await server.listen({ host: '127.0.0.1', port: 0 })
    const response = await fetch(`${address}/status`, { headers: { authorization: `Bearer ${adminKey}` } })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ code: 'database_unavailable' })
    const health = await fetch(`${address}/healthz`)
    expect(health.status).toBe(503)
    expect(await health.json()).toEqual({ status: 'unhealthy' })
  })
})

describe('GET /readyz', () => {
  const ready = async (other: Serving) => {
    const response = await other.ask('/readyz')
    return [response.status, await response.json()]
  }

  test('is 200 once the schema is as this version needs it, and 503 while it is older', async () => {
    const other = await serve()
    onTestFinished(() => other.end())
    expect(await ready(other)).toEqual([200, { status: 'ok' }])
    await other.sql.query('delete from holdfast.migrations where number = (select max(number) from holdfast.migrations)')
    await eventually(async () => (await ready(other))[0] === 503)
    expect(await ready(other)).toEqual([503, { status: 'unavailable' }])
  })

  test('asks the database no more than twice a second, however often it is asked', async () => {
    const asked = vi.spyOn(insideOf(serving.holdfast).store.inspect, 'checkSchema')
    const answers = await Promise.all(Array.from({ length: 200 }, () => ready(serving)))
    expect(answers.every(([status]) => status === 200)).toBe(true)
    expect(asked.mock.calls.length).toBeLessThan(20)
    asked.mockRestore()
  })
})

describe('GET /healthz', () => {
  test('is the health of the worker: 200 while it works, 503 when it stops', async () => {
    const worker = await startWorker(serving.holdfast, [], { logger: quiet, upkeepOnly: true })
    await serving.comeBack({ worker })
    const health = () => serving.ask('/healthz', { headers: {} })
    expect((await health()).status).toBe(200)
    await worker.stop()
    const stopped = await health()
    expect(stopped.status).toBe(503)
    expect(await stopped.json()).toEqual({ status: 'stopping' })
  })
})
