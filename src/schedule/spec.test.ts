import { expect, test } from 'vitest'
import type { HoldfastError } from '../errors.js'
import { defineType } from '../job/type.js'
import { defineSchedule, type ScheduleDefinition } from './spec.js'

function problemsOf(definition: unknown): string[] {
  try {
    defineSchedule(definition as ScheduleDefinition)
  } catch (error) {
    return (error as HoldfastError).issues.map(({ path, problem }) => `${path.join('.')} ${problem}`)
  }
  return []
}

test('a definition has every default filled in', () => {
  const report = defineType({ type: 'report' })
  const { name, spec, type } = defineSchedule({ name: 'nightly', type: report, cron: ' 30  2 * * * ', timeZone: 'Europe/Berlin' })
  expect({ name, type }).toEqual({ name: 'nightly', type: report })
  expect(spec).toEqual({
    type: 'report',
    payload: '{}',
    cron: '30 2 * * *',
    everyMs: null,
    timeZone: 'Europe/Berlin',
    start: null,
    end: null,
    jitterMs: 0,
    missed: 'once',
    overlap: 'allow',
    priority: null,
    maxAttempts: null,
    concurrencyKey: null,
    tags: null,
  })
})

test('everything that is wrong with a definition is said at once', () => {
  const problems = problemsOf({
    name: 'a b',
    type: 7,
    cron: '61 * * * *',
    timeZone: 'Mars/Olympus',
    start: '2026-01-01T00:00:00',
    end: new Date(Number.NaN),
    jitter: '2d',
    missed: { all: 5000 },
    overlap: 'skipp',
    priority: 10,
    maxAttempts: 0,
    concurrencyKey: '',
    tags: 'x',
    payload: { at: 1n },
    timezone: 'UTC',
  })
  const fields = problems.map((problem) => problem.split(' ')[0]).sort()
  expect(fields).toEqual(
    [
      'cron',
      'concurrencyKey',
      'end',
      'jitter',
      'maxAttempts',
      'missed.all',
      'name',
      'overlap',
      'payload.at',
      'priority',
      'start',
      'tags',
      'timeZone',
      'timezone',
      'type',
    ].sort(),
  )
  expect(problems.find((problem) => problem.startsWith('timezone'))).toMatch(/did you mean "timeZone"/)
})

test.each([
  [{ name: 'x', type: 't' }, 'cron is missing, and so is every; give one of them'],
  [{ name: 'x', type: 't', cron: '* * * * *', every: '1m' }, 'cron and every exclude each other'],
  [{ name: 'x', type: 't', every: '10ms' }, 'every is "10ms"; it must be at least one second'],
  [{ name: 'x', type: 't', every: '1m', timeZone: 'Europe/Berlin' }, 'timeZone has no meaning with every; leave it out'],
  [
    { name: 'x', type: 't', every: '1m', start: '2026-01-02T00:00:00Z', end: '2026-01-01T00:00:00Z' },
    'end must be later than start',
  ],
])('a rule that ties fields together: %j', (definition, problem) => {
  expect(problemsOf(definition)).toEqual([problem])
})

test.each(['0 0 30 2 *', '0 0 31 2,4,6 *', '0 0 30 2 +MON'])(
  'an expression that matches no day (%s) is refused at once',
  (cron) => {
    expect(problemsOf({ name: 'x', type: 't', cron })).toEqual([
      `cron is ${JSON.stringify(cron)}, which matches no day of any year`,
    ])
  },
)

test.each([
  '',
  '* * * *',
  '* * * * * * *',
  '2026-01-01T00:00:00',
  '@reboot',
  '@nightly',
  'x * * * *',
  '* * * * * 2026',
  '*'.repeat(300),
])('an expression that is none (%s) is refused', (cron) => {
  expect(problemsOf({ name: 'x', type: 't', cron })).toEqual([expect.stringMatching(/^cron is .*, which (is no cron|has 300)/)])
})

test.each([
  '@hourly',
  '@daily',
  '@weekly',
  '@monthly',
  '@yearly',
  '0 9 * * MON-FRI',
  '0 0 L * *',
  '0 12 29 2 *',
  '*/10 * * * * *',
  '0 9 * * MON#1',
])('an expression of the usual kind (%s) is taken', (cron) => {
  expect(problemsOf({ name: 'x', type: 't', cron })).toEqual([])
})
