import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { moveClock } from '../support/moving-clock.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const mail = defineType({ type: 'mail', lane: 'interactive', maxAttempts: 1, run: (payload) => fail(payload) })
const idle = defineType({ type: 'idle', run() {} })

function fail(payload: unknown) {
  if ((payload as { bad?: boolean }).bad) throw new Error('no such address')
}

/** A queue without anybody who samples it, so that the test says when. */
async function makeSampled() {
  const database = await makeObservedDatabase()
  const clock = await database.connect()
  const holdfast = new Holdfast({ connectionString: database.url })
  onTestFinished(() => holdfast.close())
  await holdfast.registerTypes([mail, idle], { update: true })
  const { samples } = insideOf(holdfast).store
  const rows = (type = 'mail') =>
    database.sql(
      `select enqueued::int, completed::int, failed::int, dead::int, depths, at, since, at <= holdfast.now() as past from holdfast.samples
       where type_id = (select id from holdfast.types where name = $1) order by at`,
      [type],
    )
  const sum = (column: number[]) => column.reduce((all, one) => all + one, 0)
  return { database, holdfast, samples, rows, sum, sql: database.sql, move: (ahead: string) => moveClock(clock, ahead) }
}

/** Runs what waits. */
async function work(holdfast: Holdfast) {
  const worker = await startWorker(holdfast, [mail], { logger: quiet, poll: '50ms' })
  await eventually(async () => (await holdfast.jobs({ status: 'pending' })).jobs.length === 0 && worker.health().running === 0)
  await worker.stop()
}

test('a series tells what was enqueued, ended and waited in which step; types and looks without a change write nothing', async () => {
  const { holdfast, samples, rows, sum, move } = await makeSampled()
  const first = await samples.take(null)
  expect(await rows()).toEqual([])
  await holdfast.enqueueMany(Array.from({ length: 7 }, (_, n) => mail.job({ bad: n < 2 })))
  await move('30 seconds')
  const second = await samples.take(first)
  expect(await rows()).toMatchObject([{ enqueued: 0 }, { enqueued: 7, completed: 0, depths: [[5, 7, 0, 0, expect.any(Number)]] }])
  await work(holdfast)
  await move('60 seconds')
  const third = await samples.take(second)
  const written = await rows()
  expect(written.at(-1)).toMatchObject({ enqueued: 7, completed: 5, failed: 2, dead: 2, depths: [] })
  await move('90 seconds')
  await samples.take(third)
  expect(await rows()).toEqual(written)
  expect(await rows('idle')).toEqual([])

  await move('150 seconds')
  const series = await holdfast.series({ type: 'mail' })
  expect(series.stepMs).toBe(10_000)
  expect(series.completed.length).toBe((series.to.getTime() - series.from.getTime()) / 10_000)
  expect([series.enqueued, series.completed, series.failed, series.dead].map(sum)).toEqual([7, 5, 2, 2])
  // All of it ended after the second look.
  const seen = Math.floor((new Date(second as string).getTime() - series.from.getTime()) / 10_000)
  expect(sum(series.completed.slice(0, seen))).toBe(0)
  expect(series.waiting[seen]).toBe(7)
  expect(series.waiting.at(-1)).toBe(0)
  // The clock went on by half a minute before a worker came.
  const begun = series.wait.p50.findIndex((seconds) => seconds !== null)
  expect(begun).toBeGreaterThanOrEqual(seen)
  expect(series.wait.p50[begun]).toBeGreaterThanOrEqual(10)
  expect(series.wait.p99[begun]).toBeLessThanOrEqual(300)
  expect(series.priorities).toMatchObject([{ priority: 5, wait: series.wait }])
  expect(sum((await holdfast.series({ type: 'idle' })).enqueued)).toBe(0)
  expect(sum((await holdfast.series({ lane: 'interactive' })).enqueued)).toBe(7)
  expect(sum((await holdfast.series({ lane: 'default' })).enqueued)).toBe(0)
})

test('every type is summed up in one answer: rates, failures, percentiles, what waits, and points to draw', async () => {
  const { holdfast, samples, sum, move, sql } = await makeSampled()
  const first = await samples.take(null)
  await holdfast.enqueueMany(Array.from({ length: 8 }, (_, n) => mail.job({ bad: n < 2 })))
  await work(holdfast)
  await holdfast.enqueueMany([mail.job({}), mail.job({})])
  await move('30 seconds')
  const second = await samples.take(first, 3)
  await move('2 minutes')
  const third = await samples.take(second, 7)
  await move('3 minutes')
  await samples.take(third)
  const { types, stepMs } = await holdfast.typeSeries()
  expect(types.map(({ type }) => type).slice(-2)).toEqual(['idle', 'mail'])
  const [quiet, busy] = types.slice(-2) as [(typeof types)[number], (typeof types)[number]]
  expect(quiet).toMatchObject({ enqueuedPerSecond: 0, endedPerSecond: 0, failedShare: null, waiting: 0 })
  expect(quiet.run).toEqual({ p50: null, p95: null })
  expect({ stepMs, points: busy.enqueued.length }).toEqual({ stepMs: 30_000, points: 30 })
  expect([busy.enqueued, busy.ended, busy.failed].map(sum)).toEqual([10, 8, 2])
  expect(busy).toMatchObject({ lane: 'interactive', waiting: 2, failedShare: 0.25, enqueuedPerSecond: 10 / 900 })
  expect(busy.oldestSeconds).toBeGreaterThanOrEqual(100)
  expect(busy.run.p95).toBeGreaterThanOrEqual(busy.run.p50 as number)
  expect(busy.wait.p50).toEqual(expect.any(Number))
  // Eight attempts, of which none took longer than the slowest bucket that has any; the steps say in which of them they ran.
  expect(busy.runSeconds).toBeGreaterThan(0)
  expect(quiet.runSeconds).toBe(0)
  const { runSeconds } = await holdfast.series({ type: 'mail' })
  expect(sum(runSeconds)).toBeCloseTo(busy.runSeconds, 5)
  expect(busy.runP95.map((one) => one !== null)).toEqual(busy.ended.map((count) => count > 0))
  expect(Math.max(...busy.waitP95.map((one) => one ?? 0))).toBeGreaterThan(0)
  await expect(holdfast.typeSeries({ last: '30s' })).rejects.toMatchObject({ code: 'invalid_option', field: 'last' })
  // Beside the workers that live stand those that are wanted, and a look that does not know says nothing of them.
  expect((await holdfast.series({ step: '10s' })).wanted.at(-1)).toBe(7)
  expect(await sql('select wanted from holdfast.samples where type_id = 0 order by at desc limit 1')).toEqual([{ wanted: 7 }])
})

test('two who sample at once write one row, a missed look loses no job, and a clock that is set back leaves nothing in the future', async () => {
  const { holdfast, samples, rows, sum, move } = await makeSampled()
  await holdfast.enqueue(mail, {})
  await Promise.all(Array.from({ length: 6 }, () => samples.take(null)))
  // Whoever counted may have found that another one samples, who saw nothing yet: then the next look sees it.
  await eventually(async () => {
    await samples.take(null)
    return (await rows()).length > 0
  })
  expect(await rows()).toMatchObject([{ enqueued: 0 }, { enqueued: 1 }])
  await move('1 hour')
  await holdfast.enqueue(mail, {})
  const ahead = await samples.take(null)
  expect(await rows()).toHaveLength(3)
  await move('10 seconds')
  await holdfast.enqueue(mail, {})
  await samples.take(ahead)
  expect(await rows()).toMatchObject([{}, { enqueued: 1 }, { enqueued: 3, past: true }])
  await move('2 hours')
  await holdfast.enqueue(mail, {})
  await samples.take(ahead)
  await move('3 hours')
  expect(sum((await holdfast.series({ from: new Date(Date.now() - 60_000) })).enqueued)).toBe(4)
})

test('old samples are thinned to a minute, to an hour, and dropped, and the totals stay', async () => {
  const { holdfast, samples, sum, sql } = await makeSampled()
  // One job each ten seconds for four hours, three days ago, yesterday and until now; and one look that nothing followed, long ago.
  await sql(`insert into holdfast.samples (type_id, at, since, lane_id, enqueued)
    select t.id, a.at, a.at - interval '10 seconds', t.lane_id, row_number() over (order by a.at)
    from holdfast.types as t, (
      select holdfast.now() - interval '40 days' as at union all
      select holdfast.now() - b.ago - n * interval '10 seconds' from generate_series(0, 1439) as n,
             unnest('{0 hours, 24 hours, 72 hours}'::interval[]) as b (ago)) as a
    where t.name = 'mail'`)
  const whole = { from: new Date(Date.now() - 7 * 86_400_000), step: '1h' as const }
  const before = sum((await holdfast.series(whole)).enqueued)
  await samples.thin()
  const left =
    await sql(`select (holdfast.now()::date - at::date) > 30 as first, holdfast.now() - at > interval '60 hours' as hours,
      holdfast.now() - at > interval '12 hours' as minutes, count(*)::int as count from holdfast.samples group by 1, 2, 3 order by 1, 2, 3`)
  // The last of two hours and of their minutes are fine; an hour and a minute at each end may be begun.
  const [now, yesterday, longAgo, baseline] = left.map(({ count }) => count)
  expect(now).toBeGreaterThan(720)
  expect(now).toBeLessThan(720 + 200)
  expect([240, 241]).toContain(yesterday)
  expect([4, 5]).toContain(longAgo)
  expect(baseline).toBe(1)
  await samples.thin()
  expect(await sql('select count(*)::int as count from holdfast.samples')).toEqual([{ count: now + yesterday + longAgo + 1 }])
  expect(sum((await holdfast.series(whole)).enqueued)).toBe(before)
})

let serving: Serving
let call: Contract
beforeAll(async () => {
  serving = await serve({ reading: { within: '30s' } })
  await serving.holdfast.registerTypes([mail, idle], { update: true })
  call = await contractOf(serving, { comesBack: true })
})
afterAll(() => serving.end())

test('GET /series answers in columns, to keys that may see workers, and with the types a key is for', async () => {
  const types = `insert into holdfast.samples (type_id, at, since, lane_id, enqueued)
    select t.id, holdfast.now() - a.ago, holdfast.now() - a.ago, t.lane_id, a.enqueued
    from holdfast.types as t, (values (interval '50 minutes', 0), (interval '40 minutes', 3)) as a (ago, enqueued) where t.name in ('mail', 'idle')`
  await serving.sql.query(types)
  const { body } = await call('GET', '/series?step=1m')
  const enqueued = (answer: { enqueued: number[] }) => answer.enqueued.reduce((sum, one) => sum + one, 0)
  expect(body.step_ms).toBe(60_000)
  expect(enqueued(body)).toBe(6)
  const { key } = await serving.holdfast.access.createKey(
    { service: 'mailer', roles: ['viewer'], types: ['mail'] },
    { by: 'ada' },
  )
  expect(enqueued((await call('GET', '/series', undefined, key)).body)).toBe(3)
  expect(enqueued((await call('GET', '/series?type=idle', undefined, key)).body)).toBe(0)
  const { key: producer } = await serving.holdfast.access.createKey({ service: 'billing', roles: ['producer'] }, { by: 'ada' })
  expect((await call('GET', '/series', undefined, producer)).status).toBe(403)
})

test.each([
  ['type=mial', 422, 'type'],
  ['lane=defult', 422, 'lane'],
  ['step=1s', 400, 'step'],
  ['step=soon', 400, 'step'],
  ['from=2020-01-01T00:00:00Z&step=10s', 400, 'step'],
  ['from=2030-01-01T00:00:00Z&to=2020-01-01T00:00:00Z', 400, 'from'],
  ['from=yesterday', 400, 'from'],
])('refuses ?%s', async (query, status, field) => {
  expect((await call('GET', `/series?${query}`)).body).toMatchObject({ status, field })
})
