import { describe, expect, test } from 'vitest'
import { MessageReader, startupParameter, statementIn } from './messages.mjs'

function message(type, body) {
  const bytes = Buffer.alloc(5 + body.length)
  bytes.write(type)
  bytes.writeInt32BE(4 + body.length, 1)
  Buffer.from(body).copy(bytes, 5)
  return bytes
}
function untyped(code, body = '') {
  const bytes = Buffer.alloc(8 + body.length)
  bytes.writeInt32BE(bytes.length, 0)
  bytes.writeInt32BE(code, 4)
  bytes.write(body, 8)
  return bytes
}
const startup = untyped(196608, 'user\0ada\0application_name\0holdfast listener\0\0')
const parse = message('P', 'holdfast claimJobs\0-- claimJobs\nselect 1\0\0\0')
const bind = message('B', '\0holdfast claimJobs\0\0\0\0\0\0\0')
const types = (messages) => messages.map(({ type }) => type)

describe('the messages of a client', () => {
  test('are told apart, also when they come in pieces or together', () => {
    const stream = Buffer.concat([
      untyped(80877103),
      startup,
      parse,
      bind,
      message('D', 'P\0'),
      message('E', '\0\0\0\0\0'),
      message('S', ''),
    ])
    const expected = ['SSLRequest', 'Startup', 'Parse', 'Bind', 'Describe', 'Execute', 'Sync']
    expect(types([...new MessageReader('frontend').read(stream)])).toEqual(expected)
    const reader = new MessageReader('frontend')
    const pieces = Array.from(stream, (byte) => [...reader.read(Buffer.from([byte]))]).flat()
    expect(types(pieces)).toEqual(expected)
    expect(Buffer.concat(pieces.map(({ bytes }) => bytes))).toEqual(stream)
  })

  test('name the statement they prepare or use', () => {
    expect(statementIn({ type: 'Parse', bytes: parse })).toEqual({ name: 'holdfast claimJobs', text: '-- claimJobs\nselect 1' })
    expect(statementIn({ type: 'Bind', bytes: bind })).toEqual({ name: 'holdfast claimJobs' })
    expect(statementIn({ type: 'Query', bytes: message('Q', 'commit\0') })).toEqual({ name: '', text: 'commit' })
    expect(startupParameter(startup, 'application_name')).toBe('holdfast listener')
  })
})

test('the answers of a server are told apart, after the single byte that answers a wish for encryption', () => {
  const reader = new MessageReader('backend')
  reader.expectSingleByte()
  const stream = Buffer.concat([Buffer.from('N'), message('R', '\0\0\0\0'), message('1', ''), message('Z', 'I')])
  expect(types([...reader.read(stream)])).toEqual(['EncryptionAnswer', 'Authentication', 'ParseComplete', 'ReadyForQuery'])
})
