import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { countersOf, type Measured, readMeasured } from '../support/measured.js'
import { whenInstalled } from '../support/programs.js'
import { quiet, type Serving, serve } from '../support/serving.js'
import { startProxy } from '../support/tcp-proxy.js'

let serving: Serving
const report = defineType({ type: 'make_report', lane: 'interactive', priority: 7, async run() {} })
const remote = defineType({ type: 'remote', limits: { breaker: false } })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([report, remote], { update: true })
  // No definition has such a name; what stands in the table can have any.
  const strange = `insert into holdfast.types (name, lane_id) select $1, id from holdfast.lanes where name = 'default'`
  await serving.sql.query(strange, ['a "strange"\\one\nin two lines'])
})
afterAll(() => serving.end())

const text = async () => (await serving.ask('/metrics')).text()
const measured = async (): Promise<Measured> => {
  await insideOf(serving.holdfast).store.operate.measureDepths()
  return readMeasured(await text())
}

test('answers in the format of Prometheus, to keys that may see workers and to nobody else', async () => {
  const response = await serving.ask('/metrics')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const body = await response.text()
  expect(body).toContain(
    '# TYPE holdfast_jobs_completed_total counter\nholdfast_jobs_completed_total{type="a \\"strange\\"\\\\one\\nin two lines"} 0\n',
  )
  expect((await serving.ask('/metrics', { headers: {} })).status).toBe(401)
  const { key } = await serving.holdfast.access.createKey({ service: 'billing', roles: ['producer'] }, { by: 'ada' })
  expect((await serving.call('GET', '/metrics', undefined, key)).status).toBe(403)
})

whenInstalled('promtool', 'promtool finds nothing to complain about', async (promtool) => {
  const worker = await startWorker(serving.holdfast, [report], { logger: quiet })
  await serving.holdfast.enqueue(report, {})
  await eventually(async () => (await measured()).get('holdfast_jobs_completed_total{type="make_report"}') === 1)
  await worker.stop()
  const child = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 })
  let complaints = ''
  child.stdout.on('data', (data) => (complaints += data))
  child.stderr.on('data', (data) => (complaints += data))
  child.stdin.end(await text())
  const [code] = await once(child, 'close')
  expect({ code, complaints }).toEqual({ code: 0, complaints: '' })
})

test('a type of which nothing waits has a depth of 0, a priority of which nothing waits an age of 0', async () => {
  await eventually(async () => {
    const now = await measured()
    expect(now.get('holdfast_queue_depth{type="make_report",priority="7"}')).toBe(0)
    for (let priority = 0; priority <= 9; priority++) {
      expect(now.get(`holdfast_oldest_pending_job_age_seconds{priority="${priority}"}`)).toBe(0)
    }
    return true
  })
})

test('depth is by type and priority, age by priority', async () => {
  await serving.holdfast.enqueueMany([
    ...Array.from({ length: 3 }, () => remote.job({}, { priority: 2 })),
    ...Array.from({ length: 2 }, () => remote.job({}, { priority: 8 })),
    remote.job({}, { delay: '1h' }),
  ])
  await serving.sql.query(`update holdfast.queue set ready_at = ready_at - interval '2 minutes' where priority = 2`)
  await eventually(async () => {
    const now = await measured()
    expect(now.get('holdfast_queue_depth{type="remote",priority="2"}')).toBe(3)
    expect(now.get('holdfast_queue_depth{type="remote",priority="8"}')).toBe(2)
    expect(now.get('holdfast_jobs_scheduled{type="remote"}')).toBe(1)
    expect(now.get('holdfast_oldest_pending_job_age_seconds{priority="2"}')).toBeGreaterThanOrEqual(120)
    expect(now.get('holdfast_oldest_pending_job_age_seconds{priority="8"}')).toBeLessThan(120)
    expect(countersOf(now, 'remote')).toMatchObject({ enqueued: 6 })
    return true
  })
  await serving.holdfast.cancelMany({ type: 'remote' }, { by: 'ada' })
  await eventually(async () => {
    expect(countersOf(await measured(), 'remote')).toMatchObject({ enqueued: 6, cancelled: 6 })
    return true
  })
})

test('breakers, pauses, lanes and workers are seen as they are', async () => {
  const { flow } = serving.holdfast
  await flow.breaker('remote', 'open', { by: 'ada' })
  await flow.pauseType('make_report', { by: 'ada' })
  await flow.limitDependency('stripe', { maxRunning: 3 }, { by: 'ada' }, { create: true })
  await flow.limitDependency('ledger', {}, { by: 'ada' }, { create: true })
  await flow.dependencyBreaker('stripe', 'open', { by: 'ada' })
  const worker = await startWorker(serving.holdfast, [report], { logger: quiet })
  const now = await measured()
  expect(now.get('holdfast_breaker_open{type="remote"}')).toBe(1)
  expect(now.get('holdfast_breaker_open{type="make_report"}')).toBe(0)
  expect(now.get('holdfast_type_paused{type="make_report"}')).toBe(1)
  expect(now.get('holdfast_lane_slots{lane="interactive"}')).toBe(2)
  expect(now.get('holdfast_lane_slots_in_use{lane="interactive"}')).toBe(0)
  expect(now.has('holdfast_lane_slots{lane="default"}')).toBe(false)
  expect(now.get('holdfast_active_workers')).toBe(1)
  expect(now.get('holdfast_dependency_slots{dependency="stripe"}')).toBe(3)
  expect(now.get('holdfast_dependency_slots_in_use{dependency="stripe"}')).toBe(0)
  expect(now.get('holdfast_dependency_paused{dependency="stripe"}')).toBe(0)
  expect(now.get('holdfast_dependency_breaker_open{dependency="stripe"}')).toBe(1)
  expect(now.has('holdfast_dependency_slots{dependency="ledger"}')).toBe(false)
  await worker.stop()
  await flow.breaker('remote', 'close', { by: 'ada' })
  await flow.resumeType('make_report', { by: 'ada' })
  expect((await measured()).get('holdfast_active_workers')).toBe(0)
})

test('how long attempts had been due when they began is measured by type and priority', async () => {
  const patient = defineType({ type: 'patient', run() {} })
  await serving.holdfast.registerTypes([patient], { update: true })
  await serving.holdfast.enqueueMany([...[8, 2, 2].map((priority) => patient.job({}, { priority }))])
  await serving.sql.query(`update holdfast.queue set ready_at = ready_at - interval '2 minutes' where priority = 2`)
  const worker = await startWorker(serving.holdfast, [patient], { logger: quiet })
  await eventually(async () => (await measured()).get('holdfast_jobs_completed_total{type="patient"}') === 3)
  await worker.stop()
  const now = await measured()
  const of = (priority: number, what: string) => now.get(`holdfast_wait_duration_seconds_${what.replace('P', `${priority}`)}`)
  expect(of(2, 'bucket{type="patient",priority="P",le="60"}')).toBe(0)
  expect(of(2, 'bucket{type="patient",priority="P",le="300"}')).toBe(2)
  expect(of(2, 'count{type="patient",priority="P"}')).toBe(2)
  expect(of(2, 'sum{type="patient",priority="P"}')).toBeGreaterThanOrEqual(240)
  expect(of(8, 'count{type="patient",priority="P"}')).toBe(1)
  expect(of(8, 'sum{type="patient",priority="P"}')).toBeLessThan(120)
})

test('statements that did not reach the database are counted, and written down once it is back', async () => {
  const { connectionString = '' } = insideOf(serving.holdfast).store.database.clientConfig
  const before = (await measured()).get('holdfast_connection_errors_total') ?? Number.NaN
  const proxy = await startProxy(Number(new URL(connectionString).port))
  const holdfast = new Holdfast({ connectionString: proxy.through(connectionString) })
  const worker = await startWorker(holdfast, [report], { logger: quiet, poll: '100ms' })
  const away = once(worker.events, 'database.away')
  proxy.refuse()
  proxy.cut()
  await away
  const back = once(worker.events, 'database.back')
  await proxy.heal()
  await back
  await worker.stop()
  await holdfast.close()
  expect((await measured()).get('holdfast_connection_errors_total')).toBeGreaterThan(before)
})

test('says when retention was last done', async () => {
  const { partitions } = insideOf(serving.holdfast).store
  await partitions.ran(await partitions.keep())
  const [{ now }] = (await serving.sql.query('select extract(epoch from holdfast.now())::float8 as now')).rows
  const done = (await measured()).get('holdfast_retention_last_done_timestamp_seconds') ?? 0
  expect(now - done).toBeGreaterThanOrEqual(0)
  expect(now - done).toBeLessThan(60)
})

describe('what workers behind HTTP run', () => {
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
  const ask = async (path: string, body: unknown): Promise<any> => (await serving.call('POST', `/worker/${path}`, body)).json()

  test('is measured like any other, also what comes after its lease is gone', async () => {
    const before = countersOf(await measured(), 'remote')
    const { worker } = await ask('register', { name: 'w', types: ['remote'] })
    await serving.holdfast.enqueueMany([remote.job({}), remote.job({})])
    const { jobs } = await ask('claim', { worker, limit: 2, wait: '10s' })
    const [first, second] = jobs
    const settle = ({ id: job, lease }: { id: string; lease: string }) =>
      ask('settle', { worker, results: [{ job, lease, result: 'complete', ran_ms: 1 }] })
    expect((await settle(first)).results).toMatchObject([{ settled: true }])
    await serving.sql.query(`update holdfast.leases set expires_at = holdfast.now() - interval '1 second'`)
    await eventually(async () => (await serving.holdfast.job(second.id))?.attempts.length === 1)
    expect((await settle(second)).results).toMatchObject([{ settled: false, code: 'lease_lost' }])
    // The server writes down what it measured when it closes, if not before.
    await serving.comeBack()
    const after = countersOf(await measured(), 'remote')
    expect(after).toMatchObject({ completed: 1, rescued: 1, late: 1, measured: 1 })
    expect(before).toMatchObject({ completed: 0, rescued: 0, late: 0, measured: 0 })
    expect((await measured()).get('holdfast_processing_duration_seconds_bucket{type="remote",le="0.005"}')).toBe(1)
    // What was lost was rescued, and waits again.
    expect((await measured()).get('holdfast_wait_duration_seconds_count{type="remote",priority="5"}')).toBe(2)
  })

  test('that ends badly is counted by how it ended', async () => {
    await serving.holdfast.registerTypes([defineType({ type: 'bad', maxAttempts: 1, limits: { breaker: false } })])
    const { worker, id } = await ask('register', { name: 'w', types: ['bad'] })
    await serving.holdfast.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'bad', payload: {} })))
    const { jobs } = await ask('claim', { worker, limit: 5, wait: '10s' })
    const failed = (at: number, more: object) => ({
      job: jobs[at].id,
      lease: jobs[at].lease,
      result: 'fail',
      error: { message: 'no' },
      ...more,
    })
    await ask('settle', { worker, results: [failed(0, {}), failed(1, { timed_out: true })] })
    // A remote worker that dies with its job says nothing; one of the SDK does for its threads and processes.
    const ended = (['crashed', 'out_of_memory', 'out_of_memory'] as const).map((outcome, at) => ({
      job: jobs[at + 2],
      settlement: { move: 'exhaust', outcome, delayMs: null, failure: { name: 'Error', message: 'it died' } } as const,
      ...{ startedAtMs: 0, endedAtMs: 0 },
    }))
    await insideOf(serving.holdfast).store.settle(id, ended, 0, [])
    const outcomes = async () => {
      const now = await measured()
      const of = (outcome: string) => now.get(`holdfast_jobs_failed_total{type="bad",outcome="${outcome}"}`)
      return ['failed', 'timed_out', 'out_of_memory', 'crashed', 'lost'].map(of)
    }
    expect(await outcomes()).toEqual([1, 1, 2, 1, 0])
    // And so it stays when it is added up.
    await serving.sql.query(`update holdfast.attempt_counts set at = at - interval '1 hour'`)
    await insideOf(serving.holdfast).store.metrics.keepTotals()
    expect(await outcomes()).toEqual([1, 1, 2, 1, 0])
  })
})

test('a note that is sent again counts once', async () => {
  const { metrics } = insideOf(serving.holdfast).store
  const note = {
    id: '018f0000-0000-7000-8000-000000000001',
    durations: [{ type: 'make_report', bucket: 3, count: 5, seconds: 0.2 }],
    waits: [{ type: 'make_report', priority: 1, bucket: 2, count: 4, seconds: 0.1 }],
    late: [{ type: 'make_report', count: 2 }],
    refusals: [{ status: 429, count: 3 }],
    duties: [],
    fleet: [{ what: 'status_requests' as const, count: 2 }],
  }
  const before = countersOf(await measured(), 'make_report')
  await Promise.all([metrics.note(note), metrics.note(note)])
  await metrics.note(note)
  const after = countersOf(await measured(), 'make_report')
  expect(after).toEqual({ ...before, measured: (before.measured ?? 0) + 5, late: 2 })
  expect((await measured()).get('holdfast_wait_duration_seconds_count{type="make_report",priority="1"}')).toBe(4)
})
