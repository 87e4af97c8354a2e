import { connect } from 'node:net'
import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { leak } from '../support/hostility.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

let serving: Serving
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'greet' })])
})
afterAll(() => serving.end())

const silly = [
  ...['1e9', '-1', 'NaN', '..', 'x'.repeat(300), '', '0', '1.5', '99999999999999999999'],
  ...["' or 1=1 --", '%00', 'null', '[]', 'Infinity', '0x10', '+1', ' 1'],
]

describe('limits, cursors and ids of every silly kind', () => {
  const places = [
    '/jobs/?',
    '/jobs/?/explain',
    '/jobs/?/wait',
    '/jobs/?/stream',
    '/admin/dlq/?',
    '/jobs?limit=?',
    '/events?after=?',
    '/events?kind=?',
    '/jobs?cursor=?',
    '/jobs?status=?',
    '/jobs?lane=?',
    '/jobs?created_after=?',
    '/jobs?created_before=?',
    '/admin/dlq?limit=?',
    '/admin/dlq?cursor=?',
    '/admin/dlq?reason=?',
    '/admin/dlq?died_from=?',
    '/admin/audit?limit=?',
    '/admin/audit?cursor=?',
    '/autoscale?target=?',
    '/autoscale?concurrency=?',
    '/jobs?offset=?',
  ]

  test.each(places)('are 4xx in %s', async (place) => {
    for (const value of silly) {
      // A 0 is a cursor of the log like any other, before which there is nothing.
      if (place === '/admin/audit?cursor=?' && value === '0') continue
      const encoded = value === '%00' ? value : encodeURIComponent(value)
      const path = place.includes('=') ? place.replace('=?', `=${encoded}`) : place.replace('?', encoded)
      const response = await serving.app().inject({ url: path, headers: { authorization: `Bearer ${adminKey}` } })
      // What is nothing at all, or goes up, is another path and not hostile.
      if ((value === '' || value === '..') && place.endsWith('/?')) continue
      expect(response.statusCode, `${path}: ${response.body}`).toBeGreaterThanOrEqual(400)
      expect(response.statusCode, `${path}: ${response.body}`).toBeLessThan(500)
      expect(JSON.parse(response.body)).toHaveProperty('code')
    }
  })
})

test('what is not HTTP, half of it, or far too much of it is refused or cut off, and the server goes on', async () => {
  const { port } = new URL(serving.address)
  // Whoever hangs up after its last word may miss the answer.
  const say = (text: string | Buffer, hangUp = true) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', () => (hangUp ? socket.end(text) : socket.write(text)))
      socket.on('data', (data) => {
        answer += data
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(answer))
    })
  const key = `Authorization: Bearer ${adminKey}\r\n`
  const json = 'Content-Type: application/json\r\n'
  for (const text of [
    'nonsense\r\n\r\n',
    'GET /jobs HTTP/9.9\r\n\r\n',
    'GET /jobs HTTP/1.1\r\n\r\n',
    `GET /jobs HTTP/1.1\r\nHost: x\r\n${'X-Header: y\r\n'.repeat(3_000)}\r\n`,
    `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /jobs/%00%ff HTTP/1.1\r\nHost: x\r\n${key}\r\n`,
    `POST /jobs HTTP/1.1\r\nHost: x\r\n${key}${json}Content-Length: -5\r\n\r\n{}`,
    `POST /jobs HTTP/1.1\r\nHost: x\r\n${key}${json}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /jobs HTTP/1.1\r\nHost: x\r\n${key}${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `POST /jobs HTTP/1.1\r\nHost: x\r\n${key}${json}Content-Length: 1000\r\n\r\n{"type":"gr`,
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
  ]) {
    const answer = await say(text)
    expect(answer, String(text).slice(0, 60)).toMatch(/^$|^HTTP\/1\.1 4\d\d /)
    if (answer !== '') expect(answer, String(text).slice(0, 60)).toMatch(/content-type: application\/problem\+json/i)
    expect(answer).not.toMatch(leak)
  }
  expect(await say('GET /jobs HTTP/1.1\r\nConnection: close\r\n\r\n', false)).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*"code":"invalid_request".*the header Host is missing/,
  )
  expect(await say('GET /healthz HTTP/1.0\r\n\r\n', false)).toMatch(/^HTTP\/1\.1 200 /)
  expect((await serving.call('POST', '/jobs', { type: 'greet', payload: {} })).status).toBe(201)
})
