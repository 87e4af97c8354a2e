import { execFile } from 'node:child_process'
import { once } from 'node:events'
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

test('Express runs the job, has Holdfast under a path, and parses the bodies of the others', async () => {
  const { server, stop } = await (await example('express')).start(0)
  await once(server, 'listening')
  const base = `http://127.0.0.1:${server.address().port}`
  const answer = await fetch(`${base}/welcome`, json({ to: 'ada@example.com' }))
  expect(answer.status).toBe(202)
  await completes((await answer.json()).id)
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const job = { type: 'send_email', payload: { to: 'ada@example.com' } }
  expect((await fetch(`${base}/holdfast/jobs`, { ...json(job), headers })).status).toBe(201)
  expect(await (await fetch(`${base}/holdfast/status`, { headers })).json()).toMatchObject({ worker: { status: 'ok' } })
  expect((await fetch(`${base}/elsewhere`)).status).toBe(404)
  const closed = once(server, 'close')
  await stop()
  server.closeAllConnections()
  await closed
})
