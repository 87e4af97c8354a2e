import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import { ClaimTime, Prefetch } from './prefetch.js'

/** Handlers of 10 ms, in claims that take so long. */
function prefetchOf(claimMs: number): Prefetch {
  const claimTime = new ClaimTime()
  for (let n = 0; n < 100; n++) claimTime.took(claimMs)
  const prefetch = new Prefetch(claimTime)
  prefetch.took(10)
  return prefetch
}

test.each([
  ['two slots get done in 50 ms', 3, 10],
  ['they get done within four claims, where these are slow', 52, 41],
  ['they get done in 400 ms, where these are slower still', 1_000, 80],
])('as much is prefetched as %s', (_, claimMs, jobs) => {
  expect(prefetchOf(claimMs).jobs(2)).toBe(jobs)
})

test('nothing is prefetched before a handler was measured, and less where handlers are expected to take longer', () => {
  expect(new Prefetch(new ClaimTime()).jobs(2)).toBe(0)
  const prefetch = prefetchOf(3)
  prefetch.expect(1_000)
  expect(prefetch.jobs(2)).toBe(0)
})

test.each(['gated', 'rated'] as const)(
  'after a %s job slow claims are no reason to prefetch more, because it counts as running',
  (kind) => {
    const prefetch = prefetchOf(1_000)
    prefetch.came([{}, { [kind]: true }] as unknown as ClaimedJob[])
    expect(prefetch.jobs(2)).toBe(10)
  },
)

test('how many jobs of a key run in a row does not depend on the claims', () => {
  expect([prefetchOf(3).inARow, prefetchOf(1_000).inARow]).toEqual([5, 5])
})
