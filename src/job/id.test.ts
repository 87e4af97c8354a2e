import fc from 'fast-check'
import { beforeEach, describe, expect, it, vi } from 'vitest'

// Ids of one process only increase, so a test that moves the time forward would move it for all tests: each loads its own.
let ids: typeof import('./id.js')
beforeEach(async () => {
  vi.resetModules()
  ids = await import('./id.js')
})

describe('a job id', () => {
  it('is a UUID of version 7 that tells its time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.integer({ min: 1, max: 50 }), (time, count) => {
        for (let n = 0; n < count; n++) expect(ids.isJobId(ids.newJobId(time))).toBe(true)
      }),
    )
  })

  it('tells exactly the millisecond it was made in', () => {
    for (const time of [0, 1, 4096, 1_700_000_000_000, 1_700_000_000_001.9, 2 ** 48 - 1]) {
      expect(ids.timeOfJobId(ids.newJobId(time))).toBe(Math.floor(time))
    }
  })

  it('takes the clock when no time is given', () => {
    const before = Date.now()
    const time = ids.timeOfJobId(ids.newJobId())
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(Date.now())
  })

  it('is greater than every id made before it in this process, whatever the clock does', () => {
    const clock = fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 300 })
    let last = ''
    fc.assert(
      fc.property(clock, (steps) => {
        let now = 1_700_000_000_000
        for (const step of steps) {
          now += step
          const id = ids.newJobId(now)
          expect(id > last).toBe(true)
          last = id
        }
      }),
    )
  })

  it('borrows the next millisecond when the counter of this one has come to its end', async () => {
    // Random bytes that make the counter start as high as it can, 2 ** 20 steps below its end.
    const highest = Buffer.from('000003efffff', 'hex')
    vi.doMock('node:crypto', () => ({ randomFillSync: (bytes: Buffer) => bytes.fill(highest) }))
    vi.resetModules()
    const full = await import('./id.js')
    vi.doUnmock('node:crypto')
    const time = 1_700_000_000_000
    let last = ''
    for (let n = 0; n < 2 ** 20 + 10; n++) {
      const id = full.newJobId(time)
      if (id <= last || full.timeOfJobId(id) > time !== n > 2 ** 20) throw new Error(`${id} came after ${last}, as number ${n}`)
      last = id
    }
    expect(full.timeOfJobId(last)).toBe(time + 1)
  })

  it('is never made twice', () => {
    const made = new Set<string>()
    for (let n = 0; n < 200_000; n++) made.add(ids.newJobId())
    expect(made.size).toBe(200_000)
  })

  it('differs between two processes that make one in the same millisecond', async () => {
    vi.resetModules()
    const other = await import('./id.js')
    const here = Array.from({ length: 2000 }, () => ids.newJobId(1_700_000_000_000))
    const there = Array.from({ length: 2000 }, () => other.newJobId(1_700_000_000_000))
    expect(new Set([...here, ...there]).size).toBe(4000)
  })

  it('is refused for a time that no UUIDv7 can hold', () => {
    for (const time of [Number.NaN, -1, Number.POSITIVE_INFINITY, 2 ** 48]) {
      expect(() => ids.newJobId(time)).toThrow(/milliseconds since 1970/)
    }
    expect(ids.isJobId(ids.newJobId())).toBe(true)
  })
})

describe('isJobId', () => {
  it('takes either case', () => {
    expect(ids.isJobId('018F0C5E-7B1A-7CCC-8DDD-0123456789AB')).toBe(true)
    expect(ids.timeOfJobId('018F0C5E-7B1A-7CCC-8DDD-0123456789AB')).toBe(0x018f0c5e7b1a)
  })

  it.each([
    ['version 4', '018f0c5e-7b1a-4ccc-8ddd-0123456789ab'],
    ['a variant that is none', '018f0c5e-7b1a-7ccc-0ddd-0123456789ab'],
    ['no dashes', '018f0c5e7b1a7ccc8ddd0123456789ab'],
    ['braces', '{018f0c5e-7b1a-7ccc-8ddd-0123456789ab}'],
    ['a line end behind it', '018f0c5e-7b1a-7ccc-8ddd-0123456789ab\n'],
    ['nothing', ''],
  ])('refuses %s', (_what, text) => {
    expect(ids.isJobId(text)).toBe(false)
    expect(() => ids.timeOfJobId(text)).toThrow(/UUID of version 7/)
  })

  it('refuses what is no text', () => {
    expect(ids.isJobId(['018f0c5e-7b1a-7ccc-8ddd-0123456789ab'] as unknown as string)).toBe(false)
    expect(ids.isJobId(undefined as unknown as string)).toBe(false)
  })
})
