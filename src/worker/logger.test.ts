import { hostname } from 'node:os'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { levelNumbers } from '../job/log-level.js'
import { jsonLines } from './json-lines.js'
import { type Logger, messageFirst } from './logger.js'

/** As winston and console are called: the message first. */
function taking() {
  const lines: unknown[][] = []
  const take = (level: string) => (message: string, fields: object) => void lines.push([level, message, fields])
  return { lines, info: take('info'), warn: take('warn'), error: take('error'), debug: take('debug') }
}

test('a log that takes the message first gets it first', () => {
  const given = taking()
  const log = messageFirst(given)
  log.info({ worker: 1 }, 'worker started')
  log.warn({ job: 'x' }, 'job.dead')
  log.error({ part: 'settler' }, 'failed')
  expect(given.lines).toEqual([
    ['info', 'worker started', { worker: 1 }],
    ['warn', 'job.dead', { job: 'x' }],
    ['error', 'failed', { part: 'settler' }],
  ])
})

test('it gets what completed only where it can say that it wants that', () => {
  expect(messageFirst(taking()).debug).toBeUndefined()
  const given = { ...taking(), isLevelEnabled: (level: string) => level === 'debug' }
  const log = messageFirst(given)
  expect(log.isLevelEnabled?.('debug')).toBe(true)
  log.debug?.({ job: 'x' }, 'job.completed')
  expect(given.lines).toEqual([['debug', 'job.completed', { job: 'x' }]])
})

test('the lines of a worker that is given no log are those of pino', () => {
  const [ours, theirs]: [string[], string[]] = [[], []]
  const base = { pid: process.pid, hostname: hostname(), name: 'holdfast' }
  const own = jsonLines('info', { level: (level) => levelNumbers[level], time: () => 7, base }, (line) => ours.push(line))
  const model: Logger = pino(
    { name: 'holdfast', level: 'info', timestamp: () => ',"time":7' },
    { write: (line: string) => void theirs.push(line.trimEnd()) },
  )
  for (const log of [own, model]) {
    log.debug?.({ job: 'x' }, 'job.completed')
    log.info({ worker: 1, types: ['a', 'b'], nothing: undefined, none: null }, 'worker started')
    log.warn({ error: 'the "mail" is\nfull \u{1F4A5}' }, 'job.failed')
    log.error({ part: { of: 'it' } }, 'the settler failed')
    expect([log.isLevelEnabled?.('debug'), log.isLevelEnabled?.('warn')]).toEqual([false, true])
  }
  expect(ours).toEqual(theirs)
  expect(ours).toHaveLength(3)
})

test('fields that JSON cannot hold cost those fields, never the program', () => {
  const lines: string[] = []
  const around: { self?: object } = {}
  around.self = around
  const log = jsonLines('info', { level: (level) => level, time: () => 7, base: {} }, (line) => lines.push(line))
  log.info({ around }, 'a ring')
  log.info({ big: 7n }, 'a number')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'a ring' }, { msg: 'a number', big: '7' }])
})
