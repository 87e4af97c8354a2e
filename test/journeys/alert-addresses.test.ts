import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { Holdfast } from 'holdfast'
import { describe, expect, test, vi } from 'vitest'
import { call } from '../../src/alerts/post.js'
import { startReceiver } from '../support/receiver.js'

const who = { by: 'ada' }

describe('a target', () => {
  test.each([
    ['http://hooks.example.com/', 'is not https'],
    ['https://127.0.0.1/', 'a private address'],
    ['https://2130706433/', 'a private address'],
    ['https://0x7f.1/', 'a private address'],
    ['https://[::ffff:169.254.169.254]/', 'a private address'],
    ['https://[fd00::1]/', 'a private address'],
    ['https://ada:secret@hooks.example.com/', 'has a user name or password'],
    ['ftp://hooks.example.com/', 'webhooks are sent by https'],
    ['hooks.example.com', 'must be an address'],
    [`https://hooks.example.com/${'x'.repeat(2_000)}`, 'must be an address of at most 2000'],
  ])('cannot be %s', async (url, problem) => {
    const holdfast = new Holdfast({ connectionString: 'postgres://nobody@127.0.0.1:1/nothing' })
    await expect(holdfast.alerts.addTarget({ url }, who)).rejects.toThrow(problem)
    await holdfast.close()
  })

  test('is allowed by the name of its host: anything else in the configuration is refused', () => {
    const options = { connectionString: 'postgres://nobody@127.0.0.1:1/nothing' }
    expect(() => new Holdfast({ ...options, alertHosts: ['https://alerts.internal/'] })).toThrow(
      'alertHosts must be a list of hosts',
    )
  })
})

test('a call goes to the address that was checked, though the name stands for another one a moment later', async () => {
  const checked = await startReceiver()
  const other = await startReceiver(undefined, { host: '127.0.0.2', port: checked.port })
  let asked = 0
  const { lookup } = dns.promises
  // Whoever asks again is sent elsewhere, whichever way it asks.
  const answer = () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
  const rebinding = vi
    .spyOn(dns, 'lookup')
    .mockImplementation(((_name: string, _options: object, found: (...rest: unknown[]) => void) =>
      found(null, answer())) as never)
  const promised = vi
    .spyOn(dns.promises, 'lookup')
    .mockImplementation(((name: string, options: object) =>
      name === 'rebinding.test' ? answer() : lookup(name, options)) as never)
  syncBuiltinESMExports()
  try {
    const place = { url: new URL(`http://rebinding.test:${checked.port}/hook`), allowed: true }
    await call(place, '{}', {}, new AbortController().signal)
  } finally {
    rebinding.mockRestore()
    promised.mockRestore()
    syncBuiltinESMExports()
  }
  expect({ asked, checked: checked.received.length, other: other.connections() }).toEqual({ asked: 1, checked: 1, other: 0 })
})
