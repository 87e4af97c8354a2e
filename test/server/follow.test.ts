import { defineType, FatalError } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

/** Goes on when the test says so. */
const gates = new Map<string, () => void>()
const talk = defineType({
  type: 'talk',
  backoff: { base: 0, jitter: 0 },
  async run(payload, context) {
    const { lines, dies } = payload as { lines: string[]; dies?: boolean }
    context.progress(0.5, 'half')
    for (const line of lines) context.log(line)
    await new Promise<void>((resolve) => gates.set(context.job.id, resolve))
    context.log('the last line')
    if (dies) throw new FatalError('for good')
  },
})

let serving: Serving
let worker: Worker
beforeAll(async () => {
  serving = await serve()
  worker = await startWorker(serving.holdfast, [talk], { logger: quiet })
})
afterAll(async () => {
  for (const go of gates.values()) go()
  await worker.stop()
  await serving.end()
})

interface Seen {
  event: string
  id?: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sends is what the test looks at
  data: any
}

/** Reads a stream as a browser does; `seen` grows until it ends. */
function follow(id: string, lastEventId?: string, credential: Record<string, string> = { authorization: `Bearer ${adminKey}` }) {
  const stopper = new AbortController()
  const seen: Seen[] = []
  const run = async () => {
    const response = await fetch(`${serving.address}/jobs/${id}/stream`, {
      headers: { ...credential, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
      signal: stopper.signal,
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    let text = ''
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop() as string
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
        if (fields.event) seen.push({ ...fields, data: JSON.parse(fields.data) })
      }
    }
  }
  const ended = run().catch((error) => {
    if (!stopper.signal.aborted) throw error
  })
  return { seen, ended, stop: () => stopper.abort() }
}

const start = async (payload: object) => (await serving.holdfast.enqueue('talk', payload)).id
const release = (id: string) => eventually(() => gates.get(id)).then((go) => go())
const linesOf = (seen: Seen[]) => seen.filter(({ event }) => event === 'log').map(({ data }) => data.line)

describe('GET /jobs/:id/stream', () => {
  const reader = (service: string, expires?: string) =>
    serving.holdfast.access.createKey({ service, roles: ['viewer'], ...(expires ? { expires } : {}) }, { by: 'ada' })
  const isShown = (seen: Seen[]) => eventually(() => seen.some(({ event }) => event === 'status'))

  test('ends when its key is revoked, its session with the key, or what it needs is taken from its role; others go on', async () => {
    const id = await start({ lines: [] })
    const revoked = await reader('revoked')
    const session = await reader('session')
    const login = await serving.call('POST', '/session', { key: session.key }, null)
    const { access } = serving.holdfast
    await access.setRole('reader', ['jobs:read', 'workers:view'], { by: 'ada' })
    const narrowed = await access.createKey({ service: 'narrowed', roles: ['reader'] }, { by: 'ada' })
    const other = follow(id)
    const streams = [
      follow(id, undefined, { authorization: `Bearer ${revoked.key}` }),
      follow(id, undefined, { cookie: (login.headers.get('set-cookie') as string).split(';')[0] as string }),
      follow(id, undefined, { authorization: `Bearer ${narrowed.key}` }),
    ]
    for (const { seen } of [other, ...streams]) await isShown(seen)
    for (const key of [revoked, session]) await access.revokeKey(key.id, { by: 'ada' })
    await access.setRole('reader', ['workers:view'], { by: 'ada' })
    for (const { seen, ended } of streams) {
      await ended
      expect(seen.at(-1)).toEqual({ event: 'end', data: { code: 'unauthorized' } })
    }
    await release(id)
    await other.ended
    expect(other.seen.at(-1)).toEqual({ event: 'end', data: { status: 'completed' } })
  })

  test('ends when its key expires', async () => {
    const id = await start({ lines: [] })
    const { key } = await reader('brief', '3s')
    const { seen, ended } = follow(id, undefined, { authorization: `Bearer ${key}` })
    await isShown(seen)
    await ended
    expect(seen.at(-1)).toEqual({ event: 'end', data: { code: 'unauthorized' } })
    await release(id)
  })

  test('tells status, progress and lines as they come, and ends with the job', async () => {
    const id = await start({ lines: ['one', 'two'] })
    const { seen, ended } = follow(id)
    await eventually(
      () => seen.some(({ event }) => event === 'progress') && seen.filter(({ event }) => event === 'log').length === 2,
    )
    await release(id)
    await ended
    expect(seen.filter(({ event }) => event === 'status').at(-1)?.data).toEqual({ status: 'completed', attempt: 1 })
    expect(seen.find(({ event }) => event === 'progress')?.data).toMatchObject({ fraction: 0.5, note: 'half' })
    expect(linesOf(seen)).toEqual(['one', 'two', 'the last line'])
    expect(seen.at(-1)).toMatchObject({ event: 'end', data: { status: 'completed' } })
  })

  test('goes on after the last id the reader saw, without a gap and without a line twice', async () => {
    const id = await start({ lines: ['one', 'two', 'three'] })
    const first = follow(id)
    await eventually(() => first.seen.filter(({ event }) => event === 'log').length === 3)
    first.stop()
    const last = first.seen.filter(({ event }) => event === 'log')[1]?.id as string
    await release(id)
    const second = follow(id, last)
    await second.ended
    expect(linesOf(second.seen)).toEqual(['three', 'the last line'])
  })

  test('of a job that has ended tells everything at once, also of a dead one', async () => {
    const id = await start({ lines: ['one'], dies: true })
    await release(id)
    const { seen, ended } = follow(id)
    await ended
    expect(seen.at(-1)).toMatchObject({ event: 'end', data: { status: 'dead' } })
    expect(linesOf(seen)).toEqual(['one', 'the last line'])
  })

  test('refuses a Last-Event-ID that is none', async () => {
    const id = await start({ lines: [] })
    for (const bad of ['-1', '1e9', 'NaN', '..', '9'.repeat(300)]) {
      const response = await fetch(`${serving.address}/jobs/${id}/stream`, {
        headers: { authorization: `Bearer ${adminKey}`, 'last-event-id': bad },
      })
      expect(response.status).toBe(400)
    }
    await release(id)
  })

  test('and a wait end when the server closes, which does not wait for them', async () => {
    const id = await start({ lines: [] })
    const { seen, ended } = follow(id)
    await eventually(() => seen.length > 0)
    const waiting = serving.call('GET', `/jobs/${id}/wait?timeout=60s`)
    const begun = performance.now()
    await serving.goAway()
    await ended
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect(
      await waiting.then(
        (response) => response.status,
        () => 'cut off',
      ),
    ).toSatisfy((is) => is === 200 || is === 'cut off')
    await serving.comeBack()
    await release(id)
  })
})
