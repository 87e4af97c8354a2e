import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.js'
import { formatDuration, toMilliseconds } from './duration.js'

function refusal(value: unknown): HoldfastError {
  try {
    toMilliseconds(value, 'timeout')
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError)
    return error as HoldfastError
  }
  throw new Error('it was accepted')
}

describe('toMilliseconds', () => {
  it.each([
    [0, 0],
    [1500, 1500],
    ['200ms', 200],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['0.57s', 570],
    ['3 days', 259_200_000],
    ['1 day', 86_400_000],
    ['5 minutes', 300_000],
    ['1 hour 30 minutes', 5_400_000],
    ['1.5 hours', 5_400_000],
    ['1 min 30 sec', 90_000],
    ['1 second 5 milliseconds', 1_005],
    ['2 h 5 ms', 7_200_005],
    ['1hour30minutes', 5_400_000],
    ['0s', 0],
    [0.6, 1],
  ])('reads %j as %d', (value, ms) => {
    expect(toMilliseconds(value, 'timeout')).toBe(ms)
  })

  it('gives a plain zero for a negative zero', () => {
    expect(Object.is(toMilliseconds(-0, 'timeout'), 0)).toBe(true)
  })

  it.each([
    [-1, 'timeout is -1, but a duration cannot be negative'],
    [Number.NaN, 'timeout is NaN; write a number of milliseconds or a text such as "200ms"'],
    [Number.POSITIVE_INFINITY, 'timeout is Infinity, which is longer than 100 years'],
    [1e300, 'timeout is 1e+300, which is longer than 100 years'],
    ['', 'timeout is ""; write'],
    [' ', 'timeout is " "; write'],
    ['30', 'timeout is "30", which has no unit; write "30ms", "30s" or "30m"'],
    ['three days', 'timeout is "three days"; write'],
    ['3  days', 'timeout is "3  days"; write'],
    ['3 Days', 'timeout is "3 Days"; write'],
    ['2 months', 'timeout is "2 months"; write'],
    ['30 minutes 1 hour', 'timeout is "30 minutes 1 hour"; write'],
    ['1 day 1 days', 'timeout is "1 day 1 days"; write'],
    [' 5m', 'timeout is " 5m"; write'],
    ['5M', 'timeout is "5M"; write'],
    ['-5m', 'timeout is "-5m"; write'],
    ['5m5m', 'timeout is "5m5m"; write'],
    ['30m1h', 'timeout is "30m1h"; write'],
    ['5m\n', 'timeout is "5m\\n"; write'],
    ['1e3s', 'timeout is "1e3s"; write'],
    ['.5h', 'timeout is ".5h"; write'],
    [5n, 'timeout is 5n; write'],
    [null, 'timeout is null; write'],
    [undefined, 'timeout is undefined; write'],
    [{}, 'timeout is an object without keys; write'],
    [Symbol('x'), 'timeout is Symbol(x); write'],
  ])('refuses %s and says what would be right', (value, sentence) => {
    const error = refusal(value)
    expect(error.code).toBe('invalid_option')
    expect(error.field).toBe('timeout')
    expect(error.message).toContain(sentence)
  })

  it('answers at once for a very long text', () => {
    const error = refusal(`${'9'.repeat(5_000_000)}s`)
    expect(error.message.length).toBeLessThan(400)
  })

  it('never lets anything through but whole milliseconds from zero up', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true }), (value) => {
        let ms: number
        try {
          ms = toMilliseconds(value, 'delay')
        } catch (error) {
          expect(error).toBeInstanceOf(HoldfastError)
          return
        }
        expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true)
      }),
    )
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [200, '200ms'],
    [30_000, '30s'],
    [5_400_000, '1h 30m'],
    [93_784_005, '1d 2h 3m 4s 5ms'],
    [-1500, '-1s 500ms'],
    [Number.NaN, 'NaN'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it('is read back as exactly the same duration', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 36_525 * 86_400_000 }), (ms) => {
        expect(toMilliseconds(formatDuration(ms), 'delay')).toBe(ms)
      }),
    )
  })
})
