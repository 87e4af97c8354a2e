import { defineType } from 'holdfast'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
let worker: string
const type = defineType({ type: 'remote', maxAttempts: 2, backoff: { base: '1h', jitter: 0 }, limits: { breaker: false } })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([type], { update: true })
})
afterAll(() => serving.end())
beforeEach(async () => {
  await serving.holdfast.cancelMany({ all: true }, { by: 'the test before' })
  worker = (await ask('register', { name: 'w', types: ['remote'] })).worker
})

async function send(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  return fetch(`${serving.address}/worker/${path}`, { method: 'POST', headers, body: JSON.stringify(body), ...init })
}

async function ask(path: string, body: unknown): Promise<Answer> {
  return (await send(path, body)).json()
}

const enqueue = async (payload: unknown = {}, options = {}) => (await serving.holdfast.enqueue(type, payload, options)).id
const claim = async (more: object = {}) => (await ask('claim', { worker, ...more })).jobs as Answer[]
const settle = async (job: Answer, result: string, more: object = {}) =>
  (await ask('settle', { worker, results: [{ job: job.id, lease: job.lease, result, ...more }] })).results[0]
const status = async (id: string) => (await serving.holdfast.job(id))?.status

describe('POST /worker/claim', () => {
  test('answers with jobs of the registered types, the highest priority first, and never more than asked', async () => {
    const low = await enqueue({ n: 1 }, { priority: 1 })
    const high = await enqueue({ n: 2 }, { priority: 9 })
    const jobs = await claim({ limit: 1 })
    expect(jobs).toMatchObject([
      {
        id: high,
        type: 'remote',
        attempt: 1,
        max_attempts: 2,
        priority: 9,
        payload: { n: 2 },
        lease_ms: 60_000,
        timeout_ms: 300_000,
      },
    ])
    expect((await claim({ limit: 100 })).map((job) => job.id)).toEqual([low])
    expect(await claim()).toEqual([])
  })

  test('waits for a job and has it as soon as it is enqueued, though nobody else looks', async () => {
    const tookMs: number[] = []
    while (tookMs.length < 3 && Math.min(...tookMs) > 1_000) {
      const waiting = claim({ wait: '30s' })
      await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 1)
      const id = await enqueue()
      const enqueuedAt = performance.now()
      expect((await waiting).map((job) => job.id)).toEqual([id])
      tookMs.push(performance.now() - enqueuedAt)
      expect((await serving.sql.query('select from holdfast.idle_workers')).rowCount).toBe(0)
    }
    // Half of the poll it would fall back to, at least once on a machine that is busy with other things.
    expect(Math.min(...tookMs)).toBeLessThan(1_000)
  })

  test('wakes of many who wait as many as there are jobs', async () => {
    const waiting = Array.from({ length: 5 }, () => claim({ wait: '20s' }))
    await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 1)
    const jobs = await serving.holdfast.enqueueMany(Array.from({ length: 5 }, () => type.job({})))
    const got = (await Promise.all(waiting)).flat().map((job) => job.id)
    expect(got.sort()).toEqual(jobs.map(({ id }) => id).sort())
  })

  test('claims nothing for a caller who has hung up, and answers all who wait when the server closes', async () => {
    const hungUp = new AbortController()
    const waiting = send('claim', { worker, wait: '30s' }, { signal: hungUp.signal }).catch((error) => error.name)
    await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 1)
    hungUp.abort()
    expect(await waiting).toBe('AbortError')
    await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 0)
    const id = await enqueue()
    expect(await status(id)).toBe('pending')
    await claim()
    const left = claim({ wait: '30s' })
    await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 1)
    await serving.comeBack()
    expect(await left).toEqual([])
  })

  test('gives back what the worker never heard of, without spending an attempt', async () => {
    const id = await enqueue()
    const [unacknowledged] = await claim()
    expect(unacknowledged.id).toBe(id)
    expect(await claim({ holding: [], wait: '20s' })).toMatchObject([{ id, attempt: 1 }])
    expect(await settle(unacknowledged, 'complete')).toMatchObject({ settled: false, code: 'lease_lost' })
  })

  test('keeps to the slots a lane has in one worker', async () => {
    await serving.holdfast.flow.setLane('default', { workerSlots: 2 }, { by: 'ada' })
    await serving.holdfast.enqueueMany(Array.from({ length: 4 }, () => type.job({})))
    // What a worker knows of its lanes may be a second old.
    const jobs = await eventually(async () => {
      const claimed = await claim({ limit: 10 })
      if (claimed.length === 2) return claimed
      for (const job of claimed) await settle(job, 'hand_back')
      return false
    })
    expect(await claim({ limit: 10 })).toEqual([])
    await settle(jobs[0], 'complete')
    expect(await claim({ limit: 10, wait: '20s' })).toHaveLength(1)
    await serving.holdfast.flow.setLane('default', { workerSlots: null }, { by: 'ada' })
    expect(await claim({ limit: 10, wait: '20s' })).toHaveLength(1)
  })
})

describe('POST /worker/settle', () => {
  test('completes, fails by the backoff of the type, by an asked delay or for good, snoozes and hands back, many at once', async () => {
    const ids = (await serving.holdfast.enqueueMany(Array.from({ length: 6 }, (_, n) => type.job({ n })))).map(({ id }) => id)
    const jobs = await claim({ limit: 6 })
    expect(jobs.map(({ id }) => id)).toEqual(ids)
    const error = { name: 'Oops', message: 'no', code: 'E1' }
    const how = [
      { result: 'complete', ran_ms: 0.5 },
      { result: 'fail', error },
      { result: 'fail', error, retry_after: '5m' },
      { result: 'fail', error, fatal: true },
      { result: 'snooze', delay: '10m' },
      { result: 'hand_back' },
    ]
    const answer = await ask('settle', { worker, results: jobs.map(({ id, lease }, i) => ({ job: id, lease, ...how[i] })) })
    expect(answer.results).toMatchObject(ids.map((job) => ({ job, settled: true })))
    // What the answer says is what the job is.
    const became = [['completed', null], ['failed', 3_600_000], ['failed', 300_000], ['dead', null], ['scheduled', 600_000], ['pending', null]] // biome-ignore format: a table
    expect(answer.results.map(({ status, due_in_ms }: Answer) => [status, due_in_ms])).toEqual(became)
    const stories = await Promise.all(ids.map((id) => serving.holdfast.job(id)))
    expect(stories.map((story) => story?.status)).toEqual(['completed', 'failed', 'failed', 'dead', 'scheduled', 'pending'])
    const dueInMin = stories.map((story) => story?.dueAt && Math.round((story.dueAt.getTime() - Date.now()) / 60_000))
    expect(dueInMin.slice(1, 5)).toEqual([60, 5, null, 10])
    expect(stories[3]?.attempts).toMatchObject([{ outcome: 'failed', error }])
    expect(stories[5]).toMatchObject({ attempt: 1, attempts: [] })
    // Nothing is left under the lease, so it is gone.
    expect((await serving.sql.query('select from holdfast.leases where id = $1', [jobs[0].lease])).rowCount).toBe(0)
  })

  test('keeps what a handler returned, which anybody who sees the job sees', async () => {
    const id = await enqueue()
    const [job] = await claim()
    const returned = { sent: 3, to: ['ada', null] }
    expect(await settle(job, 'complete', { returned })).toMatchObject({ job: id, settled: true })
    expect(await serving.holdfast.job(id)).toMatchObject({ status: 'completed', result: returned })
    const read = async (path: string) =>
      (await fetch(serving.address + path, { headers: { authorization: `Bearer ${adminKey}` } })).json()
    expect(await read(`/jobs/${id}`)).toMatchObject({ status: 'completed', result: returned })
    expect(await read(`/jobs/${id}/wait`)).toMatchObject({ status: 'completed', result: returned })
    const without = await enqueue()
    await settle((await claim())[0], 'complete')
    expect(await read(`/jobs/${without}`)).not.toHaveProperty('result')
  })

  test('ends a job dead whose result cannot be kept, and says so; a result is only for a job that completed', async () => {
    const id = await enqueue()
    const [job] = await claim()
    const answer = await settle(job, 'complete', { returned: 'x'.repeat(65_535) })
    expect(answer).toMatchObject({ job: id, settled: true, code: 'result_too_large' })
    expect(await serving.holdfast.job(id)).toMatchObject({ status: 'dead', attempts: [{ error: { code: 'result_too_large' } }] })
    await enqueue()
    const [next] = await claim()
    const results = [{ job: next.id, lease: next.lease, result: 'hand_back', returned: 1 }]
    expect(await ask('settle', { worker, results })).toMatchObject({ field: 'results[0].returned' })
  })

  test('keeps as much of a result as the type that the worker defined says', async () => {
    const types = [
      { type: 'remote_much', max_result_bytes: 100_000 },
      { type: 'remote_none', max_result_bytes: 0 },
    ]
    const { worker } = await ask('register', { name: 'w', types })
    const ids: string[] = []
    for (const { type } of types) ids.push((await serving.holdfast.enqueue(type, {})).id)
    const { jobs } = await ask('claim', { worker, limit: 2 })
    const results = jobs.map(({ id, lease }: Answer) => ({ job: id, lease, result: 'complete', returned: 'x'.repeat(90_000) }))
    expect((await ask('settle', { worker, results })).results).toMatchObject([{ settled: true }, { settled: true }])
    const kept = await Promise.all(ids.map(async (id) => (await serving.holdfast.job(id))?.result))
    expect(kept.map((result) => (result as string | undefined)?.length)).toEqual([90_000, undefined])
  })

  test('answers a second try of the same call that it was done already', async () => {
    const id = await enqueue()
    const [job] = await claim()
    expect(await settle(job, 'complete')).toMatchObject({ job: id, settled: true })
    expect(await settle(job, 'complete')).toMatchObject({ job: id, settled: true, already: true })
    expect((await serving.holdfast.job(id))?.attempts).toHaveLength(1)
  })

  test('changes nothing under the lease of another worker, however it was come by', async () => {
    const id = await enqueue()
    const [job] = await claim()
    const other = (await ask('register', { name: 'thief', types: ['remote'] })).worker
    const stolen = { job: id, lease: job.lease }
    const answer = await ask('settle', {
      worker: other,
      results: [{ ...stolen, result: 'complete' }],
      reports: [{ ...stolen, lines: ['x'], checkpoint: 1 }],
    })
    expect(answer.results).toEqual([{ job: id, settled: false, code: 'lease_lost' }])
    expect((await ask('heartbeat', { worker: other, leases: [job.lease] })).lost).toEqual([job.lease])
    expect(await status(id)).toBe('processing')
    expect(await serving.holdfast.log(id)).toEqual([])
    expect((await ask('heartbeat', { worker, leases: [job.lease] })).lost).toEqual([])
  })

  test('does not take the number of a worker without its secret, nor one that has signed off', async () => {
    const [id = ''] = worker.split('.')
    for (const forged of [id, `${id}.${'A'.repeat(43)}`, `0.${'A'.repeat(43)}`, 'x', `${worker}x`]) {
      const response = await send('claim', { worker: forged })
      expect([response.status, ((await response.json()) as Answer).code]).toEqual([409, 'unknown_worker'])
    }
    const job = await enqueue()
    await claim()
    expect(await ask('sign-off', { worker })).toEqual({ handed_back: 1 })
    expect(await status(job)).toBe('pending')
    expect((await ask('claim', { worker })).code).toBe('unknown_worker')
    const { rows } = await serving.sql.query('select token_hash::text as hash from holdfast.workers where id = $1', [id])
    expect(rows[0].hash).not.toContain(worker.split('.')[1])
  })
})

describe('POST /worker/heartbeat', () => {
  test('renews, says which leases are lost and which jobs were cancelled, and keeps what handlers say', async () => {
    const [kept = '', cancelled = ''] = [await enqueue(), await enqueue()]
    const jobs = await claim({ limit: 2, lease: '5s' })
    await serving.holdfast.cancel(cancelled, { by: 'ada' })
    const lease = jobs[0].lease
    const lines = ['one', { line: 'two', level: 'warn' }]
    const reports = [{ job: kept, lease, progress: 0.25, note: 'page 1', lines, checkpoint: { page: 1 } }]
    const answer = await ask('heartbeat', { worker, leases: [lease, '999999'], lease: '1h', reports })
    expect(answer).toEqual({ lost: ['999999'], cancelled: [cancelled], unrecorded: [], drain: null })
    const { rows } = await serving.sql.query(
      `select expires_at > now() + interval '50 minutes' as renewed from holdfast.leases where id = $1`,
      [lease],
    )
    expect(rows).toEqual([{ renewed: true }])
    expect(await serving.holdfast.job(kept)).toMatchObject({ progress: { fraction: 0.25, note: 'page 1', attempt: 1 } })
    expect(await serving.holdfast.log(kept)).toMatchObject([
      { attempt: 1, level: 'info', line: 'one' },
      { attempt: 1, level: 'warn', line: 'two' },
    ])
    expect(
      (await ask('heartbeat', { worker, leases: [lease], reports: [{ job: cancelled, lease, lines: ['late'] }] })).unrecorded,
    ).toEqual([cancelled])
  })
})

test('of an attempt that logs without end ten thousand lines are kept, and the last one says so', async () => {
  const id = await enqueue()
  const [{ lease }] = (await claim()) as [Answer]
  const earlier = `insert into holdfast.log_lines (job_id, attempt, at, line) select $1, 1, now(), n from generate_series(1, 9998) as n`
  await serving.sql.query(earlier, [id])
  const say = (lines: string[]) =>
    ask('heartbeat', { worker, leases: [lease], reports: [{ job: id, lease, lines, progress: 0.5 }] })
  await say(['a', 'b', 'c'])
  await say(['d'])
  const { rows } = await serving.sql.query('select line from holdfast.log_lines where job_id = $1 order by id desc limit 2', [id])
  expect(rows).toEqual([{ line: expect.stringContaining('has logged 10000 lines') }, { line: 'a' }])
  const { rows: kept } = await serving.sql.query('select count(*)::int as n from holdfast.log_lines where job_id = $1', [id])
  expect(kept).toEqual([{ n: 10_000 }])
})
