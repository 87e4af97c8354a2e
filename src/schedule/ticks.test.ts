import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cronProblem } from './cron.js'
import type { Timing } from './spec.js'
import { jitterOf, lastTicksBetween, nextTick, previousTick, ticksBetween } from './ticks.js'

const utc: Timing = { cron: null, everyMs: null, timeZone: 'UTC', start: null, end: null }
const at = (iso: string) => Date.parse(iso)
const shown = (ticks: readonly (number | undefined)[]) => ticks.map((tick) => tick && new Date(tick).toISOString())

test('the next tick is later than the time it is asked for, to the second', () => {
  const timing = { ...utc, cron: '*/10 * * * * *' }
  expect(shown([nextTick(timing, at('2026-01-01T00:00:10Z')), nextTick(timing, at('2026-01-01T00:00:09.999Z'))])).toEqual([
    '2026-01-01T00:00:20.000Z',
    '2026-01-01T00:00:10.000Z',
  ])
})

test('an interval counts from its start, and without one from 1970', () => {
  const start = at('2026-01-01T00:07:00Z')
  expect(shown(ticksBetween({ ...utc, everyMs: 900_000, start }, 0, start + 1_800_000, 10))).toEqual([
    '2026-01-01T00:07:00.000Z',
    '2026-01-01T00:22:00.000Z',
    '2026-01-01T00:37:00.000Z',
  ])
  expect(shown([nextTick({ ...utc, everyMs: 900_000 }, start)])).toEqual(['2026-01-01T00:15:00.000Z'])
})

test('no tick comes before the start or at the end', () => {
  const timing = { ...utc, cron: '@hourly', start: at('2026-01-01T01:00:00Z'), end: at('2026-01-01T03:00:00Z') }
  expect(shown(ticksBetween(timing, 0, at('2027-01-01T00:00:00Z'), 10))).toEqual([
    '2026-01-01T01:00:00.000Z',
    '2026-01-01T02:00:00.000Z',
  ])
  expect(shown(lastTicksBetween(timing, 0, at('2027-01-01T00:00:00Z'), 10))).toEqual([
    '2026-01-01T01:00:00.000Z',
    '2026-01-01T02:00:00.000Z',
  ])
  expect(previousTick(timing, at('2026-01-01T01:00:00Z'))).toBeUndefined()
})

const zones = [
  'UTC',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Asia/Kathmandu',
  'Pacific/Apia',
]
const field = (low: number, high: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: low, max: high }).map(String),
    fc.integer({ min: 1, max: high - low }).map((step) => `*/${step}`),
    fc
      .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
      .map((pair) => `${Math.min(...pair)}-${Math.max(...pair)}`),
  )
const crons = fc
  .tuple(
    field(0, 59),
    field(0, 23),
    fc.constantFrom('*', '1', '28', 'L', '*/7'),
    fc.constantFrom('*', '3', '10', '3,11'),
    fc.constantFrom('*', '0', 'MON-FRI'),
  )
  .map((fields) => fields.join(' '))
const timings = fc.oneof(
  fc.record({ cron: crons, timeZone: fc.constantFrom(...zones) }).map((of): Timing => ({ ...utc, ...of })),
  fc.integer({ min: 1_000, max: 1_000_000_000 }).map((everyMs): Timing => ({ ...utc, everyMs })),
)
const times = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2028-01-01T00:00:00Z') })

test('of any schedule at any time: the next tick is later, nothing lies between, and going back finds it again', () => {
  fc.assert(
    fc.property(timings, times, (timing, now) => {
      const next = nextTick(timing, now) as number
      expect(next).toBeGreaterThan(now)
      expect(nextTick(timing, next - 1)).toBe(next)
      expect(nextTick(timing, Math.floor((now + next) / 2))).toBe(next)
      expect(previousTick(timing, next + 1)).toBe(next)
      const before = previousTick(timing, next)
      if (before !== undefined) {
        expect(before).toBeLessThanOrEqual(now)
        expect(nextTick(timing, before)).toBe(next)
      }
    }),
    { numRuns: 150 },
  )
})

/** Everything that is read, much of which matches almost no day, or none. */
const anyCron = fc
  .tuple(
    fc.oneof(fc.constant(''), field(0, 59)),
    field(0, 59),
    field(0, 23),
    fc.constantFrom('*', '1', '8', '29', '30,31', '31', 'L', 'LW', '1W', '15W', '31W', '*/29'),
    fc.constantFrom('*', '2', '2,4', '4,6,9,11', 'FEB', '*/11'),
    fc.constantFrom('*', '0', 'MON', '+SUN', '+MON#1', 'MON#5', '+5#5', '+FRI#L', '1L', '+SAT,SUN'),
  )
  .map((fields) => fields.join(' ').trim())
/** The 29th of February on one day of the week comes after 40 years where one of the years between is 2100. */
const longestMs = 40 * 366 * 86_400_000
/** Processor time, so that a busy machine changes nothing; the longest search takes a tenth of it. */
const mostMs = 10_000

test('the search for the next tick of whatever is taken for a schedule comes to an end, and what matches no day is refused', () => {
  const anyTime = fc.integer({ min: 0, max: at('2105-01-01T00:00:00Z') })
  fc.assert(
    fc.property(anyCron, fc.constantFrom(...zones), anyTime, (cron, timeZone, now) => {
      const begun = process.cpuUsage()
      const next = cronProblem(cron) === undefined ? (nextTick({ ...utc, cron, timeZone }, now) ?? Number.NaN) : now + 1
      const { user, system } = process.cpuUsage(begun)
      expect(next).toBeGreaterThan(now)
      expect(next).toBeLessThan(now + longestMs)
      expect((user + system) / 1_000).toBeLessThan(mostMs)
    }),
    { numRuns: 60 },
  )
})

test('a process in another time zone and another language has the same ticks', () => {
  const asked = zones.flatMap((timeZone) => ['30 2 * * *', '*/20 1-3 * * *'].map((cron): Timing => ({ ...utc, cron, timeZone })))
  const from = at('2026-03-07T00:00:00Z')
  const here = asked.map((timing) => ticksBetween(timing, from, Number.POSITIVE_INFINITY, 12))
  const module = pathToFileURL('dist/schedule/ticks.js').href
  const program = `import { ticksBetween } from ${JSON.stringify(module)}
    console.log(JSON.stringify(${JSON.stringify(asked)}.map((timing) => ticksBetween(timing, ${from}, Infinity, 12))))`
  const env = { ...process.env, TZ: 'America/New_York', LANG: 'ar_EG.UTF-8', LC_ALL: 'ar_EG.UTF-8' }
  const there = execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' })
  expect(JSON.parse(there)).toEqual(here)
})

test('jitter depends on the name and the tick alone, and spreads over the whole of it', () => {
  const of = (name: string) => Array.from({ length: 200 }, (_, hour) => jitterOf(name, hour * 3_600_000, 1_000))
  expect(of('a')).toEqual(of('a'))
  expect(of('a')).not.toEqual(of('b'))
  expect(Math.min(...of('a'))).toBeGreaterThanOrEqual(0)
  expect(Math.min(...of('a'))).toBeLessThan(100)
  expect(Math.max(...of('a'))).toBeLessThanOrEqual(1_000)
  expect(Math.max(...of('a'))).toBeGreaterThan(900)
  expect(jitterOf('a', 5, 0)).toBe(0)
})
