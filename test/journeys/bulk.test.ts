import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { addDeadWorker } from '../support/expired-leases.js'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const who = { by: 'ada', why: 'the wrong text' }
/** No worker here runs it: its jobs wait. */
const mail = defineType({ type: 'mail' })
const other = defineType({ type: 'other', run() {} })

async function ended({ holdfast }: Queue, id: string) {
  return eventually(async () => {
    const bulk = await holdfast.bulkActions.get(id)
    return bulk?.endedAt ? bulk : undefined
  })
}

async function enqueueMails({ holdfast }: Queue, count: number, options: object = {}): Promise<string[]> {
  return (await holdfast.enqueueMany(Array.from({ length: count }, (_, n) => mail.job({ n }, options)))).map(({ id }) => id)
}

test('a bulk action does to all jobs that fit what is done to one, and says how many, in the audit log too', async () => {
  const queue = await makeQueue()
  const { holdfast, sql } = queue
  const spring = await enqueueMails(queue, 7, { tags: ['spring'] })
  await enqueueMails(queue, 3)
  const request = { action: 'cancel', filter: { tags: ['spring'] } } as const
  expect(await holdfast.bulkActions.estimate(request)).toEqual({ estimate: 7, more: false })
  const bulk = await holdfast.bulk(request, who)
  expect(bulk).toMatchObject({
    action: 'cancel',
    status: 'waiting',
    estimate: 7,
    done: 0,
    by: 'ada',
    filter: { tags: ['spring'] },
  })
  // What is enqueued after it is not meant.
  const late = await enqueueMails(queue, 1, { tags: ['spring'] })
  await startHere(queue, [other])
  expect(await ended(queue, bulk.id)).toMatchObject({ status: 'completed', matched: 7, done: 7, refused: {} })
  for (const id of spring) expect(await holdfast.job(id)).toMatchObject({ status: 'cancelled' })
  expect(await holdfast.job(late[0] as string)).toMatchObject({ status: 'pending' })
  const [line] = await holdfast.audit({ action: 'cancel_jobs' })
  expect(line).toMatchObject({ actor: 'ada', why: 'the wrong text', after: { bulk: bulk.id } })
  expect(
    (await sql(`select jsonb_array_length(after -> 'jobs') as n from holdfast.audit_log where action = 'cancel_jobs'`))[0]?.n,
  ).toBe(7)
  expect((await holdfast.bulkActions.list()).map(({ id }) => id)).toEqual([bulk.id])
})

test('every action of a list of ids refuses, with the reason, a job that has changed since it was chosen', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const [waits, gone] = (await enqueueMails(queue, 2, { delay: '1h' })) as [string, string]
  const ids = [waits, gone]
  await holdfast.cancel(gone, { by: 'grace' })
  await startHere(queue, [other])
  const priority = await holdfast.bulk({ action: 'set-priority', priority: 9, ids }, who)
  expect(await ended(queue, priority.id)).toMatchObject({ done: 1, refused: { 'it was already cancelled': 1 } })
  const later = await holdfast.bulk({ action: 'reschedule', delay: '2h', ids }, who)
  expect(await ended(queue, later.id)).toMatchObject({ done: 1 })
  const now = await holdfast.bulk({ action: 'run-now', ids }, who)
  expect(await ended(queue, now.id)).toMatchObject({ done: 1 })
  expect(await holdfast.job(waits)).toMatchObject({ status: 'pending', priority: 9 })
  const again = await holdfast.bulk({ action: 'replay', ids: [waits] }, who)
  expect(await ended(queue, again.id)).toMatchObject({ done: 0, refused: { 'it is not dead but pending': 1 } })
})

test('retry makes failed jobs due and replays dead ones; a sensitive type has to be confirmed; discard ends dead ones', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  let fail = true
  const run = () => {
    if (fail) throw new Error('no')
  }
  const flaky = defineType({ type: 'flaky', run, backoff: { base: '1h', factor: 1, cap: '1h', jitter: 0 } })
  const payment = defineType({ type: 'payment', sensitive: true, maxAttempts: 1, run })
  await startHere(queue, [flaky, payment])
  const failed = await holdfast.enqueue(flaky, {})
  const [dead] = await holdfast.enqueueMany([flaky.job({}, { maxAttempts: 1 }), payment.job({}), payment.job({})])
  await eventually(async () => (await holdfast.jobs({ status: 'dead' })).jobs.length === 3)
  await eventually(async () => (await holdfast.jobs({ status: 'failed' })).jobs.length === 1)
  fail = false
  const retry = await holdfast.bulk({ action: 'retry', filter: { all: true } }, who)
  expect(retry).toMatchObject({ estimate: 4 })
  const done = await ended(queue, retry.id)
  expect(done).toMatchObject({ done: 2, refused: { 'its type is sensitive, and was not confirmed': 2 } })
  await eventually(async () => (await holdfast.job(failed.id))?.status === 'completed')
  await eventually(async () => (await holdfast.job(dead?.id as string))?.status === 'completed')
  const discard = await holdfast.bulk({ action: 'discard', filter: { type: 'payment' } }, who)
  expect(await ended(queue, discard.id)).toMatchObject({ done: 2 })
})

test('bury makes dead letters of what does not run, and resume takes up what was cancelled; a sensitive type has to be confirmed', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const long = defineType({ type: 'long', run: () => held })
  const payment = defineType({ type: 'payment', sensitive: true })
  await holdfast.registerTypes([payment])
  await startHere(queue, [long])
  const running = await holdfast.enqueue(long, {}, { tags: ['spring'] })
  const waits = await enqueueMails(queue, 3, { tags: ['spring'], delay: '1h' })
  await eventually(async () => (await holdfast.job(running.id))?.status === 'processing')
  const bury = await holdfast.bulk({ action: 'bury', filter: { tags: ['spring'] } }, who)
  expect(await ended(queue, bury.id)).toMatchObject({
    ...{ estimate: 4, matched: 4, done: 3 },
    refused: { 'it runs; cancel it, or bury it when its attempt has ended': 1 },
  })
  for (const id of waits) expect(await holdfast.job(id)).toMatchObject({ status: 'dead' })
  release()

  const cancelled = await enqueueMails(queue, 3, { tags: ['autumn'] })
  const [paid] = await holdfast.enqueueMany([payment.job({}, { tags: ['autumn'] })])
  for (const id of [...cancelled, paid?.id as string]) await holdfast.cancel(id, { by: 'grace' })
  const resume = { action: 'resume', filter: { tags: ['autumn'] } } as const
  expect(await holdfast.bulkActions.estimate(resume)).toEqual({ estimate: 4, more: false })
  const first = await holdfast.bulk(resume, who)
  expect(await ended(queue, first.id)).toMatchObject({ done: 3, refused: { 'its type is sensitive, and was not confirmed': 1 } })
  for (const id of cancelled) expect(await holdfast.job(id)).toMatchObject({ status: 'pending' })
  const [line] = await holdfast.audit({ action: 'resume_job', limit: 1 })
  expect(line).toMatchObject({ actor: 'ada', why: 'the wrong text' })
  const confirmed = await holdfast.bulk({ action: 'resume', ids: [...cancelled, paid?.id as string], confirm: 'payment' }, who)
  expect(await ended(queue, confirmed.id)).toMatchObject({
    done: 1,
    refused: { 'it was already resumed by ada and is pending': 3 },
  })
  await expect(holdfast.bulk({ action: 'bury', filter: { status: 'processing' } }, who)).rejects.toMatchObject({
    field: 'filter.status',
  })
})

test('a bulk resume passes over a job on which somebody works, and comes back to it', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const ids = await enqueueMails(queue, 3)
  for (const id of ids) await holdfast.cancel(id, who)
  const works = await queue.connect()
  await works.query('begin')
  await works.query('select from holdfast.bodies where id = $1 for update', [ids[1]])
  const bulk = await holdfast.bulk({ action: 'resume', ids }, who)
  await startHere(queue, [other])
  await eventually(async () => (await holdfast.bulkActions.get(bulk.id))?.done === 2)
  expect(await holdfast.job(ids[1] as string)).toMatchObject({ status: 'cancelled' })
  await works.query('commit')
  expect(await ended(queue, bulk.id)).toMatchObject({ done: 3, refused: {} })
})

test('where a worker dies in the middle of it, another goes on behind the last portion, and nothing is done twice', async () => {
  const queue = await makeQueue()
  const { holdfast, sql } = queue
  await startHere(queue, [other]).then((worker) => worker.stop())
  await enqueueMails(queue, 10)
  const bulk = await holdfast.bulk({ action: 'set-priority', priority: 1, filter: { type: 'mail' } }, who)
  const dead = await addDeadWorker(queue)
  const [types] = await sql(`select array_agg(id) as ids from holdfast.types where name = 'holdfast:bulk'`)
  await sql(
    `select holdfast.claim_jobs($1, (select id from holdfast.lanes where name = 'default'), $2, 1, 60000, array_fill(0::bigint, array[10]))`,
    [dead, types?.ids],
  )
  expect(await holdfast.job(bulk.id)).toMatchObject({ status: 'processing' })
  await insideOf(holdfast).store.bulk.portion(bulk.id, 4)
  expect(await holdfast.bulkActions.get(bulk.id)).toMatchObject({ status: 'running', matched: 4, done: 4 })
  await sql(`update holdfast.leases set expires_at = '2000-01-01'`)
  await startHere(queue, [other])
  expect(await ended(queue, bulk.id)).toMatchObject({ status: 'completed', matched: 10, done: 10, refused: {} })
  expect(await sql('select job_id from holdfast.moves group by job_id having count(*) <> 1')).toEqual([])
  // The attempt that lost its lease comes too late.
  expect(await insideOf(holdfast).store.bulk.portion(bulk.id, 4)).toMatchObject({ more: false, taken: 0 })
})

test('an abort beside its progress ends it after the portion under way, and what is done stays done', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  await enqueueMails(queue, 300)
  const bulk = await holdfast.bulk({ action: 'cancel', pace: 5, filter: { type: 'mail' } }, who)
  await startHere(queue, [other])
  await eventually(async () => ((await holdfast.bulkActions.get(bulk.id))?.done ?? 0) > 0)
  const aborted = await holdfast.bulkActions.abort(bulk.id, { by: 'grace', why: 'they are needed' })
  expect(aborted).toMatchObject({ status: 'aborted', abortedBy: 'grace', abortedWhy: 'they are needed' })
  await eventually(async () => (await holdfast.job(bulk.id))?.status === 'completed')
  const after = await holdfast.bulkActions.get(bulk.id)
  expect(after).toMatchObject({ status: 'aborted', done: aborted.done })
  expect((await holdfast.bulkActions.estimate({ action: 'cancel', filter: { type: 'mail' } })).estimate).toBe(300 - aborted.done)
  await expect(holdfast.bulkActions.abort(bulk.id, who)).rejects.toMatchObject({ code: 'conflict' })
})

test('two bulk actions over the same jobs both come to their end, and cancelling all cancels neither', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  await enqueueMails(queue, 300)
  const cancel = await holdfast.bulk({ action: 'cancel', filter: { all: true } }, who)
  const priority = await holdfast.bulk({ action: 'set-priority', priority: 9, filter: { type: 'mail' } }, who)
  await startHere(queue, [other])
  await startHere(queue, [other])
  expect(await ended(queue, cancel.id)).toMatchObject({ status: 'completed', done: 300 })
  const moved = await ended(queue, priority.id)
  expect(moved.done + Object.values(moved.refused).reduce((sum, count) => sum + count, 0)).toBe(moved.matched)
  expect(moved.status).toBe('completed')
})

test('a request that is wrong is refused whole, and nothing is stored', async () => {
  const { holdfast } = await makeQueue()
  const wrong: [object, string][] = [
    [{ action: 'delete', filter: { all: true } }, 'action'],
    [{ action: 'cancel' }, 'filter'],
    [{ action: 'cancel', filter: {} }, 'filter'],
    [{ action: 'cancel', filter: { status: 'completed' } }, 'filter.status'],
    [{ action: 'cancel', filter: { all: true }, ids: [] }, 'filter'],
    [{ action: 'cancel', ids: ['x'] }, 'ids[0]'],
    [{ action: 'cancel', filter: { all: true }, priority: 3 }, 'priority'],
    [{ action: 'set-priority', filter: { all: true } }, 'priority'],
    [{ action: 'reschedule', filter: { all: true } }, 'runAt'],
    [{ action: 'cancel', filter: { all: true }, pace: 0 }, 'pace'],
  ]
  for (const [request, field] of wrong) {
    await expect(holdfast.bulk(request as never, who), JSON.stringify(request)).rejects.toMatchObject({ field })
  }
  await expect(holdfast.bulk({ action: 'cancel', filter: { all: true } }, {} as never)).rejects.toMatchObject({ field: 'by' })
  expect(await holdfast.bulkActions.list()).toEqual([])
})
