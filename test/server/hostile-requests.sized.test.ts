import { defineType } from 'holdfast'
import { rules } from 'holdfast/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Hostility, leak } from '../support/hostility.js'
import { bytesHeld, watchLoop } from '../support/own-process.js'
import { adminKey, type Serving, serve } from '../support/serving.js'
import { sized } from '../support/sized.js'

const requests = sized({ sample: 1_300, whole: 10_000 })
const loaded = sized({ sample: 1_000, whole: 2_000 })

let serving: Serving
const logged: object[] = []
let job: string
let worker: string
beforeAll(async () => {
  const logger = { info() {}, warn() {}, error: (fields: object) => void logged.push(fields) }
  serving = await serve({ logger })
  await serving.holdfast.registerTypes([defineType({ type: 'greet' })])
  job = (await serving.holdfast.enqueue('greet', {}, { delay: '1h' })).id
  const registered = await serving.call('POST', '/worker/register', { name: 'w', types: ['greet'] })
  worker = ((await registered.json()) as { worker: string }).worker
})
afterAll(() => serving.end())

test(`${requests.toLocaleString('en')} hostile requests: none is answered 5xx, with a stack or with SQL, none is kept or blocks the rest`, {
  timeout: 300_000,
}, async () => {
  const hostility = new Hostility(20_260_101, Object.keys(rules), { adminKey, job, worker })
  const answered: Record<number, number> = {}
  const ask = async () => {
    const { method, url, headers, payload } = hostility.next()
    const response = await serving
      .app()
      .inject({ method: method as 'GET', url, headers, ...(payload === undefined ? {} : { payload }) })
    answered[response.statusCode] = (answered[response.statusCode] ?? 0) + 1
    // Put together only where it is needed: each time it would cost more than the requests.
    const shown = () => `${hostility}: ${method} ${url.slice(0, 300)} ${payload?.slice(0, 500)}\n→ ${response.body.slice(0, 400)}`
    if (response.statusCode >= 500) throw new Error(shown())
    if (response.statusCode < 400) return
    if (leak.test(response.body)) throw new Error(`leaks: ${shown()}`)
    if (!String(response.headers['content-type']).includes('application/problem+json')) throw new Error(`no problem: ${shown()}`)
  }
  const askUntil = async (count: number) => {
    const many = async () => {
      while (hostility.made < count) await ask()
    }
    // More than the server has connections, and so few that none waits for one until it is refused, also on a busy machine.
    await Promise.all(Array.from({ length: 12 }, many))
  }
  const loop = watchLoop()
  // By then all code is loaded, every statement is prepared and all connections are open.
  await askUntil(loaded)
  const before = await bytesHeld()
  await askUntil(requests)
  const blockedMs = loop.longestMs()
  const grown = (await bytesHeld()) - before
  // What is remembered of callers and guesses comes to one megabyte and has an end; 600 bytes of each of 8,000 requests would be more.
  expect(grown).toBeLessThan(5_000_000)
  // Parsing eight megabytes of brackets alone takes over two seconds.
  expect(blockedMs).toBeLessThan(1_000)
  // Not all stopped at the door: some were let in, and some were refused by what lies behind the schemas.
  for (const status of [200, 201, 400, 401, 404, 409, 413, 415, 422])
    expect(answered, JSON.stringify(answered)).toHaveProperty(String(status))
  expect(logged).toEqual([])
  expect((await serving.call('POST', '/jobs', { type: 'greet', payload: {} })).status).toBe(201)
  expect(({} as Record<string, unknown>).x).toBeUndefined()
})
