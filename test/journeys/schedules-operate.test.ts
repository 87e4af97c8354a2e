import { defineSchedule, defineType, type HoldfastError } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { makeQueue } from '../support/queue.js'
import { ada, makeScheduledQueue, report } from '../support/schedules.js'

const inCode = (cron: string, name = 'hourly') => defineSchedule({ name, type: report, cron })

test('a paused schedule makes no job, says by whom, and goes on from the moment it is resumed', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  await queue.create({ missed: { all: 10 } })
  expect(await schedules.pause('hourly', { by: 'ada', why: 'the books are closed' })).toBe(true)
  expect(await schedules.pause('hourly', { by: 'grace' })).toBe(false)
  await queue.setClock('2026-01-01T02:00:10Z')
  await queue.fire()
  expect(await schedules.get('hourly')).toMatchObject({
    status: 'paused',
    next: null,
    paused: { by: 'ada', why: 'the books are closed' },
  })
  expect(await schedules.explain('hourly')).toMatchObject({
    status: 'paused',
    reasons: [
      {
        why: 'it was paused by ada at 2026-01-01T00:30:00.000Z: the books are closed',
        opens: 'holdfast schedules resume hourly',
      },
    ],
  })
  expect(await schedules.resume('hourly', ada)).toBe(true)
  await queue.fire()
  expect(await queue.ticks()).toEqual([])
  await queue.setClock('2026-01-01T03:00:10Z')
  await queue.fire()
  expect(await queue.ticks()).toEqual(['03:00 created'])
})

test('run now makes a job beside the ticks, also of a paused schedule', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ payload: { n: 1 } })
  await queue.holdfast.schedules.pause('hourly', ada)
  const { job, outcome } = await queue.holdfast.schedules.runNow('hourly', ada)
  expect(outcome).toBe('created')
  expect(await queue.holdfast.job(job as string)).toMatchObject({ status: 'pending', payload: { n: 1 } })
  expect((await queue.holdfast.schedules.get('hourly'))?.ticks).toMatchObject([
    { kind: 'manual', job, tick: new Date('2026-01-01T00:30:00Z') },
  ])
})

test('a backfill makes a job of every tick in its range that has none, and never a second one', async () => {
  const queue = await makeScheduledQueue('2026-01-01T09:30:00Z')
  const { schedules } = queue.holdfast
  await queue.create({ overlap: 'skip' })
  await queue.setClock('2026-01-01T10:00:10Z')
  await queue.fire()
  const range = { from: new Date('2026-01-01T07:00:00Z'), to: new Date('2026-01-01T10:00:00Z') }
  expect(await schedules.backfill('hourly', range, ada, { dryRun: true })).toEqual({ ticks: 4, made: [] })
  const { ticks, made } = await schedules.backfill('hourly', range, ada)
  expect({ ticks, made: made.map(({ tick }) => tick.toISOString().slice(11, 16)) }).toEqual({
    ticks: 4,
    made: ['07:00', '08:00', '09:00'],
  })
  expect((await schedules.backfill('hourly', range, ada)).made).toEqual([])
  expect(await queue.jobs()).toEqual(['07:00 pending', '08:00 pending', '09:00 pending', '10:00 pending'])
  await expect(
    schedules.backfill('hourly', { from: range.from, to: new Date('2026-01-02T00:00:00Z') }, ada),
  ).rejects.toMatchObject({
    code: 'invalid_option',
    field: 'to',
  })
})

test('a preview says when a schedule ticks, stored or not, and stores nothing', async () => {
  const queue = await makeScheduledQueue()
  const ahead = await queue.holdfast.schedules.preview(inCode('0 */6 * * *', 'elsewhere'), { count: 2 })
  expect(ahead.map(({ tick }) => tick.toISOString())).toEqual(['2026-01-01T06:00:00.000Z', '2026-01-01T12:00:00.000Z'])
  expect(await queue.holdfast.schedules.list()).toEqual([])
})

test('what an operator changed outlives the code, and both are shown until it is reset', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  await schedules.define([inCode('0 * * * *')])
  await schedules.change('hourly', { cron: '30 * * * *', overlap: 'skip' }, { by: 'ada', why: 'less load' })
  expect(await schedules.define([inCode('15 * * * *')])).toMatchObject({ changedBesideOperator: ['hourly'] })
  expect(await schedules.get('hourly')).toMatchObject({
    cron: '30 * * * *',
    overlap: 'skip',
    code: { set: 'default', goneSince: null, differs: { cron: '15 * * * *', overlap: 'allow' } },
    changed: { by: 'ada', why: 'less load' },
  })
  const [seen] = await queue.sql('select cron, changed, code from holdfast.schedule_overview')
  expect(seen).toEqual({
    cron: '30 * * * *',
    changed: { cron: '30 * * * *', overlap: 'skip' },
    code: { cron: '15 * * * *', overlap: 'allow' },
  })
  expect(await schedules.reset('hourly', ada)).toBe(true)
  expect(await schedules.get('hourly')).toMatchObject({ cron: '15 * * * *', overlap: 'allow', code: { differs: {} } })
})

test('a schedule that was created at run time and now stands in code stays as the operator had it', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ cron: '30 * * * *' })
  await queue.holdfast.schedules.define([inCode('0 * * * *')])
  expect(await queue.holdfast.schedules.get('hourly')).toMatchObject({
    cron: '30 * * * *',
    code: { set: 'default', differs: { cron: '0 * * * *' } },
  })
})

test('a schedule that is gone from code is reported, goes on, and is removed by prune alone', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  await schedules.define([inCode('0 * * * *'), inCode('0 * * * *', 'kept')])
  await expect(schedules.remove('hourly', ada)).rejects.toMatchObject({ code: 'conflict' })
  await schedules.define([inCode('0 * * * *', 'theirs')], { set: 'billing' })
  expect((await schedules.define([inCode('0 * * * *', 'kept')])).gone).toEqual(['hourly'])
  await queue.setClock('2026-01-01T01:00:10Z')
  await queue.fire()
  expect(await queue.ticks()).toEqual(['01:00 created'])
  expect((await schedules.explain('hourly'))?.reasons[0]?.why).toMatch(/its code was started without it/)
  expect(await schedules.prune(ada, { dryRun: true })).toEqual(['hourly'])
  expect(await schedules.prune(ada)).toEqual(['hourly'])
  expect((await schedules.list()).map(({ name }) => name)).toEqual(['kept', 'theirs'])
  await expect(schedules.define([inCode('0 * * * *', 'theirs')])).rejects.toThrow(/belongs to the code of "billing"/)
})

test('a worker that starts without a schedule of its code says so in its log and its health', async () => {
  const { holdfast } = await makeQueue()
  const work = defineType({ type: 'work', run() {} })
  const scheduled = defineSchedule({ name: 'old', type: work, every: '1h' })
  await holdfast.schedules.define([scheduled])
  const lines: string[] = []
  const logger = { info() {}, warn: (_: object, line: string) => void lines.push(line), error() {} }
  const worker = await startWorker(holdfast, [work], { schedules: [], logger })
  onTestFinished(() => worker.stop())
  const said = 'old: schedules that are gone from the code and go on; `holdfast schedules prune` removes them'
  expect(lines).toContain(said)
  expect(worker.health().warnings).toContain(said)
})

test('every change by an operator stands in the audit log, without the payload', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  await queue.create({ payload: { secret: 'hunter2' } })
  await schedules.change('hourly', { overlap: 'skip', payload: { secret: 'hunter3' } }, ada)
  await schedules.pause('hourly', ada)
  await schedules.resume('hourly', ada)
  await schedules.runNow('hourly', ada)
  await schedules.remove('hourly', ada)
  const lines = await queue.holdfast.audit()
  expect(lines.map(({ action, target, actor }) => `${action} ${target} ${actor}`).reverse()).toEqual([
    'create_schedule hourly ada',
    'change_schedule hourly ada',
    'pause_schedule hourly ada',
    'resume_schedule hourly ada',
    'run_schedule hourly ada',
    'remove_schedule hourly ada',
  ])
  expect(JSON.stringify(lines)).not.toContain('hunter')
  expect(lines.at(-2)).toMatchObject({ before: { overlap: 'allow' }, after: { overlap: 'skip' } })
})

test('what is wrong is said before anything is stored', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  const typed = defineType({ type: 'typed', payload: z.object({ to: z.string() }) })
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => 'accepted',
      (error: HoldfastError) => `${error.code} ${error.field}`,
    )
  expect(await refusal(schedules.create({ name: 'x', type: 'nobody', cron: '@daily' }, ada))).toBe('unknown_type type')
  expect(await refusal(schedules.create({ name: 'x', type: typed, payload: { to: 7 as never }, cron: '@daily' }, ada))).toBe(
    'payload_rejected payload.to',
  )
  expect(await refusal(schedules.create({ name: 'x', type: 'report', cron: '@daily' }, { by: '' }))).toBe('invalid_option by')
  const secret = defineType({ type: 'secret', encrypt: true })
  expect(await refusal(schedules.create({ name: 'x', type: secret, payload: { a: 1 }, cron: '@daily' }, ada))).toBe(
    'invalid_option payload',
  )
  await queue.create({})
  expect(await refusal(queue.create({}))).toBe('conflict undefined')
  expect(await refusal(schedules.change('hourly', { cron: 'x' }, ada))).toBe('invalid_option cron')
  for (const act of ['pause', 'resume', 'reset', 'remove', 'runNow'] as const) {
    expect(await refusal(schedules[act]('nobody', ada))).toBe('not_found name')
  }
  expect(await schedules.get('nobody')).toBeUndefined()
  expect((await schedules.list()).map(({ name }) => name)).toEqual(['hourly'])
})
