import { expect, test } from 'vitest'
import { fineBucketOf, fineShare } from '../job/fine-buckets.js'
import { type AttemptCounts, type CanaryFacts, canaryVerdict } from './canary-verdict.js'

const minute = 60_000
const ended = (completed: number, failed = 0, seconds = 1, more: Partial<AttemptCounts> = {}): AttemptCounts => ({
  ...{ completed, failed, lost: 0, dead: 0, runs: [[fineBucketOf(seconds), completed + failed]] },
  ...more,
})
const mail = (canary: AttemptCounts, baseline: AttemptCounts | null = ended(10_000)) => ({
  ...{ type: 'mail', canary, rollout: canary, alongside: baseline, before: null },
})
/** A canary that has baked: one of ten workers for a quarter of an hour. */
const baked = (type: CanaryFacts['types'][number], more: Partial<CanaryFacts> = {}): CanaryFacts => ({
  ...{ build: 'new', baseline: 'old', workers: 1, fleet: 10, stageMs: 15 * minute, drained: false, restarts: 0 },
  ...{ types: [type], ...more },
})
const judged = (facts: CanaryFacts) => {
  const { verdict, findings } = canaryVerdict(facts)
  return [verdict, ...findings.filter(({ says }) => says !== 'go').map(({ check }) => check)].join(' ')
}

test('a build that does as well as its baseline goes on when its stage has lasted long enough', () => {
  expect(judged(baked(mail(ended(1_000))))).toBe('go')
  expect(judged(baked(mail(ended(1_000)), { stageMs: 15 * minute - 1 }))).toBe('wait bake')
  expect(judged(baked(mail(ended(1_000)), { workers: 2, stageMs: 10 * minute }))).toBe('go')
  expect(judged(baked(mail(ended(1_000)), { workers: 2, stageMs: 10 * minute - 1 }))).toBe('wait bake')
})

test('the stages are one worker, a tenth, half and all of the fleet', () => {
  const next = (workers: number, fleet: number) => canaryVerdict(baked(mail(ended(1_000)), { workers, fleet })).stage.next
  expect([1, 2, 5, 7, 10].map((workers) => next(workers, 10))).toEqual([5, 5, 10, 10, null])
  expect([1, 10, 50, 100].map((workers) => next(workers, 100))).toEqual([10, 50, 100, null])
  expect(next(1, 1)).toBeNull()
})

test('it waits where nothing was seen yet, no worker of it lives, or it was told to drain', () => {
  expect(judged(baked(mail(ended(19))))).toBe('wait attempts')
  expect(judged(baked({ ...mail(ended(1)), canary: null, rollout: null }))).toBe('wait attempts')
  expect(judged(baked(mail(ended(1_000)), { workers: 0 }))).toBe('wait workers')
  expect(judged(baked(mail(ended(1_000)), { drained: true }))).toBe('wait workers')
})

test('it waits while more of its attempts fail than of the baseline, beyond chance, and is rolled back for more than half after ten minutes', () => {
  const base = ended(9_900, 100)
  expect(judged(baked(mail(ended(990, 10), base)))).toBe('go')
  expect(judged(baked(mail(ended(983, 17), base)))).toBe('go')
  expect(judged(baked(mail(ended(982, 18), base)))).toBe('wait failures')
  // Of a few, one or two may be chance.
  expect(judged(baked(mail(ended(38, 2))))).toBe('go')
  expect(judged(baked(mail(ended(37, 3))))).toBe('wait failures')
  expect(judged(baked(mail(ended(10, 10))))).toBe('wait failures')
  expect(judged(baked(mail(ended(9, 11))))).toBe('roll back failures')
  expect(judged(baked(mail(ended(9, 11)), { workers: 3, stageMs: 10 * minute - 1 }))).toBe('wait bake failures')
  // What was lost with its worker failed too.
  expect(judged(baked(mail(ended(9, 0, 1, { lost: 11 }))))).toBe('roll back failures')
})

test('a type that nobody ran before is judged by itself', () => {
  expect(judged(baked(mail(ended(600, 400), null)))).toBe('go')
  expect(judged(baked(mail(ended(400, 600), null)))).toBe('roll back failures')
  expect(judged(baked(mail(ended(1_000, 0, 60), null)))).toBe('go')
})

test('it waits while its slowest take a tenth longer, and is rolled back for a fifth', () => {
  const slow = (seconds: number, base = 1) => judged(baked(mail(ended(1_000, 0, seconds), ended(1_000, 0, base))))
  expect(slow(1.05)).toBe('go')
  expect(slow(1.15)).toBe('wait duration')
  expect(slow(1.3)).toBe('roll back duration')
  expect(slow(0.5)).toBe('go')
  expect(judged(baked(mail(ended(1_000, 0, 3)), { stageMs: minute }))).toBe('wait bake duration')
  // A few milliseconds are the machine's.
  expect(slow(0.006, 0.002)).toBe('go')
  // A hundredth of less than a hundred is nobody.
  expect(judged(baked(mail(ended(99, 0, 5))))).toBe('go')
})

test('it is rolled back at once where jobs die on it that did not on the baseline, or its workers die', () => {
  const early = { stageMs: minute }
  expect(judged(baked(mail(ended(1_000, 0, 1, { dead: 1 })), early))).toBe('roll back bake dead_letters')
  const base = ended(10_000, 0, 1, { dead: 20 })
  expect(judged(baked(mail(ended(1_000, 0, 1, { dead: 2 }), base)))).toBe('go')
  expect(judged(baked(mail(ended(1_000, 0, 1, { dead: 3 }), base)))).toBe('roll back dead_letters')
  // Those of an earlier stage count as well.
  expect(judged(baked({ ...mail(ended(1_000)), rollout: ended(2_000, 0, 1, { dead: 1 }) }))).toBe('roll back dead_letters')
  expect(judged(baked(mail(ended(1_000)), { restarts: 2 }))).toBe('go')
  expect(judged(baked(mail(ended(1_000)), { restarts: 3, ...early }))).toBe('roll back bake restarts')
})

test('the baseline is that of the same time, and of the hour before where too little ended meanwhile', () => {
  const type = (alongside: AttemptCounts) => ({ ...mail(ended(900, 100)), alongside, before: ended(1_000) })
  // Both fail, because something that they call does.
  expect(judged(baked(type(ended(90, 10))))).toBe('go')
  expect(judged(baked(type(ended(9, 1))))).toBe('wait failures')
})

test('a share of durations is known to a few percent, from a millisecond to hours', () => {
  for (const seconds of [0.0012, 0.05, 1, 60, 7_200]) {
    expect((fineShare([[fineBucketOf(seconds), 10]], 0.99) as number) / seconds).toBeCloseTo(1, 1)
  }
  expect(
    fineShare(
      [
        [0, 98],
        [50, 2],
      ],
      0.99,
    ),
  ).toBe(fineShare([[50, 1]], 0.5))
  expect(fineShare([], 0.99)).toBeNull()
})
