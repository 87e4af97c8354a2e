import { expect, test } from 'vitest'
import { messageFirst } from './logger.js'

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
