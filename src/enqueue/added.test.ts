import { describe, expect, it } from 'vitest'
import { Added } from './added.js'

describe('what a process has added since the last count', () => {
  it('is the jobs added after the count was made', () => {
    const added = new Added()
    added.add(3, 0)
    added.add(4, 100)
    added.add(5, 200)
    added.countedAt(100)
    expect(added.jobs).toBe(9)
    added.countedAt(1_000)
    expect(added.jobs).toBe(0)
  })

  it('stays small and exact through a million transactions that nobody counts', () => {
    const added = new Added()
    for (let at = 0; at < 1_000_000; at++) added.add(1, at * 25)
    expect(added.jobs).toBe(1_000_000)
    expect(added.entries).toBeLessThanOrEqual(500)
  })

  it('is not taken for counted before its latest job was', () => {
    const added = new Added()
    for (let at = 0; at < 2_000; at++) added.add(1, at * 25)
    added.countedAt(1_000 * 25)
    expect(added.jobs).toBeGreaterThanOrEqual(1_000)
    expect(added.jobs).toBeLessThan(1_100)
  })
})
