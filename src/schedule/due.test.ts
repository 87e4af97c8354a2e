import { expect, test } from 'vitest'
import { dueTicks } from './due.js'
import type { MissedPolicy, Timing } from './spec.js'

const hourly: Timing = { cron: '0 * * * *', everyMs: null, timeZone: 'UTC', start: null, end: null }
const at = (time: string) => Date.parse(`2026-01-01T${time}Z`)
const due = (missed: MissedPolicy, from: string, to: string, timing = hourly) => {
  const { ticks, dropped, next } = dueTicks({ ...timing, missed }, at(from), at(to))
  const shown = (tick: number | undefined) => tick && new Date(tick).toISOString().slice(11, 16)
  return { ticks: ticks.map(shown), dropped: dropped && [dropped.count, shown(dropped.last)], next: shown(next) }
}

test('a tick of the last minute is fired whatever the policy is', () => {
  for (const missed of ['skip', 'once', { all: 3 }] as const) {
    expect(due(missed, '00:30:00', '01:00:59')).toEqual({ ticks: ['01:00'], dropped: undefined, next: '02:00' })
  }
})

test('before the tick there is nothing to do', () => {
  expect(due('once', '00:00:00', '00:59:59')).toEqual({ ticks: [], dropped: undefined, next: '01:00' })
})

test('skip: missed ticks are dropped, and counted', () => {
  expect(due('skip', '00:30:00', '05:30:00')).toEqual({ ticks: [], dropped: [5, '05:00'], next: '06:00' })
})

test('once: the last missed tick runs for all', () => {
  expect(due('once', '00:30:00', '05:30:00')).toEqual({ ticks: ['05:00'], dropped: [4, '04:00'], next: '06:00' })
})

test('once: a tick that is on time runs for the missed ones too', () => {
  expect(due('once', '00:30:00', '05:00:10')).toEqual({ ticks: ['05:00'], dropped: [4, '04:00'], next: '06:00' })
})

test('all up to n: the last n missed ticks run, and what is on time', () => {
  expect(due({ all: 2 }, '00:30:00', '05:00:10')).toEqual({
    ticks: ['03:00', '04:00', '05:00'],
    dropped: [2, '02:00'],
    next: '06:00',
  })
  expect(due({ all: 9 }, '00:30:00', '03:30:00')).toEqual({
    ticks: ['01:00', '02:00', '03:00'],
    dropped: undefined,
    next: '04:00',
  })
})

test('a clock that went back fires nothing twice, and nothing until it is there again', () => {
  const { ticks, handledTo, next } = dueTicks({ ...hourly, missed: { all: 10 } }, at('05:30:00'), at('01:10:00'))
  expect({ ticks, handledTo, next }).toEqual({ ticks: [], handledTo: at('05:30:00'), next: at('06:00:00') })
})

test('a year without a worker is looked at in a bounded number of steps', () => {
  const everySecond = { ...hourly, cron: '* * * * * *' }
  const { ticks, dropped } = dueTicks({ ...everySecond, missed: { all: 5 } }, at('00:00:00') - 365 * 86_400_000, at('00:00:00'))
  expect(ticks).toHaveLength(65)
  expect(dropped?.count).toBe(100)
})

test('a schedule that has ended has no next tick', () => {
  expect(due('once', '00:30:00', '05:30:00', { ...hourly, end: at('02:30:00') })).toEqual({
    ticks: ['02:00'],
    dropped: [1, '01:00'],
    next: undefined,
  })
})
