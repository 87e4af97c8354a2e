import { defineType, type Holdfast } from 'holdfast'
import { scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { quiet } from '../support/serving.js'

const ada = { by: 'ada' }
let queue: Queue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeQueue()
  holdfast = queue.holdfast
})

test('a job that its handler puts off for ever ends dead, and is told in its story, explain and the metrics before', async () => {
  await holdfast.flow.setSetting('max_snoozes', 3, ada)
  const later = defineType({ type: 'later', run: (_payload, ctx) => ctx.snooze(ctx.job.attempt > 0 ? pause : 0) })
  let pause: '1h' | 1 = '1h'
  const { id } = await holdfast.enqueue(later, {})
  const worker = await startWorker(holdfast, [later], { logger: quiet })
  onTestFinished(() => worker.stop())
  const told: string[] = []
  worker.events
    .on('job.snoozed', () => told.push('snoozed'))
    .on('job.dead', ({ reason, error }) => told.push(`${reason}: ${error}`))
  await eventually(async () => (await holdfast.job(id))?.status === 'scheduled')
  expect((await holdfast.explain(id))?.gates[0]?.why).toMatch(/put it off 1 of at most 3 times$/)
  pause = 1
  await holdfast.runNow(id, ada)
  await eventually(async () => (await holdfast.job(id))?.status === 'dead')
  const story = await holdfast.job(id)
  expect(story?.attempts.map(({ outcome }) => outcome)).toEqual(['snoozed', 'snoozed', 'snoozed', 'failed'])
  expect(story?.attempts.at(-1)?.error).toMatchObject({ name: 'SnoozedTooOften', message: expect.stringContaining('3 times') })
  expect(
    await queue.sql(
      `select snoozed::int, dead::int from holdfast.counters as c join holdfast.types as t on t.id = c.type_id where t.name = 'later'`,
    ),
  ).toEqual([{ snoozed: 3, dead: 1 }])
  await eventually(() => told.length === 4)
  expect(told).toEqual(['snoozed', 'snoozed', 'snoozed', expect.stringMatching(/^fatal: its handler has put it off as often as/)])
})

test('a sleep is a step and no snooze: a job may sleep as often as it has steps', async () => {
  const scratch = await scratchQueue()
  onTestFinished(() => scratch.close())
  await scratch.holdfast.flow.setSetting('max_snoozes', 2, ada)
  const sleeper = defineType({
    type: 'sleeper',
    async run(_payload, ctx) {
      for (let nth = 0; nth < 4; nth++) await ctx.sleep('1h')
    },
  })
  const { id } = await scratch.holdfast.enqueue(sleeper, {})
  for (let nth = 0; nth < 4; nth++) {
    await scratch.drain([sleeper])
    expect(await scratch.holdfast.job(id)).toMatchObject({ status: 'scheduled' })
    await scratch.clock.advance('1h')
  }
  await scratch.drain([sleeper])
  expect(await scratch.holdfast.job(id)).toMatchObject({ status: 'completed' })
})

test('a job that workers hand back for ever ends dead', async () => {
  await holdfast.flow.setSetting('max_hand_backs', 2, ada)
  const stuck = defineType({
    type: 'stuck',
    run: (_payload, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  })
  const { id } = await holdfast.enqueue(stuck, {})
  for (let nth = 0; nth < 3; nth++) {
    const worker = await startWorker(holdfast, [stuck], { logger: quiet, drain: 0 })
    await eventually(async () => (await holdfast.job(id))?.status === 'processing')
    await worker.stop()
  }
  const story = await holdfast.job(id)
  expect(story?.status).toBe('dead')
  expect(story?.attempts.map(({ outcome }) => outcome)).toEqual(['handed_back', 'handed_back', 'failed'])
  expect(story?.attempts.at(-1)?.error).toMatchObject({ name: 'HandedBackTooOften' })
})

test('settings stand in the database: the code names one, an operator has the last word until it is given back', async () => {
  const retention = async () => (await holdfast.flow.settings()).find(({ name }) => name === 'retention_completed')
  const idle = defineType({ type: 'idle', run() {} })
  const day = 86_400_000
  const startAndStop = async (options: object) => (await startWorker(holdfast, [idle], { logger: quiet, ...options })).stop()
  expect(await retention()).toMatchObject({ value: 7 * day, standard: 7 * day, code: null, operator: null, changed: null })
  await startAndStop({ retention: { completed: '90d' } })
  // A worker that was told nothing leaves what another was told.
  await startAndStop({})
  expect(await retention()).toMatchObject({ value: 90 * day, code: 90 * day, operator: null })
  await holdfast.flow.setSetting('retention_completed', '30d', { by: 'ada', why: 'the disk' })
  await startAndStop({ retention: { completed: '60d' } })
  expect(await retention()).toMatchObject({
    ...{ value: 30 * day, code: 60 * day, operator: 30 * day },
    changed: { by: 'ada', why: 'the disk' },
  })
  await holdfast.flow.setSetting('retention_completed', null, ada)
  expect(await retention()).toMatchObject({ value: 60 * day, operator: null })
  await expect(holdfast.flow.setSetting('retention_completed', '1h', ada)).rejects.toMatchObject({ code: 'invalid_option' })
  await expect(holdfast.flow.setSetting('retention' as never, 1, ada)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('retention_completed'),
  })
})

test('lines of the audit log and rows of keys that say nothing go when they have had their time, and no others', async () => {
  const kept = defineType({ type: 'kept', limits: { maxRunningPerKey: 1 } })
  await holdfast.registerTypes([kept])
  await holdfast.flow.setWeight('kept', 'heavy', 2, ada)
  await holdfast.flow.pauseKey('kept', 'light', ada)
  await holdfast.flow.resumeKey('kept', 'light', ada)
  const lines = async () => (await queue.sql('select count(*)::int as n from holdfast.audit_log'))[0]?.n
  const before = await lines()
  expect(before).toBeGreaterThan(0)
  await queue.sql(`select holdfast.sweep_rest('7 days', '30 days')`)
  expect(await lines()).toBe(before)
  await expect(queue.sql('delete from holdfast.audit_log')).rejects.toThrow('cannot be changed or deleted')
  expect(await queue.sql('select concurrency_key as key from holdfast.keys')).toEqual([{ key: 'heavy' }])
  await queue.sql(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''366 days'''`)
  await queue.sql(`select holdfast.sweep_rest('7 days', '30 days')`)
  expect(await lines()).toBe(0)
})
