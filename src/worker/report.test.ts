import { expect, test } from 'vitest'
import { BackgroundGroup } from '../background/group.js'
import { Meter } from '../metrics/meter.js'
import { Pulse } from './health.js'
import { Report } from './report.js'

function reporting() {
  const lines: string[] = []
  const line = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level}: ${message}: ${(fields as { error?: string }).error}`)
  const pulse = new Pulse(30_000)
  const log = { info: line('info'), warn: line('warn'), error: line('error') }
  return { report: new Report(log, pulse, new Meter()), pulse, lines }
}

test('a part that fails beside the jobs is logged and shown in health until it works again, and the worker is well meanwhile', () => {
  const { report, pulse, lines } = reporting()
  report.failed('log writer', new Error('no such table'))
  report.failed('upkeep of retention', new Error('lock timeout'))
  expect(lines).toEqual([
    'warn: the log writer failed and tries again: no such table',
    'warn: the upkeep of retention failed and tries again: lock timeout',
  ])
  expect(pulse.read()).toMatchObject({
    status: 'ok',
    failing: ['the log writer has failed for 0 s: no such table', 'the upkeep of retention has failed for 0 s: lock timeout'],
  })
  report.answered('log writer')
  expect(pulse.read().failing).toEqual(['the upkeep of retention has failed for 0 s: lock timeout'])
})

test('a part that left something undone when it was stopped is an error in the log, and shown in health', async () => {
  const { report, pulse, lines } = reporting()
  const settler = { name: 'settler', start: () => {}, stop: () => Promise.reject(new Error('3 results are unwritten')) }
  const parts = new BackgroundGroup([[{ part: settler, stopWithinMs: 1_000 }]], report)
  parts.start()
  await parts.stop()
  expect(lines).toEqual(['error: the settler failed: 3 results are unwritten'])
  expect(pulse.read().failing).toEqual(['the settler has failed for 0 s: 3 results are unwritten'])
})
