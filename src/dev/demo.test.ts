import { expect, test } from 'vitest'
import type { AnyJobType } from '../job/type.js'
import { demoJob, demoTypes } from './demo.js'

const typesOf = (from: number, seconds: number) =>
  Array.from({ length: seconds }, (_, at) => (demoJob(from + at).type as AnyJobType).type)

test('every demo type comes within the first seconds', () => {
  expect(new Set(typesOf(0, 5))).toEqual(new Set(demoTypes.map((one) => one.type)))
})

test('in any half minute there is one that ends dead and one that runs long, and the rest is mail', () => {
  for (const from of [0, 17, 86_400]) {
    const seen = typesOf(from, 30)
    expect(seen.filter((type) => type === 'demo_poison')).toHaveLength(1)
    expect(seen.filter((type) => type === 'demo_report')).toHaveLength(1)
    expect(seen.filter((type) => type === 'demo_flaky')).toHaveLength(6)
    expect(seen.filter((type) => type === 'demo_email')).toHaveLength(22)
  }
})

test('a flaky one fails once or twice and has attempts left', () => {
  const flaky = demoTypes.find((one) => one.type === 'demo_flaky') as AnyJobType
  const fails = Array.from({ length: 60 }, (_, second) => demoJob(second))
    .filter((job) => job.type === flaky)
    .map((job) => (job.payload as { fails: number }).fails)
  expect(new Set(fails)).toEqual(new Set([1, 2]))
  expect(flaky.maxAttempts).toBeGreaterThan(2)
})
