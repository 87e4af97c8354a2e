import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.js'
import type { Failure } from './failure.js'
import { type Backoff, type BackoffOption, defaultBackoff, readBackoff, retryDelay } from './retry.js'

const failure: Failure = { name: 'Error', message: 'no route to host' }
const half = () => 0.5

function refusal(option: unknown): HoldfastError {
  try {
    readBackoff(option as BackoffOption)
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError)
    return error as HoldfastError
  }
  throw new Error('it was accepted')
}

describe('readBackoff', () => {
  it('is 30 s, doubled up to an hour, with up to 15 s of jitter, when nothing is said', () => {
    expect(readBackoff(undefined)).toEqual({ base: 30_000, factor: 2, cap: 3_600_000, jitter: 15_000 })
    expect(readBackoff({})).toEqual(defaultBackoff)
  })

  it('takes durations and leaves the rest as it is by default', () => {
    expect(readBackoff({ base: '1s', cap: '10m', jitter: 0 })).toEqual({ base: 1000, factor: 2, cap: 600_000, jitter: 0 })
  })

  it('adds a jitter of half the base where only that is given, and never more than 15 s', () => {
    expect(readBackoff({ base: '1s' })).toMatchObject({ base: 1000, jitter: 500 })
    expect(readBackoff({ base: '10m' })).toMatchObject({ base: 600_000, jitter: 15_000 })
    expect(readBackoff({ base: 0 })).toMatchObject({ base: 0, jitter: 0 })
  })

  it('takes a function as it is', () => {
    const custom = () => '5m'
    expect(readBackoff(custom)).toBe(custom)
  })

  it.each([
    [{ base: -1 }, 'backoff.base', 'cannot be negative'],
    [{ base: Number.NaN }, 'backoff.base', 'NaN'],
    [{ base: '5 parsecs' }, 'backoff.base', '"5 parsecs"'],
    [{ jitter: '31d' }, 'backoff.jitter', 'more than 30 days'],
    [{ cap: '31d' }, 'backoff.cap', 'more than 30 days'],
    [{ factor: 0.5 }, 'backoff.factor', 'from 1'],
    [{ factor: Number.NaN }, 'backoff.factor', 'NaN'],
    [{ factor: Number.POSITIVE_INFINITY }, 'backoff.factor', 'Infinity'],
    [{ factor: '2' }, 'backoff.factor', '"2"'],
    [{ base: '2h' }, 'backoff.cap', 'is 1h (the default), less than backoff.base, which is 2h; set both'],
    [{ cap: '10s' }, 'backoff.cap', 'is 10s, less than backoff.base, which is 30s (the default); set both'],
    [{ bse: '10s' }, 'backoff.bse', 'is not known (did you mean "base"?)'],
    ['30s', 'backoff', 'is "30s"; give an object'],
    [null, 'backoff', 'is null'],
    [[1, 2], 'backoff', 'is an array of 2'],
  ])('refuses %j and names the field', (option, field, sentence) => {
    const error = refusal(option)
    expect(error.code).toBe('invalid_option')
    expect(error.field).toBe(field)
    expect(error.message).toContain(sentence)
  })
})

describe('retryDelay', () => {
  it('doubles from 30 s up to an hour', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 20].map(
      (attempt) => retryDelay(attempt, defaultBackoff, failure, () => 0).delay / 1000,
    )
    expect(delays).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
  })

  it('adds the jitter on top of the cap, so that late attempts are pulled apart too', () => {
    expect(retryDelay(20, defaultBackoff, failure, half)).toEqual({ delay: 3_607_500 })
  })

  it('is a whole number between the delay and the delay plus jitter, for every backoff that is accepted', () => {
    const day = 86_400_000
    const accepted: fc.Arbitrary<Backoff> = fc
      .record({
        base: fc.nat(30 * day),
        factor: fc.double({ min: 1, max: Number.MAX_VALUE, noNaN: true }),
        more: fc.nat(30 * day),
        jitter: fc.nat(30 * day),
      })
      .map(({ base, factor, more, jitter }) => ({ base, factor, cap: Math.min(30 * day, base + more), jitter }))
    const attempts = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1 }), fc.constantFrom(0, -3, Number.MAX_VALUE))
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(accepted, attempts, random, (backoff, attempt, chance) => {
        expect(readBackoff(backoff)).toEqual(backoff)
        const { delay, fellBack } = retryDelay(attempt, backoff, failure, () => chance)
        expect(fellBack).toBeUndefined()
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(backoff.base)
        expect(delay).toBeLessThanOrEqual(backoff.cap + backoff.jitter)
      }),
    )
  })

  it('asks a custom function, with the attempt and the failure, and adds nothing to its answer', () => {
    const asked: unknown[] = []
    const custom = (attempt: number, error: Failure) => {
      asked.push(attempt, error)
      return '90s'
    }
    expect(retryDelay(3, custom, failure, half)).toEqual({ delay: 90_000 })
    expect(asked).toEqual([3, failure])
  })

  it('does not let a custom function change what is stored about the failure', () => {
    const careless = (_attempt: number, error: Failure) => {
      error.message = 'changed'
      return 1000
    }
    expect(retryDelay(1, careless, failure, half)).toEqual({ delay: 1000 })
    expect(failure.message).toBe('no route to host')
  })

  it.each([
    ['throws', () => raise(new Error('typo')), 'the backoff function threw: typo'],
    ['throws nothing', () => raise(undefined), 'the backoff function threw: undefined'],
    ['answers nothing', () => undefined, 'is undefined'],
    ['answers NaN', () => Number.NaN, 'is NaN'],
    ['answers Infinity', () => Number.POSITIVE_INFINITY, 'longer than 100 years'],
    ['answers a negative number', () => -5, 'cannot be negative'],
    ['answers a year', () => '365d', 'more than 30 days'],
    ['answers a promise', async () => '5m', 'is an object without keys'],
    ['answers a promise that fails', async () => raise(new Error('late')), 'is an object without keys'],
  ])('falls back to the default and says why when a custom function %s', async (_what, custom, reason) => {
    const { delay, fellBack } = retryDelay(2, custom as () => string, failure, half)
    expect(delay).toBe(67_500)
    expect(fellBack).toContain(reason)
    // An unhandled rejection would be reported between two turns of the loop, and fail this run.
    await new Promise(setImmediate)
  })
})

function raise(thrown: unknown): never {
  throw thrown
}
