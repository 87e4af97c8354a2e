import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

let serving: Serving
let job: string
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'slow' })])
  job = await slow()
})
afterAll(() => serving.end())

const slow = async () => (await serving.holdfast.enqueue('slow', {}, { delay: '1h' })).id
const says = (id: string, lines: number) =>
  serving.sql.query(
    `insert into holdfast.log_lines (job_id, attempt, at, level, line)
     select $1, 1, now(), 'info', repeat('x', 4000) from generate_series(1, $2)`,
    [id, lines],
  )
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\n\r\n`

/** A server of its own, whose connections are counted, and sockets to it that are closed with the test. */
async function another() {
  const server = createServer(serving.holdfast, { adminKey, logger: quiet })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  const sockets: Socket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await server.close()
  })
  const open = async (text: string) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  const count = () =>
    new Promise<number>((resolve, reject) => server.server.getConnections((no, n) => (no ? reject(no) : resolve(n))))
  return { server, address, open, count }
}

/** Far more than a close may take on a busy machine, and less than the minute for which an idle connection is kept. */
const soon = async (what: Promise<unknown>) =>
  expect(await Promise.race([what.then(() => 'closed'), pause(20_000, 'hangs')])).toBe('closed')

describe('a server that closes', () => {
  test('ends the streams nobody reads, and those whose reader has gone, and leaves no connection', async () => {
    const { server, address, open, count } = await another()
    const headers = { authorization: `Bearer ${adminKey}` }
    // Kept, or the answer might be collected, and its connection with it.
    const unread = await fetch(`${address}/jobs/${job}/stream`, { headers })
    const gone = new AbortController()
    await fetch(`${address}/jobs/${job}/stream`, { headers, signal: gone.signal })
    const raw = await open(get(`/jobs/${job}/stream`))
    await once(raw, 'readable')
    gone.abort()
    await soon(server.close())
    expect(await count()).toBe(0)
    expect(unread.status).toBe(200)
  })

  test('cuts off a stream whose reader has left so much unread that its end does not reach it', async () => {
    const { server, open, count } = await another()
    const talkative = await slow()
    const accepted = once(server.server, 'connection')
    const socket = await open(get(`/jobs/${talkative}/stream`))
    socket.pause()
    const [kept] = (await accepted) as [Socket]
    // Until the two ends of the connection hold as much as they can, and the server has the rest: less than it cuts off for.
    for (let bytes = 600_000; kept.writableLength === 0; bytes += 600_000) {
      await says(talkative, 150)
      await eventually(() => kept.bytesWritten >= bytes)
    }
    await soon(server.close())
    expect(await count()).toBe(0)
  })

  test('ends what was asked for while it began to close', async () => {
    const { server, open, count } = await another()
    const paths = ['stream', 'wait?timeout=60s'].flatMap((what) => Array(20).fill(`/jobs/${job}/${what}`))
    const begun = new Promise<void>((resolve) => server.server.once('request', () => resolve()))
    const asked = Promise.all(paths.map((path) => open(get(path))))
    await begun
    await soon(server.close())
    await asked
    expect(await count()).toBe(0)
  })

  test('answers those who wait, and keeps none of their connections', async () => {
    const { server, open, count } = await another()
    const waiting = await Promise.all(Array.from({ length: 3 }, () => open(get(`/jobs/${job}/wait?timeout=60s`))))
    let said = ''
    for (const socket of waiting) {
      socket.on('data', (data) => {
        said += data
      })
    }
    await eventually(async () => (await count()) === 3)
    await soon(server.close())
    expect(await count()).toBe(0)
    expect(said.match(/HTTP\/1\.1 (200|503)/g)).toHaveLength(3)
  })

  test('cuts off who says nothing, or half of what it wants', async () => {
    const { server, open, count } = await another()
    await open('')
    await open('GET /jobs HTTP/1.1\r\nHost')
    await open(
      `POST /jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    )
    await eventually(async () => (await count()) === 3)
    await soon(server.close())
    expect(await count()).toBe(0)
  })
})

test('a stream is cut off before what its reader leaves unread fills the memory', async () => {
  const { open, count } = await another()
  const talkative = await slow()
  // 32 MB: more than the two ends of a connection hold.
  await says(talkative, 8_000)
  const socket = await open(get(`/jobs/${talkative}/stream`))
  socket.pause()
  await eventually(async () => (await count()) === 0)
})
