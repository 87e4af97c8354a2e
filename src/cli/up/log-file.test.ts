import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logToFile } from './log-file.js'

test('a log that never ends takes no more than two files of a fixed size, and the newest lines are kept', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'holdfast.log')
  let opened = 0
  const log = logToFile(path, 'info', () => opened++)
  const filler = 'x'.repeat(100_000)
  for (let line = 1; line <= 120; line++) log.warn({ line, filler }, 'said')
  expect(opened).toBe(3)
  expect(statSync(path).size + statSync(`${path}.1`).size).toBeLessThan(11_000_000)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const last = JSON.parse(readFileSync(path, 'utf8').trim().split('\n').at(-1) as string)
  expect(last).toMatchObject({ level: 'warn', line: 120, msg: 'said', time: expect.stringMatching(/^\d{4}-.*Z$/) })
})

test('a log that exists is written on', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'holdfast.log')
  for (const run of [1, 2]) logToFile(path, 'info', () => {}).info({ run }, 'started')
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2)
})
