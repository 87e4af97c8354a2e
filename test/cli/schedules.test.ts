import { defineSchedule } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'
import { makeScheduledQueue, report } from '../support/schedules.js'

test('holdfast schedules shows and operates them, over the database and over HTTP', async () => {
  const queue = await makeScheduledQueue()
  const { both, eachWay } = await reach(queue)
  const old = defineSchedule({ name: 'old', type: report, every: '1d' })
  const hourly = defineSchedule({ name: 'hourly', type: report, cron: '0 * * * *' })
  await queue.holdfast.schedules.define([old, hourly])
  await queue.holdfast.schedules.define([hourly])

  expect((await both('schedules', 'ls')).split('\n')).toEqual([
    expect.stringMatching(/^NAME +WHEN +TYPE +STATUS +NEXT +NOTES$/),
    expect.stringMatching(/^hourly {2}0 \* \* \* \* \(UTC\) {2}report {2}active {2} *\S+$/),
    expect.stringMatching(/^old {5}every 1d {9}report {2}active {2} *\S+ {2}gone from code$/),
  ])
  expect(JSON.parse(await both('schedules', 'ls', '--json'))).toMatchObject({ schedules: [{ time_zone: 'UTC' }, {}], next: null })
  expect(await both('schedules', 'preview', 'hourly', '--count', '2')).toBe('2026-01-01T01:00:00.000Z\n2026-01-01T02:00:00.000Z')
  expect(await eachWay.http('schedules', 'pause', 'hourly', '--why', 'a test')).toBe('hourly is paused.')
  expect(await both('explain', 'hourly')).toBe(
    [
      'hourly  schedule  paused',
      '',
      '  it was paused by admin at 2026-01-01T00:30:00.000Z: a test',
      '  opens with holdfast schedules resume hourly',
    ].join('\n'),
  )
  expect(await eachWay.database('schedules', 'resume', 'hourly')).toBe('hourly ticks again.')
  expect(await eachWay.http('schedules', 'run-now', 'hourly')).toMatch(/^Job [0-9a-f-]{36} was made\.$/)
  const range = ['--from', '2025-12-31T22:00:00Z', '--to', '2025-12-31T23:30:00Z']
  expect(await eachWay.database('schedules', 'backfill', 'hourly', ...range)).toBe('2 ticks; 2 jobs were made, 0 ticks had one.')
  expect(await eachWay.http('schedules', 'backfill', 'hourly', ...range)).toBe('2 ticks; 0 jobs were made, 2 ticks had one.')
  expect(await both('schedules', 'show', 'hourly')).toMatch(
    /missed: once {2}overlap: allow[\s\S]*manual {2}created[\s\S]*22:00:00.000Z {2}backfill/,
  )
  expect(await both('schedules', 'prune', '--dry-run')).toBe('old  gone from code')
  expect(await both('schedules', 'prune')).toMatch(/^2 holdfast: nothing was done: pass --yes to remove every schedule/)
  expect(JSON.parse(await eachWay.http('schedules', 'prune', '--json', '--yes'))).toEqual({ names: ['old'] })
  expect(await both('schedules', 'show', 'old')).toBe('1 holdfast: there is no schedule named "old"')
  await queue.create({ name: 'mine' })
  expect(await eachWay.database('schedules', 'remove', 'mine', '--yes')).toBe('mine is removed.')
})
