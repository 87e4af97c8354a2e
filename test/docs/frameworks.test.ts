import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { repository } from '../support/source.js'

const adminKey = 'hf_a-key-that-is-long-enough'
const example = (name: string) => import(join(repository, 'examples', `${name}.mjs`))

let scratch: ScratchDatabase
// biome-ignore lint/suspicious/noExplicitAny: examples are JavaScript
let app: any
let address: string
beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  Object.assign(process.env, { DATABASE_URL: scratch.connectionString, ADMIN_KEY: adminKey, HOLDFAST_LOG_LEVEL: 'silent' })
  app = await (await example('fastify')).start()
  address = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await app.close()
  await (await example('jobs')).holdfast.close()
  await scratch.drop()
})

const json = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const completes = async (id: string) => {
  const { holdfast } = await example('jobs')
  expect(await holdfast.wait(id, { timeout: '20s' })).toEqual({ sentTo: 'ada@example.com' })
}

test('Fastify enqueues, runs the job, and shows the status under its prefix', async () => {
  const answer = await fetch(`${address}/welcome`, json({ to: 'ada@example.com' }))
  expect(answer.status).toBe(202)
  await completes((await answer.json()).id)
  const status = await fetch(`${address}/holdfast/status`, { headers: { authorization: `Bearer ${adminKey}` } })
  expect(await status.json()).toMatchObject({ worker: { status: 'ok' } })
})

test('a route handler answers 201, then 200 for the same, and says what was wrong', async () => {
  const { POST } = await example('next-route')
  const ask = async (to: unknown) => POST(new Request('http://localhost/api/welcome', json({ to })))
  const first = await ask('ada@example.com')
  const { id } = await first.json()
  expect([first.status, (await ask('ada@example.com')).status]).toEqual([201, 200])
  await completes(id)
  const wrong = await ask('nobody')
  expect([wrong.status, (await wrong.json()).code]).toEqual([422, 'payload_rejected'])
})

test('a plain script waits for what its job returned', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(repository, 'examples', 'script.mjs')], {
    env: process.env,
  })
  expect(stdout).toBe('sent to ada@example.com\n')
})

test('Express has Holdfast under a path, and parses the bodies of the others', async () => {
  const { express, listener } = likeExpress()
  const jobs = (await example('express')).routes(express, express.app)
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const answer = await fetch(`${base}/welcome`, json({ to: 'ada@example.com' }))
  expect(answer.status).toBe(202)
  await completes((await answer.json()).id)
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const job = { type: 'send_email', payload: { to: 'ada@example.com' } }
  const enqueued = await fetch(`${base}/holdfast/jobs`, { ...json(job), headers })
  expect(enqueued.status).toBe(201)
  await jobs.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** What the example uses of Express, done as Express does it: middleware in order, mounted paths taken away, bodies parsed. */
function likeExpress() {
  type Layer = (request: IncomingMessage & { body?: unknown }, response: ServerResponse, next: () => void) => unknown
  const layers: Layer[] = []
  const at =
    (path: string, layer: Layer, whole: boolean): Layer =>
    (request, response, next) => {
      const { url = '/' } = request
      if (whole ? url !== path : !url.startsWith(path)) return next()
      Object.assign(request, { originalUrl: url }, whole ? {} : { url: url.slice(path.length) || '/' })
      return layer(request, response, next)
    }
  const json: () => Layer = () => async (request, _response, next) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    request.body = JSON.parse(Buffer.concat(parts).toString() || '{}')
    next()
  }
  const app = {
    use: (path: string | Layer, layer?: Layer) => void layers.push(layer ? at(path as string, layer, false) : (path as Layer)),
    post: (path: string, layer: Layer) => void layers.push(at(path, layer, true)),
  }
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const status = (code: number) => ({ json: (body: unknown) => response.writeHead(code).end(JSON.stringify(body)) })
    const run = (n: number): unknown => layers[n]?.(request, Object.assign(response, { status }), () => run(n + 1))
    run(0)
  }
  return { express: { json, app }, listener }
}
