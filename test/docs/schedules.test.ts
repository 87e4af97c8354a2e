import { defineSchedule, defineType, type ScheduleState } from 'holdfast'
import { expect, test } from 'vitest'
import { ticksBetween } from '../../src/schedule/ticks.js'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = docsPage('schedules.md')
const [definitions = '', operating = ''] = blocks(page, 'js')

test('the examples of docs/schedules.md run as they stand', async () => {
  const queue = await makeQueue()
  const made = `${definitions}\nreturn { makeReport, nightly }`
  const { makeReport, nightly } = await runExample(made, { defineType, defineSchedule })
  await queue.holdfast.schedules.define([nightly])
  const { why, job, ticks } = await runExample(`${operating}\nreturn { why, job, ticks }`, { holdfast: queue.holdfast })
  expect(why.reasons[0].why).toMatch(/^it was paused by ada at .*: the books are closed$/)
  expect(ticks).toBe(31)
  await startHere(queue, [makeReport])
  expect(await queue.holdfast.wait(job, { timeout: '30s' })).toMatchObject({ of: 'sales', day: expect.stringMatching(/^\d{4}-/) })
  const state = (await queue.holdfast.schedules.get('nightly-report')) as ScheduleState
  expect(state).toMatchObject({ cron: '0 4 * * *', code: { differs: { cron: '30 2 * * *' } } })
})

test('the days of Berlin that docs/schedules.md names are as it says', () => {
  const berlin = (cron: string) => ({ cron, everyMs: null, timeZone: 'Europe/Berlin', start: null, end: null })
  const on = (cron: string, from: string, to: string) => ticksBetween(berlin(cron), Date.parse(from) - 1, Date.parse(to) - 1, 100)
  const march = ['2026-03-29T00:00:00+01:00', '2026-03-30T00:00:00+02:00'] as const
  const october = ['2026-10-25T00:00:00+02:00', '2026-10-26T00:00:00+01:00'] as const
  expect(on('30 2 * * *', ...march)).toEqual([Date.parse('2026-03-29T03:00:00+02:00')])
  expect([on('*/30 * * * *', ...march).length, on('*/30 * * * *', ...october).length]).toEqual([46, 50])
})
