import { defineType, Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let serving: Serving
beforeAll(async () => {
  serving = await serve({ reading: { watches: 3 } })
  await serving.holdfast.registerTypes([defineType({ type: 'greet' })])
})
afterAll(() => serving.end())

const makeKey = async (service: string) => (await serving.holdfast.access.createKey({ service, roles: ['viewer'] }, who)).key

test('streams and waits of one service are refused beyond its share, and those of another are not', async () => {
  const { id } = await serving.holdfast.enqueue('greet', {}, { delay: '1h' })
  const [greedy, other] = [await makeKey('greedy'), await makeKey('other')]
  const ask = (what: string, key: string) => serving.call('GET', `/jobs/${id}/${what}`, undefined, key)
  const held = Array.from({ length: 3 }, () => ask('wait?timeout=60s', greedy))
  await eventually(async () => (await ask('wait?timeout=1ms', greedy)).status === 429)
  for (const what of ['stream', 'wait?timeout=60s']) {
    const refused = await ask(what, greedy)
    expect(refused.status, what).toBe(429)
    expect(await refused.json()).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('greedy has 3') })
  }
  expect((await ask('wait?timeout=1ms', other)).status).toBe(200)
  await serving.holdfast.cancel(id, who)
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200])
})

test('real streams of one service are open up to its share and no further; whoever closes them makes room for as many', async () => {
  const { id } = await serving.holdfast.enqueue('greet', {}, { delay: '1h' })
  const [streaming, other] = [await makeKey('streaming'), await makeKey('beside')]
  const open: Response[] = []
  onTestFinished(async () => void (await Promise.all(open.map(({ body }) => body?.cancel()))))
  const stream = async (key: string) => {
    const answer = await serving.call('GET', `/jobs/${id}/stream`, undefined, key)
    if (answer.status === 200) open.push(answer)
    return answer
  }
  for (let n = 0; n < 3; n++) {
    const answer = await stream(streaming)
    expect(answer.status, `stream ${n}`).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
  }
  for (const what of ['stream', 'wait?timeout=60s']) {
    const refused = await serving.call('GET', `/jobs/${id}/${what}`, undefined, streaming)
    expect(refused.status, what).toBe(429)
    expect(Number(refused.headers.get('retry-after')), what).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('streaming has 3') })
  }
  expect((await stream(other)).status).toBe(200)
  await Promise.all(open.splice(0).map(({ body }) => body?.cancel()))
  for (let n = 0; n < 3; n++) await eventually(async () => (await stream(streaming)).status === 200)
  expect((await stream(streaming)).status).toBe(429)
})

test('an address that guesses is soon not asked about; who was let in before goes on, and others do not notice', async () => {
  const ask = async (key: string, remoteAddress: string) =>
    (await serving.app().inject({ url: '/session', headers: { authorization: `Bearer ${key}` }, remoteAddress })).statusCode
  const [known, fresh] = [await makeKey('known'), await makeKey('fresh')]
  expect(await ask(known, '192.0.2.1')).toBe(200)
  // A change of keys: of nobody it is remembered any more who they are, and each is asked about anew.
  const changed = await serving.call('POST', '/admin/keys', { service: 'changed', roles: ['viewer'] })
  expect(changed.status).toBe(201)
  const guess = (_: unknown, n: number) => ask(`hf_guess-number-${n}-of-many`, '192.0.2.1')
  // Right behind the guesses, before the address has its next one.
  const answers = [...Array.from({ length: 300 }, guess), ask(known, '192.0.2.1'), ask(fresh, '192.0.2.2')]
  const statuses = await Promise.all(answers)
  expect(statuses.splice(300)).toEqual([200, 200])
  expect(new Set(statuses)).toEqual(new Set([401, 429]))
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(100)
  // The same wrong one again is no new guess, and the database is not asked.
  const again = await Promise.all(Array.from({ length: 300 }, () => ask('hf_the-same-one-every-time', '192.0.2.3')))
  expect(new Set(again)).toEqual(new Set([401]))
})

test('who has shown no key is not told where the database is', async () => {
  const holdfast = new Holdfast({ connectionString: 'postgres://someone:pw@127.0.0.1:1/nowhere' })
  const server = createServer(holdfast, { adminKey, logger: quiet })
  onTestFinished(async () => {
    await server.close()
    await holdfast.close()
  })
  for (const request of [
    { url: '/jobs', headers: { authorization: 'Bearer hf_of-nobody-at-all' } },
    { url: '/session', method: 'POST' as const, payload: { key: 'hf_of-nobody-at-all' } },
  ]) {
    const answer = await server.inject(request)
    expect(answer.statusCode).toBe(503)
    expect(answer.body).not.toMatch(/127\.0\.0\.1|ECONNREFUSED|:1\b/)
  }
})
