import { Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { createServer } from 'holdfast/server'
import { expect, onTestFinished, test } from 'vitest'
import { makeObservedDatabase } from '../support/observed-database.js'
import { adminKey, quiet } from '../support/serving.js'
import { serverPort, work } from '../support/small-worker.js'
import { startProxy } from '../support/tcp-proxy.js'

/** A server that has answered requests, and the way to its database. */
async function serverByProxy() {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const holdfast = new Holdfast({ connectionString: proxy.through(database.url) })
  await holdfast.registerTypes([work()])
  const server = createServer(holdfast, { adminKey, logger: quiet })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    await proxy.heal()
    proxy.cut()
    await server.close()
    await holdfast.close()
  })
  const post = (body: object) =>
    fetch(`${address}/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const get = (path: string) => fetch(address + path, { headers: { authorization: `Bearer ${adminKey}` } })
  expect((await post({ type: 'work', payload: {} })).status).toBe(201)
  expect((await get('/jobs')).status).toBe(200)
  return { database, proxy, address, post, get }
}

/** Two seconds, and what a busy machine takes; without a look at the silence it would be more than twenty. */
const soonMs = 10_000

test.each(['refuses', 'swallows every byte'] as const)(
  'a request is answered 503 with Retry-After within two seconds while the database %s, and the next one is served when it is back',
  async (how) => {
    const { database, proxy, post, get } = await serverByProxy()
    if (how === 'refuses') {
      proxy.refuse()
      proxy.cut()
    } else proxy.silence()
    const asked = [post({ type: 'work', payload: {} }), post({ type: 'work', payload: {} }), get('/jobs'), get('/status')]
    const timed = asked.map(async (answer) => {
      const begun = performance.now()
      const { status, headers } = await answer
      return { status, retryAfter: headers.get('retry-after'), inTime: performance.now() - begun < soonMs }
    })
    for (const answer of await Promise.all(timed)) expect(answer).toEqual({ status: 503, retryAfter: '1', inTime: true })
    await proxy.heal()
    // Connections that were swallowed stay lost, and are not tried one by one.
    const begun = performance.now()
    expect((await post({ type: 'work', payload: {} })).status).toBe(201)
    expect(performance.now() - begun).toBeLessThan(15_000)
    // What was answered 503 may have been done since.
    expect((await database.counts()).pending).toBeGreaterThanOrEqual(2)
  },
  60_000,
)

test('a statement that merely takes long is waited for', async () => {
  const { database, post } = await serverByProxy()
  const other = await database.connect()
  await other.query('begin')
  await other.query('lock table holdfast.bodies in exclusive mode')
  const waiting = post({ type: 'work', payload: {} })
  // Longer than a server waits for a silent one.
  await other.query('select pg_sleep(3)')
  await other.query('commit')
  expect((await waiting).status).toBe(201)
}, 60_000)

test('the client sends an enqueue again while the database is away, and it is stored once; the error says for how long', async () => {
  const { database, proxy, address } = await serverByProxy()
  const client = new HoldfastClient({ url: address, key: adminKey })
  proxy.silence()
  const over = new AbortController()
  const [one, many, given, ended] = [
    client.enqueue('work', {}),
    client.enqueueMany([{ type: 'work', payload: {} }]),
    client.enqueue('work', {}, { retryFor: '1s' }),
    client.enqueue('work', {}, { signal: over.signal }),
  ]
  await expect(given).rejects.toMatchObject({
    code: 'database_unavailable',
    message: expect.stringMatching(/tried (once|\d+ times) in \d+\.\d s$/),
  })
  over.abort(new Error('the request was closed'))
  await expect(ended).rejects.toThrow(/until the caller's signal ended it/)
  await expect(client.enqueue('work', {}, { signal: over.signal })).rejects.toThrow('the request was closed')
  await proxy.heal()
  const stored = [await one, ...(await many)]
  expect(stored.map(({ status }) => status)).toEqual(['created', 'created'])
  const rows = await database.sql('select from holdfast.bodies where id = any ($1)', [stored.map(({ id }) => id)])
  expect(rows).toHaveLength(2)
}, 60_000)
