import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clients } from '../support/clients.js'
import { docsPage, runExample } from '../support/docs-page.js'
import { repository } from '../support/source.js'

const adminKey = 'hf_a-key-that-is-long-enough'
const example = (name: string) => import(join(repository, 'examples', `${name}.mjs`))

let scratch: ScratchDatabase
// biome-ignore lint/suspicious/noExplicitAny: examples are JavaScript
let app: any
let address: string
const before = { ...process.env }
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
  // Other files run in this process.
  for (const name of ['DATABASE_URL', 'ADMIN_KEY', 'HOLDFAST_LOG_LEVEL']) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
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

test('the line of each client enqueues in its transaction, as it stands', async () => {
  const { holdfast, sendEmail } = await example('jobs')
  const called: Record<string, string> = {
    pg: 'client',
    'postgres.js': 'sql',
    Drizzle: 'db',
    Kysely: 'db',
    Knex: 'knex',
    Prisma: 'prisma',
  }
  const lines = [...docsPage('how-to/transactional-enqueue.md').matchAll(/^\| `?([^`|]+?)`? \| `(await [^|]*)` \|$/gm)]
  expect(lines.map(([, name]) => name)).toEqual(Object.keys(called))
  const ids = async () =>
    new Set((await holdfast.jobs({ type: 'send_email' }, { limit: 100 })).jobs.map(({ id }: { id: string }) => id))
  for (const [, name = '', line = ''] of lines) {
    const earlier = await ids()
    const client = await clients.find((one) => one.name.startsWith(name))?.open(scratch.connectionString)
    const root = await rootOf(name, client?.root)
    await runExample(line, { holdfast, sendEmail, to: 'ada@example.com', [called[name] as string]: root })
    if (name === 'pg') (root as pg.PoolClient).release()
    await client?.close()
    expect((await ids()).size - earlier.size, name).toBe(1)
  }
})

/** What the line calls by its name. Prisma's own limits of seconds are too short for a machine that is busy with other tests. */
async function rootOf(name: string, root: unknown): Promise<unknown> {
  if (name === 'pg') return (root as pg.Pool).connect()
  if (name !== 'Prisma') return root
  const prisma = root as { $transaction(run: unknown, options: object): Promise<unknown> }
  return { $transaction: (run: unknown) => prisma.$transaction(run, { maxWait: 60_000, timeout: 60_000 }) }
}
