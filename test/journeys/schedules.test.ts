import { defineSchedule, defineType, type HoldfastError } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { ada, makeScheduledQueue, report } from '../support/schedules.js'
import { quiet } from '../support/small-worker.js'

const hourly = defineSchedule({ name: 'hourly', type: report, cron: '0 * * * *' })

test('a worker fires the schedules of its code by itself, and the handler sees the tick on every attempt', async () => {
  const { holdfast, sql } = await makeQueue()
  const seen: { tick: number; attempt: number }[] = []
  const work = defineType({
    type: 'work',
    backoff: { base: 1, jitter: 0 },
    run(_, { scheduledFor, job }) {
      seen.push({ tick: (scheduledFor as Date).getTime(), attempt: job.attempt })
      if (job.attempt === 1) throw new Error('not yet')
    },
  })
  const schedules = [defineSchedule({ name: 'each-second', type: work, every: '1s' })]
  const worker = await startWorker(holdfast, [work], { schedules, logger: quiet })
  onTestFinished(() => worker.stop())
  await eventually(() => seen.filter(({ attempt }) => attempt === 2).length >= 2)
  for (const { tick } of seen) expect(tick % 1_000).toBe(0)
  const twice = await sql('select tick from holdfast.ticks group by schedule_id, tick having count(*) > 1')
  expect(twice).toEqual([])
  const plain = await holdfast.enqueue('work', {})
  expect(plain.status).toBe('created')
})

test('a worker that is given a file runs the schedules that it exports', async () => {
  const { holdfast } = await makeQueue()
  const file = new URL('../support/scheduled-handlers.mjs', import.meta.url)
  const worker = await startWorker(holdfast, file, { logger: quiet })
  onTestFinished(() => worker.stop())
  await eventually(async () => (await holdfast.jobs({ type: 'work', status: 'completed' })).jobs.length > 0)
  expect(await holdfast.schedules.get('each-second')).toMatchObject({ name: 'each-second' })
})

test('a tick makes one job, however many fire it and however often', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ payload: { of: 'the hour' } })
  await queue.setClock('2026-01-01T01:00:10Z')
  await Promise.all([queue.fire(1), queue.fire(2), queue.fire(3)])
  await queue.fire(4)
  expect(await queue.ticks()).toEqual(['01:00 created'])
  expect(await queue.jobs()).toEqual(['01:00 pending'])
  const [job] = (await queue.holdfast.jobs()).jobs
  expect(job).toMatchObject({ type: 'report', payload: { of: 'the hour' } })
})

test('whoever decided by what a schedule was before fires nothing', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({})
  await queue.setClock('2026-01-01T01:00:10Z')
  const [row] = await queue.sql('select id, revision, next_at::text from holdfast.schedules')
  await queue.holdfast.schedules.pause('hourly', ada)
  await queue.holdfast.schedules.resume('hourly', ada)
  const late = `select holdfast.fire_schedule($1, $2, $3, array['2026-01-01T01:00:00Z']::timestamptz[], '{null}', array[holdfast.new_job_id()],
    '{{}}', '2026-01-01T01:00:10Z', '2026-01-01T02:00:00Z', 0, null) as fired`
  expect(await queue.sql(late, [row?.id, row?.revision, row?.next_at])).toEqual([{ fired: null }])
  expect(await queue.jobs()).toEqual([])
})

test.each([
  { missed: 'skip', ticks: [], dropped: 5 },
  { missed: 'once', ticks: ['05:00 created'], dropped: 4 },
  { missed: { all: 2 }, ticks: ['04:00 created', '05:00 created'], dropped: 3 },
  {
    missed: { all: 100 },
    ticks: ['01:00 created', '02:00 created', '03:00 created', '04:00 created', '05:00 created'],
    dropped: 0,
  },
] as const)('missed ticks under the policy $missed', async ({ missed, ticks, dropped }) => {
  const queue = await makeScheduledQueue()
  await queue.create({ missed })
  await queue.fire()
  await queue.setClock('2026-01-01T05:30:00Z')
  await queue.fire()
  expect(await queue.ticks()).toEqual(ticks)
  const state = await queue.holdfast.schedules.get('hourly')
  expect(state?.dropped?.ticks ?? 0).toBe(dropped)
  expect(queue.told.length).toBe(dropped > 0 ? 1 : 0)
  expect(state?.next).toEqual(new Date('2026-01-01T06:00:00Z'))
})

test('jitter makes the job due later than its tick, and by as much as the preview says', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ jitter: '10m' })
  const [{ tick, due } = { tick: new Date(), due: new Date() }] = await queue.holdfast.schedules.preview('hourly')
  expect(due.getTime()).toBeGreaterThan(tick.getTime())
  await queue.setClock('2026-01-01T01:00:00Z')
  await queue.fire()
  expect(await queue.sql('select due_at, status from holdfast.jobs')).toEqual([{ due_at: due, status: 'scheduled' }])
})

test('a schedule begins with its start and ends with its end', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ start: '2026-01-01T02:00:00Z', end: '2026-01-01T03:30:00Z', missed: { all: 10 } })
  for (const hour of ['01', '02', '03', '04']) {
    await queue.setClock(`2026-01-01T${hour}:00:05Z`)
    await queue.fire()
  }
  expect(await queue.ticks()).toEqual(['02:00 created', '03:00 created'])
  expect(await queue.holdfast.schedules.get('hourly')).toMatchObject({ status: 'ended', next: null })
})

test('a clock that jumps ahead and back makes one job of each tick, and the schedule goes on when it is back', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ missed: { all: 3 } })
  await queue.setClock('2030-01-01T05:00:10Z')
  await queue.fire()
  expect(await queue.ticks()).toEqual(['02:00 created', '03:00 created', '04:00 created', '05:00 created'])
  await queue.setClock('2026-01-01T00:40:00Z')
  await queue.fire()
  for (const hour of ['01', '02']) {
    await queue.setClock(`2026-01-01T${hour}:00:01Z`)
    await queue.fire()
  }
  const ticks = await queue.sql('select tick from holdfast.ticks where tick < $1 order by tick', ['2027-01-01'])
  expect(ticks.map(({ tick }) => tick.toISOString())).toEqual(['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z'])
  const jobs = await queue.sql('select scheduled_for from holdfast.bodies group by scheduled_for having count(*) > 1')
  expect(jobs).toEqual([])
})

test('whatever people do to a schedule while its ticks are made, none of them has two jobs, and a backfill finds those that have none', async () => {
  const queue = await makeScheduledQueue()
  const { schedules } = queue.holdfast
  await queue.create({ cron: '* * * * *', missed: { all: 100 } })
  // Who changes what somebody else has just changed is told so, and tries again.
  const act = (doing: Promise<unknown>) =>
    doing.catch((error: HoldfastError) =>
      expect(error).toMatchObject({ code: 'conflict', message: expect.stringContaining('meanwhile') }),
    )
  const [from, minute] = [new Date('2026-01-01T00:31:00Z'), 60_000]
  let to = from
  for (let hop = 0; hop < 8; hop++) {
    to = new Date(from.getTime() + hop * 3 * minute)
    await queue.setClock(new Date(to.getTime() + 1_000).toISOString())
    await Promise.all([
      ...[1, 2, 3].map((worker) => queue.fire(worker)),
      act(schedules.change('hourly', { priority: hop }, ada)),
      act(schedules.pause('hourly', ada).then(() => schedules.resume('hourly', ada))),
      act(schedules.runNow('hourly', ada)),
      act(schedules.backfill('hourly', { from, to }, ada)),
    ])
  }
  await schedules.resume('hourly', ada)
  await schedules.backfill('hourly', { from, to }, ada)
  const ticked = `select count(*)::int as jobs, count(distinct b.scheduled_for)::int as ticks from holdfast.bodies as b
    join holdfast.ticks as t on t.job_id = b.id and t.kind <> 'manual'`
  const ticks = (to.getTime() - from.getTime()) / minute + 1
  expect(await queue.sql(ticked)).toEqual([{ jobs: ticks, ticks }])
  expect(await queue.sql('select from holdfast.bodies where id not in (select job_id from holdfast.ticks)')).toEqual([])
})

test('a schedule that cannot be fired says why, is tried again after a minute, and holds up no other', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ name: 'broken' })
  await queue.create({})
  await queue.sql(`update holdfast.schedules set defined = defined || '{"cron": "nonsense"}' where name = 'broken'`)
  await queue.setClock('2026-01-01T01:00:10Z')
  await queue.fire()
  expect(await queue.ticks()).toEqual(['01:00 created'])
  expect(queue.told).toEqual([expect.stringMatching(/^schedule.failed .*broken.*CronPattern/)])
  expect((await queue.holdfast.schedules.list()).map(({ name, status }) => `${name} ${status}`)).toEqual([
    'broken failing',
    'hourly active',
  ])
  expect((await queue.holdfast.schedules.explain('broken'))?.reasons[0]?.why).toMatch(/^it could not be fired: CronPattern/)
  await queue.sql(`update holdfast.schedules set defined = defined || '{"cron": "0 * * * *"}' where name = 'broken'`)
  await queue.setClock('2026-01-01T01:01:11Z')
  await queue.fire()
  expect(await queue.ticks('broken')).toEqual(['01:00 created'])
})

test('hourly is defined once, whoever starts', async () => {
  const { holdfast } = await makeScheduledQueue()
  expect(await holdfast.schedules.define([hourly])).toMatchObject({ created: ['hourly'], gone: [] })
  expect(await holdfast.schedules.define([hourly])).toEqual({ created: [], changed: [], changedBesideOperator: [], gone: [] })
})
