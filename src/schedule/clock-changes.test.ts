import { describe, expect, test } from 'vitest'
import type { Timing } from './spec.js'
import { ticksBetween } from './ticks.js'

// What is expected here comes from the time zones alone, without croner: which local time each instant has.

const [first, last] = [Date.UTC(2026, 0, 1), Date.UTC(2028, 0, 1)]
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

class Zone {
  readonly #format: Intl.DateTimeFormat
  /** The instants from which on another offset holds. */
  readonly changes: number[] = []

  constructor(readonly timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    for (let at = first; at < last; at += day)
      if (this.offset(at) !== this.offset(at + day)) this.changes.push(this.#changeIn(at, at + day))
  }

  /** The local time of an instant, as if it were UTC. */
  local(at: number): number {
    const [, d, m, y, time] = /(\d+)\/(\d+)\/(\d+), (.*)/.exec(this.#format.format(at)) ?? []
    return Date.parse(`${y}-${m}-${d}T${time}Z`)
  }

  offset(at: number): number {
    return this.local(at) - Math.floor(at / 1000) * 1000
  }

  #changeIn(from: number, to: number): number {
    if (to - from <= minute) return to
    const middle = from + Math.floor((to - from) / 2 / minute) * minute
    return this.offset(middle) === this.offset(to) ? this.#changeIn(from, middle) : this.#changeIn(middle, to)
  }

  /** When that local time is, in order: once on most days, on two never or twice. */
  instantsOf(local: number): number[] {
    const offsets = new Set([this.offset(local - day), this.offset(local + day)])
    return [...offsets]
      .map((offset) => local - offset)
      .filter((at) => this.local(at) === local)
      .sort((a, b) => a - b)
  }
}

const zones = ['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Santiago'].map((name) => new Zone(name))
const timing = (cron: string, timeZone: string): Timing => ({ cron, timeZone, everyMs: null, start: null, end: null })
const iso = (ticks: readonly number[]) => ticks.map((tick) => new Date(tick).toISOString())

describe.each(zones)('over two years in $timeZone', (zone) => {
  test('the clock is changed four times, each time by an hour or half of one', () => {
    expect(zone.changes).toHaveLength(4)
    const jumps = zone.changes.map((at) => Math.abs(zone.offset(at) - zone.offset(at - minute)))
    expect(new Set(jumps)).toEqual(new Set([zone.timeZone === 'Australia/Lord_Howe' ? 30 * minute : hour]))
  })

  test.each(['0 0', '30 0', '45 1', '10 2', '30 2'])(
    'a schedule at one time a day (%s) runs once a day: after the gap where its time is left out, the first time where it comes twice',
    (time) => {
      const [minutes, hours] = time.split(' ').map(Number) as [number, number]
      const expected: number[] = []
      for (let local = Date.UTC(2026, 0, 2, hours, minutes); local < Date.UTC(2027, 11, 31); local += day) {
        const [once] = zone.instantsOf(local)
        const gap = zone.changes.find((at) => zone.local(at) > local && zone.local(at - minute) < local)
        expected.push(once ?? (gap as number))
      }
      const ticks = ticksBetween(
        timing(`${time} * * *`, zone.timeZone),
        (expected[0] as number) - 1,
        expected.at(-1) as number,
        1_000,
      )
      expect(iso(ticks)).toEqual(iso(expected))
      expect(ticks).toHaveLength(728)
    },
  )

  test.each(['*/15 * * * *', '30 * * * *', '0,40 0-3 * * *', '15 1,2 * * *'])(
    'any other one (%s) runs whenever the clock shows its time: never in the gap, twice in an hour that comes twice',
    (cron) => {
      const [minutes, hours] = cron.split(' ') as [string, string]
      const fits = (of: string, value: number) =>
        of === '*' ||
        (of.startsWith('*/') && value % Number(of.slice(2)) === 0) ||
        (/^\d+-\d+$/.test(of) && value >= Number(of.split('-')[0]) && value <= Number(of.split('-')[1])) ||
        of.split(',').includes(String(value))
      for (const change of zone.changes) {
        const expected: number[] = []
        for (let at = change - 5 * hour; at < change + 5 * hour; at += minute) {
          const local = new Date(zone.local(at))
          if (fits(minutes, local.getUTCMinutes()) && fits(hours, local.getUTCHours())) expected.push(at)
        }
        const ticks = ticksBetween(timing(cron, zone.timeZone), change - 5 * hour - 1, change + 5 * hour - 1, 1_000)
        expect(iso(ticks)).toEqual(iso(expected))
      }
    },
  )

  test('an interval does not notice', () => {
    const ticks = ticksBetween({ ...timing('', zone.timeZone), cron: null, everyMs: hour }, first, last, 100_000)
    expect(ticks).toHaveLength((last - first) / hour)
  })
})
