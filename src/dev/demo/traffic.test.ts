import { expect, test } from 'vitest'
import type { AnyJobType, JobRequest } from '../../job/type.js'
import { second } from './traffic.js'
import { flaky, jobTypes } from './types.js'

const nameOf = ({ type }: JobRequest) => (type as AnyJobType).type
const during = (from: number, seconds: number) => Array.from({ length: seconds }, (_, at) => second(from + at))
const namesIn = (from: number, seconds: number) => during(from, seconds).flatMap(({ jobs }) => jobs.map(nameOf))

test('every kind of thing there is to see comes within the first ten seconds', () => {
  const first = during(0, 10)
  const seen = [...namesIn(0, 10), ...first.flatMap(({ batch }) => batch?.jobs.map(nameOf) ?? [])]
  // What a schedule makes comes at the next full minute.
  const all = jobTypes.map(({ type }) => type).filter((type) => type !== 'demo_cleanup')
  expect(new Set(seen)).toEqual(new Set(all))
  for (const what of ['order', 'batch', 'calledOff'] as const) expect(first.filter((one) => one[what])).toHaveLength(1)
})

test('in any half minute there is one that ends dead and one that runs long', () => {
  for (const from of [0, 17, 86_400]) {
    const seen = namesIn(from, 30)
    expect(seen.filter((type) => type === 'demo_poison')).toHaveLength(1)
    expect(seen.filter((type) => type === 'demo_report')).toHaveLength(1)
    expect(seen.filter((type) => type === 'demo_flaky')).toHaveLength(6)
  }
})

test('in a day nothing comes faster than the demo can work it off, or a person decides', () => {
  const day = namesIn(0, 3_600)
  const perMinute = (type: string) => day.filter((one) => one === type).length / 60
  // One at a time, twelve seconds each; and what is not decided on is cancelled after ten minutes.
  expect(perMinute('demo_export') * 12).toBeLessThan(60)
  expect(perMinute('demo_refund') * 10).toBeLessThanOrEqual(5)
})

test('the payment provider is away for less than a quarter of the time, and not at first', () => {
  const answers = during(0, 180).map(({ providerAnswers }) => providerAnswers)
  expect(answers.slice(0, 20)).not.toContain(false)
  expect(answers.filter((answer) => !answer)).toHaveLength(40)
})

test('a flaky one fails once or twice and has attempts left', () => {
  const fails = during(0, 60)
    .flatMap(({ jobs }) => jobs)
    .filter(({ type }) => type === flaky)
    .map(({ payload }) => (payload as { fails: number }).fails)
  expect(new Set(fails)).toEqual(new Set([1, 2]))
  expect(flaky.maxAttempts).toBeGreaterThan(2)
})
