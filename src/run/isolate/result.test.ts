import { describe, expect, it } from 'vitest'
import { FatalError } from '../../errors.js'
import { Snooze } from '../../job/run-context.js'
import { checkResult, maxResultBytes } from './result.js'

describe('what a handler returns from a thread or process', () => {
  it.each([undefined, null, 0, 'text', { deep: [{ a: 1 }] }, new Date(0), 'x'.repeat(maxResultBytes)])(
    'may be JSON up to a megabyte',
    (result) => {
      expect(checkResult(result)).toBe(result)
    },
  )

  it('may be a snooze', () => {
    const snooze = new Snooze(5)
    expect(checkResult(snooze)).toBe(snooze)
  })

  it('is refused for good where it is larger, without being copied first', () => {
    const huge = [
      'x'.repeat(maxResultBytes + 1),
      Array(200_000).fill('texts'),
      { deep: { deeper: 'x'.repeat(2_000_000) } },
      Buffer.alloc(2_000_000),
      new Float64Array(1_000_000),
    ]
    for (const result of huge) expect(() => checkResult(result)).toThrow(FatalError)
  })

  it('is refused for good where JSON cannot hold it', () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    for (const result of [circular, { big: 10n }]) expect(() => checkResult(result)).toThrow(/what JSON cannot hold/)
  })
})
