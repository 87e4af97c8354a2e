import { tmpdir } from 'node:os'
import { defineSchedule } from 'holdfast'
import { expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { makeScheduledQueue, report } from '../support/schedules.js'

test('holdfast schedules shows and operates them', async () => {
  const queue = await makeScheduledQueue()
  const run = async (...args: string[]) => {
    const program = new Program(tmpdir(), args, { env: { DATABASE_URL: queue.url } })
    const code = await program.ended
    return code === 0 ? program.output.trimEnd() : `${code} ${program.complaints.trimEnd()}`
  }
  const schedules = (...args: string[]) => run('schedules', ...args)
  const old = defineSchedule({ name: 'old', type: report, every: '1d' })
  await queue.holdfast.schedules.define([old, defineSchedule({ name: 'hourly', type: report, cron: '0 * * * *' })])
  await queue.holdfast.schedules.define([defineSchedule({ name: 'hourly', type: report, cron: '0 * * * *' })])

  expect(await schedules('ls')).toBe(
    [
      'hourly  0 * * * * (UTC)  report  active  next 2026-01-01T01:00:00.000Z',
      'old  every 1d  report  active  next 2026-01-02T00:00:00.000Z  gone from code',
    ].join('\n'),
  )
  expect(await schedules('preview', 'hourly', '--count', '2')).toBe('2026-01-01T01:00:00.000Z\n2026-01-01T02:00:00.000Z')
  expect(await schedules('pause', 'hourly', '--why', 'a test')).toBe('hourly is paused.')
  expect(await run('explain', 'hourly')).toMatch(
    /^hourly {2}schedule {2}paused\n\n {2}it was paused by \w+ at 2026-01-01T00:30:00.000Z: a test\n {2}opens with holdfast schedules resume hourly$/,
  )
  expect(await schedules('resume', 'hourly')).toBe('hourly ticks again.')
  expect(await schedules('run-now', 'hourly')).toMatch(/^Job [0-9a-f-]{36} was made\.$/)
  const range = ['--from', '2025-12-31T22:00:00Z', '--to', '2025-12-31T23:30:00Z']
  expect(await schedules('backfill', 'hourly', ...range)).toBe('2 ticks; 2 jobs were made, 0 ticks had one.')
  expect(await schedules('show', 'hourly')).toMatch(
    /missed: once {2}overlap: allow[\s\S]*manual {2}created[\s\S]*22:00:00.000Z {2}backfill/,
  )
  expect(await schedules('prune', '--dry-run')).toBe('old  gone from code')
  expect(await schedules('prune', '--json')).toBe('[\n  "old"\n]')
  expect(await schedules('show', 'old')).toBe('1 holdfast: there is no schedule named "old"')
}, 120_000)
