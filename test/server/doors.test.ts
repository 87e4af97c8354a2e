import { defineType, Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let serving: Serving
beforeAll(async () => {
  serving = await serve({ reading: { watches: 3 } })
  await serving.holdfast.types.ensure([defineType({ type: 'greet' })])
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

test('an address that guesses is soon not asked about; who was let in before goes on, and others do not notice', async () => {
  const ask = async (key: string, remoteAddress: string) =>
    (await serving.app().inject({ url: '/session', headers: { authorization: `Bearer ${key}` }, remoteAddress })).statusCode
  const [known, fresh] = [await makeKey('known'), await makeKey('fresh')]
  expect(await ask(known, '192.0.2.1')).toBe(200)
  const guesses = await Promise.all(Array.from({ length: 300 }, (_, n) => ask(`hf_guess-number-${n}-of-many`, '192.0.2.1')))
  expect(new Set(guesses)).toEqual(new Set([401, 429]))
  expect(guesses.filter((status) => status === 429).length).toBeGreaterThan(100)
  expect(await ask(known, '192.0.2.1')).toBe(200)
  expect(await ask(fresh, '192.0.2.2')).toBe(200)
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
