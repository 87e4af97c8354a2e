import { defineType } from 'holdfast'
import { createServer } from 'holdfast/server'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { countersOf, readMeasured, scrape } from '../support/measured.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { adminKey, quiet } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

const ada = { by: 'ada', why: 'tested' }
const inAnHour = () => new Date(Date.now() + 3_600_000)
const overAtOnce = { expireIn: '1ms' } as const

let ran: unknown[]
const note = defineType({ type: 'note', limits: { breaker: false }, run: (payload) => void ran.push(payload) })
const strict = defineType({ type: 'strict', alertExpired: true, run: (payload) => void ran.push(payload) })

async function queueOf(...types: (typeof note)[]): Promise<Queue> {
  ran = []
  const queue = await makeQueue()
  await queue.holdfast.registerTypes(types.length > 0 ? types : [note])
  return queue
}

async function expired(queue: Queue, id: string): Promise<void> {
  await eventually(async () => (await queue.holdfast.job(id))?.status === 'dead')
  expect(await queue.holdfast.deadLetters.get(id)).toMatchObject({
    reason: 'expired',
    error: { name: 'Expired', message: expect.stringMatching(/^it had not started by 20\d\d-/) },
  })
}

/** What a worker that looks for jobs at this moment would get, and nobody looks after what is due. */
const claimed = async (queue: Queue) =>
  (await queue.sql('select ids from holdfast.claim_jobs(1, 1::smallint, null, 100, 60000, array_fill(0::bigint, array[10]))'))[0]
    ?.ids ?? []

test('a job that has not started by its time ends dead as expired, wherever it waits, and is never started', async () => {
  const queue = await queueOf()
  const { holdfast } = queue
  const unique = { key: 'one', onConflict: 'one_more' } as const
  const { id: first } = await holdfast.enqueue(note, 'first', { unique, tags: ['lead'] })
  expect(await claimed(queue)).toEqual([first])
  const jobs = await holdfast.enqueueMany([
    note.job('free', overAtOnce),
    note.job('scheduled', { ...overAtOnce, runAt: inAnHour() }),
    note.job('asks', { ...overAtOnce, approval: true }),
    note.job('behind', { ...overAtOnce, unique }),
    note.job('past', { startBy: new Date(Date.now() - 60_000) }),
  ])
  expect(jobs[3]?.status).toBe('queued_behind')
  await startHere(queue, [note])
  for (const { id } of jobs) await expired(queue, id)
  expect(ran).toEqual([])
  expect(await queue.sql('select * from holdfast.start_deadlines')).toEqual([])
  expect(await holdfast.job(first)).toMatchObject({ status: 'processing' })
})

test('a job before a closed gate expires as well, and frees its place for those that have no time', async () => {
  const queue = await queueOf()
  await queue.holdfast.flow.limit('note', { maxRunningPerKey: 1 }, ada)
  await queue.holdfast.flow.pauseType('note', ada)
  const late = await queue.holdfast.enqueue(note, 'late', { ...overAtOnce, concurrencyKey: 'k' })
  const plain = await queue.holdfast.enqueue(note, 'plain', { concurrencyKey: 'k' })
  await startHere(queue, [note])
  await expired(queue, late.id)
  await queue.holdfast.flow.resumeType('note', ada)
  await queue.holdfast.wait(plain.id)
  expect(ran).toEqual(['plain'])
})

test('a claim passes over jobs whose time is over, before anybody has ended them, and takes those behind them', async () => {
  const queue = await queueOf(note, strict)
  await queue.holdfast.flow.limit('strict', { maxRunning: 2 }, ada)
  await queue.holdfast.enqueueMany(Array.from({ length: 150 }, (_, n) => note.job(n, overAtOnce)))
  await queue.holdfast.enqueueMany([strict.job('late', overAtOnce), strict.job('late', overAtOnce)])
  const free = await queue.holdfast.enqueue(note, 'free', { expireIn: '1h' })
  expect(await claimed(queue)).toEqual([free.id])
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
  const worker = await startHere(queue, [note, strict])
  await eventually(async () => (await queue.sql(`select from holdfast.dead_letters where reason = 'expired'`)).length === 152)
  await worker.stop()
  expect(ran).toEqual([])
})

test('a job that has started does not expire: not while it runs, not between attempts, not while it is snoozed', async () => {
  const queue = await queueOf()
  const started: number[] = []
  const again = defineType({
    type: 'again',
    backoff: { base: 1, cap: 1, jitter: 0 },
    async run(how: string, { job, snooze }) {
      started.push(job.attempt)
      if (started.length > 1) return how
      // Its time is over from here on.
      await queue.sql(`update holdfast.start_deadlines set start_by = holdfast.now(), look_at = holdfast.now()`)
      if (how === 'fails') throw new Error('once')
      return snooze(1)
    },
  })
  await startHere(queue, [again])
  for (const how of ['fails', 'snoozes']) {
    started.length = 0
    const job = await queue.holdfast.enqueue(again, how, { startBy: inAnHour() })
    expect(await queue.holdfast.wait(job)).toBe(how)
    expect(started).toHaveLength(2)
  }
  await eventually(async () => (await queue.sql('select from holdfast.start_deadlines')).length === 0)
})

test('a job that was claimed in time and handed back unstarted expires; one that somebody holds expires once they let go', async () => {
  const queue = await queueOf()
  const back = await queue.holdfast.enqueue(note, 'back', { startBy: inAnHour() })
  expect(await claimed(queue)).toEqual([back.id])
  const held = await queue.holdfast.enqueue(note, 'held', { startBy: inAnHour() })
  const somebody = await queue.connect()
  await somebody.query('begin')
  await somebody.query('select from holdfast.queue where job_id = $1 for update', [held.id])
  const other = await queue.holdfast.enqueue(note, 'other', overAtOnce)
  await queue.sql('update holdfast.start_deadlines set start_by = holdfast.now(), look_at = holdfast.now()')
  await startHere(queue, [note])
  await expired(queue, other.id)
  expect(await queue.sql('select job_id from holdfast.start_deadlines where look_at > start_by order by 1')).toEqual(
    [{ job_id: back.id }, { job_id: held.id }].sort((a, b) => (a.job_id < b.job_id ? -1 : 1)),
  )
  await queue.sql('select holdfast.release_unacknowledged(1, array[]::bigint[])')
  await somebody.query('rollback')
  await expired(queue, back.id)
  await expired(queue, held.id)
  expect(ran).toEqual([])
}, 60_000)

test('the end of an expired job frees its unique key, starts who waits behind it and tells who waits for it', async () => {
  const queue = await queueOf()
  const unique = { key: 'one' } as const
  const { holdfast } = queue
  const leader = await holdfast.enqueue(note, 'leader', { unique, runAt: inAnHour(), expireIn: '1ms' })
  await expect(holdfast.enqueue(note, 'second', { unique })).rejects.toMatchObject({ code: 'unique_conflict' })
  const waiting = expect(holdfast.wait(leader)).rejects.toMatchObject({ code: 'job_dead', reason: 'expired' })
  await queue.sql(
    `with moved as (
       insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload)
       select gen_random_uuid(), type_id, 5, 5, holdfast.now(), '"follower"' from holdfast.bodies returning id, type_id)
     insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
     select id, $1, holdfast.now(), type_id, 1, 5 from moved`,
    [leader.id],
  )
  await startHere(queue, [note])
  await waiting
  await eventually(() => ran.includes('follower'))
  await holdfast.wait(await holdfast.enqueue(note, 'second', { unique }))
  expect(ran).toEqual(['follower', 'second'])
})

test('a job that is replaced or debounced has the time of the newcomer, and none where that has none', async () => {
  const queue = await queueOf()
  const unique = { key: 'one', onConflict: 'replace' } as const
  const later = { unique, runAt: inAnHour() }
  const times = () =>
    queue.sql(`select job_id, start_by > holdfast.now() + interval '90 minutes' as long from holdfast.start_deadlines`)
  const { id } = await queue.holdfast.enqueue(note, 1, { ...later, expireIn: '61m' })
  await queue.holdfast.enqueueMany([note.job(2, { ...later, expireIn: '3h' }), note.job(3, { ...later, expireIn: '2h' })])
  expect(await times()).toEqual([{ job_id: id, long: true }])
  await queue.holdfast.enqueue(note, 4, later)
  expect(await times()).toEqual([])
  // A second enqueue of the same job changes nothing about the first.
  const keyed = await queue.holdfast.enqueue(note, 5, { idempotencyKey: 'k', expireIn: '1h' })
  await queue.holdfast.enqueue(note, 5, { idempotencyKey: 'k', expireIn: '9h' })
  expect(await times()).toEqual([{ job_id: keyed.id, long: false }])
})

test('an expired job has a counter of its own, and an alert only where its type asks for one', async () => {
  const queue = await queueOf(note, strict)
  const { holdfast } = queue
  expect(await holdfast.alerts.look()).toEqual([])
  await holdfast.enqueueMany([note.job(1, overAtOnce), strict.job(2, overAtOnce), strict.job(3, overAtOnce)])
  await startHere(queue, [note, strict])
  await eventually(async () => (await queue.sql('select from holdfast.dead_letters')).length === 3)
  await queue.sql('update holdfast.alerts_looked set at = default')
  expect(await holdfast.alerts.look()).toEqual([{ state: 'firing', rule: 'dead-letters', subject: 'strict', value: 2 }])
  const measured = readMeasured(await scrape(holdfast))
  expect(countersOf(measured, 'strict').dead).toBe(0)
  expect(measured.get('holdfast_jobs_expired_total{type="strict"}')).toBe(2)
  await queue.sql('select holdfast.keep_totals()')
  expect(await queue.sql(`select expired::int, ended::int from holdfast.counters where expired = 2`)).toEqual([
    { expired: 2, ended: 2 },
  ])
})

test('a replay of an expired job runs it, whatever the time; one that nobody had approved asks again', async () => {
  const queue = await queueOf()
  const { holdfast } = queue
  const plain = await holdfast.enqueue(note, 'plain', overAtOnce)
  const asks = await holdfast.enqueue(note, 'asks', { ...overAtOnce, approval: { deadline: '1h' } })
  await startHere(queue, [note])
  await expired(queue, plain.id)
  await expired(queue, asks.id)
  await holdfast.deadLetters.replay(plain.id, ada)
  await holdfast.wait(plain)
  expect(await holdfast.deadLetters.replay(asks.id, ada)).toMatchObject({ done: true, status: 'awaiting_approval' })
  expect(ran).toEqual(['plain'])
  await holdfast.approve(asks.id, ada)
  await holdfast.wait(asks)
  expect((await holdfast.job(asks.id))?.changes).toMatchObject([{ move: 'replay', before: { reason: 'expired' } }])
})

test('explain says by when a job has to start', async () => {
  const queue = await queueOf()
  const { id } = await queue.holdfast.enqueue(note, 1, { runAt: inAnHour(), expireIn: '2h' })
  const told = await queue.holdfast.explain(id)
  expect(told?.gates[0]).toMatchObject({
    gate: 'scheduled',
    why: expect.stringMatching(/; it ends as expired unless it has started by 20/),
  })
})

test('SQL and HTTP take the same times, and what could never start is refused everywhere', async () => {
  const queue = await queueOf()
  const { holdfast, sql } = queue
  const server = createServer(holdfast, { adminKey, logger: quiet })
  onTestFinished(() => server.close())
  const post = async (body: object) =>
    server.inject({
      method: 'POST',
      url: '/jobs',
      headers: { authorization: `Bearer ${adminKey}` },
      payload: { type: 'note', payload: 1, ...body },
    })
  const enqueue = (options: object) => sql('select id from holdfast.enqueue($1, $2, $3)', ['note', 1, JSON.stringify(options)])

  expect((await post({ start_by: inAnHour().toISOString() })).statusCode).toBe(201)
  expect((await post({ expire_in: '1h' })).statusCode).toBe(201)
  await enqueue({ start_by: inAnHour().toISOString() })
  await enqueue({ expire_in: '1 hour' })
  expect(
    await sql(`select job_id from holdfast.start_deadlines where start_by > holdfast.now() + interval '50 minutes'`),
  ).toHaveLength(4)

  const delay = '2h'
  await expect(holdfast.enqueue(note, 1, { delay, expireIn: '1h' })).rejects.toThrow('expireIn must be longer than delay')
  await expect(holdfast.enqueue(note, 1, { runAt: inAnHour(), startBy: new Date() })).rejects.toThrow(
    'startBy must be later than runAt',
  )
  await expect(holdfast.enqueue(note, 1, { startBy: new Date(), expireIn: 1 })).rejects.toMatchObject({ field: 'startBy' })
  await expect(holdfast.enqueue(note, 1, { expireIn: 0 })).rejects.toMatchObject({ field: 'expireIn' })
  await expect(enqueue({ delay: '2 hours', expire_in: '1 hour' })).rejects.toThrow('it must be longer than delay')
  await expect(enqueue({ start_by: '2030-01-01Z', expire_in: '1 hour' })).rejects.toThrow('exclude each other')
  await expect(enqueue({ expire_in: '60' })).rejects.toThrow('it must have a unit')
  expect((await post({ delay, expire_in: '1h' })).json()).toMatchObject({
    field: 'expire_in',
    detail: 'expire_in must be longer than delay',
  })
})
