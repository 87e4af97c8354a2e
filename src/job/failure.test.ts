import { connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeFailure, encodeFailure, type Failure, showValue } from './failure.js'

const hostile = (): object =>
  new Proxy(
    {},
    {
      get: raise,
      has: raise,
      ownKeys: raise,
      getPrototypeOf: raise,
      getOwnPropertyDescriptor: raise,
    },
  )

function raise(): never {
  throw new Error('a trap')
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function expectStorable(failure: Failure): void {
  for (const text of Object.values(failure) as string[]) {
    expect(typeof text).toBe('string')
    expect(text).not.toMatch(/[\0\p{Surrogate}]/u)
  }
  expect(failure.name.length).toBeGreaterThan(0)
  expect(failure.name.length).toBeLessThanOrEqual(200)
  expect((failure.code ?? '').length).toBeLessThanOrEqual(200)
  expect(failure.message.length).toBeGreaterThan(0)
  expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(4096)
  expect(Buffer.byteLength(failure.stack ?? '')).toBeLessThanOrEqual(16_384)
  expect(JSON.parse(encodeFailure(failure))).toEqual(failure)
}

describe('describeFailure', () => {
  it('keeps name, message, stack and code of an error', () => {
    const error = Object.assign(new TypeError('no such host'), { code: 'ENOTFOUND' })
    const failure = describeFailure(error)
    expect(failure).toEqual({ name: 'TypeError', message: 'no such host', stack: error.stack, code: 'ENOTFOUND' })
    expectStorable(failure)
  })

  it.each([
    ['undefined', undefined, 'undefined was thrown instead of an error'],
    ['null', null, 'null was thrown instead of an error'],
    ['zero', 0, '0 was thrown instead of an error'],
    ['an empty string', '', '"" was thrown instead of an error'],
    ['a string', 'out of paper', 'out of paper'],
    ['a symbol', Symbol('s'), 'Symbol(s) was thrown instead of an error'],
    ['a bigint', 12n, '12n was thrown instead of an error'],
    ['a frozen object', Object.freeze({ status: 500 }), 'an object with status was thrown instead of an error'],
    ['an object with a message', { message: 'teapot', code: 418 }, 'teapot'],
    ['an object without prototype', Object.create(null), 'an object without keys was thrown instead of an error'],
    ['a Proxy whose traps throw', hostile(), 'an object that cannot be read was thrown instead of an error'],
    ['a revoked Proxy', revoked(), 'an object that cannot be read was thrown instead of an error'],
    ['an error without a message', new Error(), 'the error had no message'],
  ])('describes %s', (_what, thrown, message) => {
    const failure = describeFailure(thrown)
    expect(failure.message).toBe(message)
    expectStorable(failure)
  })

  it('takes a numeric code', () => {
    expect(describeFailure({ message: 'duplicate', code: 11_000 }).code).toBe('11000')
  })

  it('passes over getters that throw and fields of the wrong kind', () => {
    const error = new Error('first')
    for (const key of ['stack', 'name', 'message', 'code', 'cause', 'errors']) Object.defineProperty(error, key, { get: raise })
    expectStorable(describeFailure(error))
    const odd = Object.assign(new Error('odd'), { name: 7, stack: {}, code: {}, cause: 0n, errors: hostile() })
    expectStorable(describeFailure(odd))
    const proxied = new Proxy([1], { get: raise })
    expectStorable(describeFailure(Object.assign(new Error('odd'), { errors: proxied })))
  })

  it('tells three levels of causes, in the message and with their stacks', () => {
    const error = [1, 2, 3, 4].reduce((cause, n) => new Error(`level ${n}`, { cause }), new Error('root'))
    const { message, stack } = describeFailure(error)
    expect(message).toBe('level 4\ncaused by: Error: level 3\ncaused by: Error: level 2\ncaused by: Error: level 1')
    expect(stack).toContain('\ncaused by: Error: level 3\n    at ')
  })

  it('tells a cause that is no error, which has no stack', () => {
    const error = new Error('no mail sent', { cause: 'the server said 451' })
    expect(describeFailure(error)).toMatchObject({
      message: 'no mail sent\ncaused by: NonError: the server said 451',
      stack: error.stack,
    })
  })

  it('ends with causes that go in a circle', () => {
    const a = new Error('a')
    const b = new Error('b', { cause: a })
    a.cause = b
    expect(describeFailure(a).message).toBe('a\ncaused by: Error: b')
    const self = new Error('self')
    self.cause = self
    expect(describeFailure(self).message).toBe('self')
  })

  it('tells the first of many errors, as when no address of a host answers', () => {
    const errors = ['::1', '127.0.0.1', 'c', 'd', 'e'].map((to) =>
      Object.assign(new Error(`connect ${to}`), { code: 'ECONNREFUSED' }),
    )
    const { name, message } = describeFailure(new AggregateError(errors))
    expect(name).toBe('AggregateError')
    expect(message).toBe(
      '- Error: connect ::1 (ECONNREFUSED)\n- Error: connect 127.0.0.1 (ECONNREFUSED)\n- Error: connect c (ECONNREFUSED)\n- and 2 more',
    )
  })

  it('does not walk an error that holds a socket', () => {
    const socket = connect({ port: 1, host: '127.0.0.1' }).on('error', () => {})
    const failure = describeFailure(Object.assign(new Error('axios'), { request: socket, response: { socket }, config: process }))
    socket.destroy()
    expect(failure.message).toBe('axios')
    expect(Object.keys(failure)).toEqual(['name', 'message', 'stack'])
  })

  it('cuts a message of 50 MB, says how long it was, and keeps the frames of its stack', () => {
    const failure = describeFailure(new Error('x'.repeat(50_000_000)))
    expect(failure.message).toMatch(/^x+… \(50000000 characters\)$/)
    expect(failure.stack).toMatch(/^Error: x+… \(50000000 characters\)\n {4}at /)
    expectStorable(failure)
  })

  it('cuts a stack of 10 MB, a long name and a long code', () => {
    const error = Object.assign(new Error('x'), { name: 'n'.repeat(1e6), stack: '😀'.repeat(2.5e6), code: 'é'.repeat(1e6) })
    const failure = describeFailure(error)
    expect(failure.stack).toMatch(/^(😀)+… \(5000000 characters\)$/u)
    expect(failure.name).toMatch(/… \(1000000 characters\)$/)
    expectStorable(failure)
  })

  it('keeps the cause when the message is too long', () => {
    const failure = describeFailure(new Error('x'.repeat(1e6), { cause: new Error('y'.repeat(1e6)) }))
    expect(failure.message).toMatch(/^x+… \(1000000 characters\)\ncaused by: Error: y+… \(1000000 characters\)$/)
    expectStorable(failure)
  })

  it('replaces what jsonb refuses', () => {
    const failure = describeFailure(Object.assign(new Error('a\0b\ud800c'), { code: '\udfff' }))
    expect(failure.message).toBe('a\ufffdb\ufffdc')
    expect(failure.code).toBe('\ufffd')
    expectStorable(failure)
  })

  it('fits also when what replaces a character is longer than it', () => {
    expectStorable(describeFailure(new Error('\0'.repeat(4096))))
    expectStorable(describeFailure(new Error('\ud800'.repeat(100_000), { cause: '\0'.repeat(5000) })))
  })

  it('keeps a message as it is, with the space around it', () => {
    expect(describeFailure(new Error('  indented\n')).message).toBe('  indented\n')
  })

  it('keeps the stacks of the causes when its own is too long', () => {
    const error = Object.assign(new Error('x', { cause: new Error('the root') }), { stack: 's'.repeat(400_000_000) })
    const failure = describeFailure(error)
    expect(failure.stack).toMatch(/^s+… \(400000000 characters\)\ncaused by: Error: the root\n {4}at /)
    expectStorable(failure)
  })

  it('never throws and always fits, whatever is thrown', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 9000 }),
      fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
    )
    const field = fc.oneof(text, fc.anything({ withNullPrototype: true, withBigInt: true }))
    const errors = fc.record({
      name: field,
      message: field,
      stack: field,
      code: field,
      cause: field,
      errors: fc.oneof(field, fc.array(field)),
    })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          text,
          errors,
          errors.map((fields) => Object.assign(new Error('x'), fields)),
        ),
        (thrown) => expectStorable(describeFailure(thrown)),
      ),
    )
  })
})

describe('encodeFailure', () => {
  it('cuts and cleans a failure that came from elsewhere', () => {
    const stored = JSON.parse(encodeFailure({ name: 'E\0', message: 'm'.repeat(1e6), stack: '\ud800', code: 'c'.repeat(500) }))
    expectStorable(stored)
  })

  it('stores nothing but the four fields', () => {
    const failure = { name: 'E', message: 'm', password: 'secret' }
    expect(encodeFailure(failure)).toBe('{"name":"E","message":"m"}')
  })
})

describe('showValue', () => {
  it('stays short and never throws', () => {
    fc.assert(fc.property(fc.anything({ withBigInt: true }), (value) => showValue(value).length < 400))
    expect(showValue(hostile())).toBe('an object that cannot be read')
    expect(showValue(10n ** 1000n)).toBe('a very long bigint')
    expect(showValue(-0)).toBe('-0')
    expect(showValue({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 })).toBe('an object with a, b, c, d, e, …')
  })
})
