import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { work } from '../support/small-worker.js'
import { startHere } from '../support/worker-here.js'

/** A log as the worker's own is made, and its lines as they were written. */
function keptLog(level: string) {
  const lines: string[] = []
  const logger = pino({ name: 'holdfast', level }, { write: (line: string) => void lines.push(line) })
  const named = (message: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message)
  return { logger, lines, named }
}
const warn = 40
const info = 30
const debug = 20

test('an attempt that fails is a warning with its error and its next time, one that completes is for debugging, stopping is news', async () => {
  const queue = await makeQueue()
  const { logger, lines, named } = keptLog('debug')
  const type = work(
    (_, { job }) => {
      if (job.attempt === 1) throw new Error('not today')
    },
    { backoff: { base: '100ms', jitter: 0 } },
  )
  const worker = await startHere(queue, [type], { logger })
  const { id } = await queue.holdfast.enqueue(type, {})
  await eventually(() => named('job.completed').length === 1)
  expect(named('job.failed')).toEqual([
    expect.objectContaining({
      level: warn,
      job: id,
      type: 'work',
      attempt: 1,
      error: 'not today',
      retryInMs: expect.any(Number),
    }),
  ])
  expect(named('job.completed')).toEqual([expect.objectContaining({ level: debug, job: id, attempt: 2 })])
  await worker.stop()
  expect(named('worker stopping')).toEqual([expect.objectContaining({ level: info, worker: worker.id, running: 0 })])
  // Whoever reads the log by its keys reads one value for each.
  for (const line of lines) expect(line.match(/"name":/g), line).toHaveLength(1)
}, 60_000)

test('completions are not even looked at by a log that does not want them', async () => {
  const queue = await makeQueue()
  const { logger, named } = keptLog('info')
  const worker = await startHere(queue, [work()], { logger })
  const { id } = await queue.holdfast.enqueue(work(), {})
  await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
  await worker.stop()
  expect(named('job.completed')).toEqual([])
}, 60_000)

test('a job that is handed back is news; a handler that stops when it is told to has not overrun', async () => {
  const queue = await makeQueue()
  const { logger, named } = keptLog('info')
  let started = 0
  let stopped = 0
  const type = work(
    async (_, { signal }) => {
      started++
      await pause(60_000, undefined, { signal }).catch(() => {})
      stopped++
    },
    { timeout: '1s', maxAttempts: 1 },
  )
  const worker = await startHere(queue, [type], { logger })
  await queue.holdfast.enqueue(type, {})
  await eventually(() => named('job.dead').length === 1)
  await eventually(() => stopped === 1)
  const { id } = await queue.holdfast.enqueue(type, {})
  await eventually(() => started === 2)
  await worker.stop({ now: true })
  await eventually(() => stopped === 2)
  expect(named('job.handed_back')).toEqual([expect.objectContaining({ level: info, job: id })])
  expect(named('job.overran')).toEqual([])
}, 60_000)
