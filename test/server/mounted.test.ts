import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { fastify } from 'fastify'
import { defineType } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { createHandler, createPlugin, createServer, type Handler } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

let serving: Serving
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'send_email' })])
})
afterAll(() => serving.end())

const options = { adminKey, logger: quiet }
const auth = { authorization: `Bearer ${adminKey}` }

/** Whoever has only the address can do everything: enqueue, wait, read the page with what it names. */
async function worksUnder(address: string): Promise<void> {
  const client = new HoldfastClient({ url: address, key: adminKey })
  const { id } = await client.enqueue('send_email', { to: 'ada@example.com' }, { delay: '1h' })
  expect((await client.job(id))?.status).toBe('scheduled')
  const page = await fetch(address)
  expect(page.url).toBe(`${address}/`)
  const files = [...(await page.text()).matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, name]) => new URL(name as string, page.url))
  expect(files.length).toBeGreaterThan(2)
  for (const file of files) {
    const answer = await fetch(file)
    // Read to its end: an answer that nobody reads keeps its connection, and the server that closes waits for it.
    expect([answer.status, (await answer.arrayBuffer()).byteLength > 0], file.href).toEqual([200, true])
  }
  const openapi = await (await fetch(`${address}/openapi.json`, { headers: auth })).json()
  expect(openapi.servers).toEqual([{ url: new URL(address).pathname }])
  const nothing = await fetch(`${address}/nothing`, { headers: auth })
  expect([nothing.status, nothing.headers.get('content-type')]).toEqual([404, 'application/problem+json; charset=utf-8'])
  const lossy = await fetch(`${address}/jobs`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: '{"type":"send_email","payload":{"n":12345678901234567890}}',
  })
  expect((await lossy.json()).code).toBe('invalid_payload')
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

async function listening(handler: Handler, listener: Listener): Promise<string> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    await handler.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

/** As Express and Connect do it: what is mounted sees the rest of the path, and the whole of it in originalUrl. */
function mountedAt(path: string, mounted: Listener): Listener {
  return (request, response) => {
    const { url = '' } = request
    if (!url.startsWith(path)) return void response.end('the shop')
    Object.assign(request, { originalUrl: url })
    request.url = url.slice(path.length).replace(/^(?!\/)/, '/')
    mounted(request, response)
  }
}

describe('a mounted server', () => {
  test('is a plugin of a Fastify application, whose other routes and hooks stay its own', async () => {
    const app = fastify()
    onTestFinished(() => app.close())
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-shop', 'ours'))
    app.post('/orders', async ({ body }) => ({ got: body }))
    await app.register(createPlugin(serving.holdfast, options), { prefix: '/ops/jobs' })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    await worksUnder(`${address}/ops/jobs`)
    expect((await fetch(`${address}/ops/jobs/healthz`)).headers.get('x-shop')).toBe('ours')
    const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"n":1,"n":2}' }
    expect(await (await fetch(`${address}/orders`, body)).json()).toEqual({ got: { n: 2 } })
    expect((await app.inject({ url: '/ops/jobs/status', headers: auth })).statusCode).toBe(200)
  })

  test('is a handler under a path that Express takes away', async () => {
    const handler = createHandler(serving.holdfast, options)
    const address = await listening(handler, mountedAt('/jobs', handler))
    await worksUnder(`${address}/jobs`)
    expect(await (await fetch(`${address}/else`)).text()).toBe('the shop')
  })

  test('is a handler of a plain server, which takes the prefix away itself', async () => {
    const handler = createHandler(serving.holdfast, { ...options, prefix: '/deep/below' })
    const address = await listening(handler, handler)
    await worksUnder(`${address}/deep/below`)
  })

  test.each([
    ['paths that Express takes away', { eu: {}, us: {} }, true],
    ['prefixes of their own', { eu: { prefix: '/members/eu' }, us: { prefix: '/members/us' } }, false],
  ])('has sessions of its own beside another one on the same host, under %s', async (_how, ways, isExpress) => {
    const both = {
      eu: createHandler(serving.holdfast, { ...options, ...ways.eu }),
      us: createHandler(serving.holdfast, { ...options, ...ways.us }),
    }
    onTestFinished(() => both.us.close())
    const address = await listening(both.eu, (request, response) => {
      const name = request.url?.startsWith('/members/us/') ? 'us' : 'eu'
      const listener = isExpress ? mountedAt(`/members/${name}`, both[name]) : both[name]
      listener(request, response)
    })
    const cookies = new Map<string, string>()
    const ask = async (name: string, method: string, body?: object) => {
      const answer = await fetch(`${address}/members/${name}/session`, {
        method,
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          'sec-fetch-site': 'same-origin',
          cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      for (const cookie of answer.headers.getSetCookie()) {
        const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        cookies.set(key, value)
      }
      await answer.arrayBuffer()
      return answer.status
    }
    expect([await ask('eu', 'POST', { key: adminKey }), await ask('us', 'POST', { key: adminKey })]).toEqual([201, 201])
    expect([await ask('eu', 'DELETE'), await ask('eu', 'GET'), await ask('us', 'GET')]).toEqual([204, 401, 200])
  })

  test('says so where something before it has read the body, and does not wait for it', async () => {
    const handler = createHandler(serving.holdfast, options)
    const address = await listening(handler, async (request, response) => {
      for await (const _part of request);
      handler(request, response)
    })
    const answer = await fetch(`${address}/jobs`, {
      method: 'POST',
      headers: { ...auth, 'content-type': 'application/json' },
      body: '{"type":"send_email","payload":{}}',
    })
    expect(answer.status).toBe(500)
    expect((await answer.json()).detail).toContain('mount Holdfast before express.json()')
  })

  test('that closes ends its streams and leaves the connections of the other server alone', async () => {
    const handler = createHandler(serving.holdfast, options)
    const address = await listening(handler, mountedAt('/jobs', handler))
    const { id } = await serving.holdfast.enqueue('send_email', {}, { delay: '1h' })
    const stream = await fetch(`${address}/jobs/jobs/${id}/stream`, { headers: auth })
    await handler.close()
    expect(await stream.text()).toContain('retry: 1000')
    expect(await (await fetch(`${address}/else`)).text()).toBe('the shop')
    expect((await fetch(`${address}/jobs/healthz`)).status).toBe(503)
  })

  test('refuses options of a server that listens, and every other that is wrong, at once', () => {
    const wrong = { tls: {}, prefix: 'jobs/', trustProxy: ['the proxy'], adminKey: 'short' }
    expect(() => createHandler(serving.holdfast, wrong as never)).toThrow(
      /tls is not known[\s\S]*adminKey must have at least 20[\s\S]*prefix is "jobs\/"; it must be a path[\s\S]*trustProxy has "the proxy"/,
    )
  })
})

test('a server under a prefix answers there, and where a proxy has taken the prefix away', async () => {
  const server = createServer(serving.holdfast, { ...options, prefix: '/holdfast' })
  onTestFinished(() => server.close())
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  await worksUnder(`${address}/holdfast`)
  expect((await fetch(`${address}/healthz`)).status).toBe(200)
  expect((await fetch(`${address}/holdfasthealthz`, { headers: auth })).status).toBe(404)
})

test('a server without an admin key takes the keys that are in the database, and no other', async () => {
  const { key } = await serving.holdfast.access.createKey({ service: 'ops', roles: ['admin'] }, { by: 'grace' })
  const server = createServer(serving.holdfast, { logger: quiet })
  onTestFinished(() => server.close())
  const status = async (secret: string) =>
    (await server.inject({ url: '/status', headers: { authorization: `Bearer ${secret}` } })).statusCode
  expect(await status(key)).toBe(200)
  expect(await status(adminKey)).toBe(401)
  expect(await status('undefined')).toBe(401)
})

test('a server that is told to stop says so to load balancers, and answers on', async () => {
  const stopping = new AbortController()
  const server = createServer(serving.holdfast, { ...options, stopping: stopping.signal })
  onTestFinished(() => server.close())
  const ask = (url: string) => server.inject({ url, headers: auth })
  expect((await ask('/readyz')).statusCode).toBe(200)
  stopping.abort()
  for (const path of ['/readyz', '/healthz']) {
    const { statusCode, headers, body } = await ask(path)
    expect([statusCode, headers.connection, JSON.parse(body)]).toEqual([503, 'close', { status: 'stopping' }])
  }
  expect((await ask('/status')).statusCode).toBe(200)
})

test('wrong keys count against the client where the proxy that names it is trusted', async () => {
  const server = createServer(serving.holdfast, { ...options, trustProxy: ['127.0.0.1'] })
  onTestFinished(() => server.close())
  const guess = async (from: string, n: number) =>
    (await server.inject({ url: '/status', headers: { authorization: `Bearer wrong-${n}`, 'x-forwarded-for': from } })).statusCode
  let n = 0
  while ((await guess('203.0.113.7', n++)) !== 429) expect(n).toBeLessThan(1_000)
  expect(await guess('203.0.113.8', n)).toBe(401)
})
