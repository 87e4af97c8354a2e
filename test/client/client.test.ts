import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defineType } from 'holdfast'
import { HoldfastClient, type HoldfastError } from 'holdfast/client'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const greet = defineType({ type: 'greet', payload: z.object({ name: z.string() }), run() {} })

let serving: Serving
let client: HoldfastClient
let key: string
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet])
  key = (await serving.holdfast.access.createKey({ service: 'billing', roles: ['producer'] }, who)).key
  client = new HoldfastClient({ url: serving.address, key })
})
afterAll(() => serving.end())

const countOf = async (where: string) =>
  (await serving.sql.query(`select count(*)::integer as count from holdfast.bodies where ${where}`)).rows[0].count

function refusalOf(make: () => unknown): HoldfastError {
  try {
    make()
  } catch (error) {
    return error as HoldfastError
  }
  throw new Error('nothing was refused')
}

/** A server in between that does to each request what the test says, and passes on the rest. */
async function between(
  does: (nth: number) => 'lose the answer' | 'refuse' | 'say 502' | 'ask to wait' | 'pass',
): Promise<string> {
  let nth = 0
  const server: Server = createServer(async (request, response) => {
    const what = does(++nth)
    if (what === 'refuse') return request.socket.destroy()
    if (what === 'say 502') return void response.writeHead(502).end('<html>bad gateway</html>')
    if (what === 'ask to wait') return void response.writeHead(429, { 'retry-after': '0' }).end('{}')
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const answer = await fetch(serving.address + request.url, {
      method: request.method as string,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(parts.length > 0 ? { body: Buffer.concat(parts) } : {}),
    })
    const text = await answer.text()
    if (what === 'lose the answer') return request.socket.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('HoldfastClient', () => {
  test('refuses a key that no request can carry, and does not repeat it', () => {
    const refused = refusalOf(() => new HoldfastClient({ url: serving.address, key: `${key}\nKey 1 of billing.` }))
    expect(refused).toMatchObject({ code: 'invalid_configuration', field: 'key', message: expect.stringContaining('line break') })
    expect(refused.message).not.toContain(key)
    expect(refusalOf(() => new HoldfastClient({ url: undefined, key: undefined })).issues).toHaveLength(2)
  })

  test('waits as long as it is told, in the words of the library, and knows no other option', async () => {
    const { id } = await client.enqueue(greet, { name: 'Ada' }, { delay: '1d' })
    expect(await client.wait(id, { timeout: '10ms' })).toMatchObject({ id, status: 'scheduled' })
    await expect(client.wait(id, { timeoutMs: 10 } as object)).rejects.toMatchObject({
      code: 'invalid_option',
      field: 'timeoutMs',
    })
  })

  test('enqueues as the library does: the same call, typed, with every option', async () => {
    const { id, status } = await client.enqueue(greet, { name: 'Ada' }, {
      priority: 9,
      maxAttempts: 3,
      runAt: new Date('2099-01-01T00:00:00Z'),
      idempotencyKey: 'ada',
      concurrencyKey: 'tenant 7',
    }) // biome-ignore format: one call
    expect(status).toBe('created')
    expect(await client.job(id)).toMatchObject({
      ...{ id, type: 'greet', owner: 'billing', priority: 9, max_attempts: 3, payload: { name: 'Ada' } },
      ...{ due_at: '2099-01-01T00:00:00.000Z', idempotency_key: 'ada', concurrency_key: 'tenant 7' },
    })
    expect(await client.enqueue(greet, { name: 'Ada' }, { idempotencyKey: 'ada' })).toEqual({ id, status: 'existing' })
    // @ts-expect-error a payload that does not fit its type does not compile
    const wrong = client.enqueue(greet, { name: 7 })
    await expect(wrong).rejects.toMatchObject({ code: 'payload_rejected', field: 'payload.name' })
  })

  test('takes approval and uniqueness under the names of the library', async () => {
    const options = {
      approval: { quorum: 2, deadline: '1h', onDeadline: 'approve' },
      unique: { key: 'one', onConflict: 'existing' },
    } as const
    const { id } = await client.enqueue('greet', { name: 'Bob' }, options)
    expect((await client.job(id))?.approval).toMatchObject({ quorum: 2, on_deadline: 'approve' })
    expect(await client.enqueue('greet', { name: 'Bob' }, options)).toEqual({ id, status: 'existing' })
  })

  test.each(['lose the answer', 'refuse', 'say 502', 'ask to wait'] as const)(
    'tries again where others %s, and the job is stored once and answered as created',
    async (what) => {
      const url = await between((nth) => (nth <= 2 ? what : 'pass'))
      const shaky = new HoldfastClient({ url, key })
      const marker = `shaky: ${what}`
      const answer = await shaky.enqueue('greet', { name: marker }, { delay: '1h' })
      expect(answer.status).toBe('created')
      expect(await countOf(`payload ->> 'name' = '${marker}'`)).toBe(1)
      const many = await shaky.enqueueMany([greet.job({ name: `${marker} 1` }), greet.job({ name: `${marker} 2` })])
      expect(many.map(({ status }) => status)).toEqual(['created', 'created'])
      expect(await countOf(`payload ->> 'name' like '${marker} _'`)).toBe(2)
    },
  )

  test('gives up after its tries, and says so; what can never succeed it tries once', async () => {
    const away = new HoldfastClient({ url: await between(() => 'refuse'), key, tries: 2 })
    await expect(away.enqueue('greet', {})).rejects.toMatchObject({ code: 'server_unreachable', retryable: true })
    let calls = 0
    const counting = await between((nth) => {
      calls = nth
      return 'pass'
    })
    const counted = new HoldfastClient({ url: counting, key })
    await expect(counted.enqueue('greeet', {})).rejects.toMatchObject({
      code: 'unknown_type',
      field: 'type',
      message: expect.stringMatching(/"greet"/),
    })
    expect(calls).toBe(1)
    const stranger = new HoldfastClient({ url: serving.address, key: 'hf_of-nobody-at-all' })
    await expect(stranger.enqueue('greet', {})).rejects.toMatchObject({ code: 'unauthorized' })
  })

  test('refuses what JSON would change, and misspelt options, before anything is sent', async () => {
    const nowhere = new HoldfastClient({ url: 'http://127.0.0.1:1', key })
    await expect(nowhere.enqueue('greet', { n: Number.NaN })).rejects.toMatchObject({ code: 'invalid_payload' })
    await expect(nowhere.enqueue('greet', {}, { prioritty: 1 } as never)).rejects.toMatchObject({
      message: expect.stringMatching(/"priority"/),
    })
    expect(() => new HoldfastClient({ url: 'nonsense', key })).toThrow(/address/)
  })

  test('lists, waits for and cancels the jobs of its service', async () => {
    const { id } = await client.enqueue(greet, { name: 'listed' }, { delay: '1h' })
    const page = await client.jobs({ type: 'greet', payload: '{"name":"listed"}' })
    expect(page.jobs.map((job) => job.id)).toEqual([id])
    expect(await client.cancel(id, { why: 'no longer' })).toMatchObject({ done: true, status: 'cancelled' })
    await expect(client.cancel(id)).rejects.toMatchObject({ code: 'conflict' })
    expect(await client.resume(id, { why: 'it is wanted' })).toMatchObject({ done: true, was: 'cancelled' })
    await expect(client.resume(id)).rejects.toMatchObject({ code: 'conflict' })
    await client.cancel(id)
    expect(await client.job('01900000-0000-7000-8000-00000000dead')).toBeUndefined()
    const worker = await startWorker(serving.holdfast, [greet], { logger: quiet })
    expect((await client.wait(await client.enqueue(greet, { name: 'run' }))).status).toBe('completed')
    await worker.stop()
  })
})
