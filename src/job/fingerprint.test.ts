import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintOf, ownFrame, shapeOf } from './fingerprint.js'

const word = fc.stringMatching(/^[a-z]{1,12}$/)
/** What two jobs of one type differ in. */
const different = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((one) => one.toFixed(2)),
  fc.uuid(),
  fc.ipV4(),
  fc.date({ noInvalidDate: true, min: new Date('2000-01-01'), max: new Date('2100-01-01') }).map((one) => one.toISOString()),
)

test('errors that differ in numbers, ids, addresses and times are one', () => {
  const sentence = fc.tuple(word, different, different, word)
  fc.assert(
    fc.property(sentence, ([before, one, other, after]) => {
      const message = (value: unknown) => `${before} ${value} ${after}`
      const kind = (value: unknown) =>
        /^[0-9a-f-]{36}$/.test(String(value)) ? 'id' : /T.*Z$/.test(String(value)) ? 'time' : 'number'
      fc.pre(kind(one) === kind(other))
      expect(shapeOf(message(one))).toBe(shapeOf(message(other)))
    }),
  )
})

test.each([
  ['order 17 of "Ada" not found', 'order 4711 of "Grace Hopper" not found'],
  ["Cannot read properties of undefined (reading 'rows')", "Cannot read properties of undefined (reading 'cells')"],
  ["ENOENT: no such file or directory, open '/tmp/a/b.csv'", "ENOENT: no such file or directory, open '/var/lib/c.csv'"],
  ['no such file: /tmp/a/b.csv', 'no such file: /var/lib/x/c.csv'],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED 192.168.10.1:6432'],
  ['blob 0xdeadbeef is gone', 'blob 0xc0ffee is gone'],
  ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit 1a2b3c4d5e6f'],
  ['GET https://example.com/a?b=1 failed', 'GET https://example.org/c failed'],
  ['mail to ada@example.com bounced', 'mail to grace@example.org bounced'],
])('%s and %s are one', (one, other) => {
  expect(shapeOf(one)).toBe(shapeOf(other))
})

test('other words, another name or another place in the code are another', () => {
  const failure = { name: 'Error', message: 'the card was declined', stack: 'Error: x\n    at charge (/app/v1/charge.js:10:3)' }
  const same = { ...failure, stack: 'Error: x\n    at charge (/srv/release-7/charge.js:12:9)' }
  expect(fingerprintOf(same)).toBe(fingerprintOf(failure))
  expect(fingerprintOf(failure)).toMatch(/^[0-9a-f]{16}$/)
  const others = [
    { ...failure, message: 'the card was stolen' },
    { ...failure, name: 'TypeError' },
    { ...failure, stack: 'Error: x\n    at refund (/app/v1/charge.js:10:3)' },
  ]
  expect(new Set([failure, ...others].map(fingerprintOf)).size).toBe(4)
})

test('the place is the innermost in the code of the handler', () => {
  const stack = [
    'Error: boom',
    '    at Socket.emit (node:events:518:28)',
    '    at Client.query (/app/node_modules/pg/lib/client.js:10:1)',
    '    at async chargeCard (file:///app/src/charge.ts:3:9)',
    '    at run (/app/src/main.ts:1:1)',
  ].join('\n')
  expect(ownFrame(stack)).toBe('async chargeCard charge.ts')
  expect(ownFrame('')).toBe('')
})

test('any text has a shape, soon', () => {
  const anyText = fc.array(fc.nat(0xffff), { maxLength: 200 }).map((units) => String.fromCharCode(...units))
  fc.assert(fc.property(anyText, (text) => shapeOf(text).length <= 20_000))
  for (const hostile of ["'".repeat(4_096), '/'.repeat(4_096), 'a@'.repeat(2_048), '1-'.repeat(2_048), 'a:'.repeat(2_048)]) {
    const begun = performance.now()
    shapeOf(hostile)
    expect(performance.now() - begun).toBeLessThan(5_000)
  }
})
