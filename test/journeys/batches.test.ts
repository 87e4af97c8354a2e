import { FatalError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { ended, types } from '../support/batches.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const who = { by: 'ada', why: 'to see what happens' }

describe('a batch', () => {
  test('counts its members by status and ends with one job of each callback that is due', async () => {
    const queue = await makeQueue()
    const { part, callbacks, called, all } = types((payload) => {
      if (payload === 'bad') throw new FatalError('broken')
    })
    const { id, status, jobs } = await queue.holdfast.batch({
      name: 'parts',
      jobs: ['good', 'good', 'bad'].map((payload) => part.job(payload)),
      ...callbacks,
    })
    expect({ status, jobs: jobs.map((job) => job.status) }).toEqual({ status: 'created', jobs: Array(3).fill('created') })
    expect(await queue.holdfast.batches.get(id)).toMatchObject({
      ...{ name: 'parts', owner: null, status: 'running', round: 1, open: false, total: 3, live: 3, completed: 0 },
      ...{ finishedAt: null, callbacks: [], waitsFor: '3 of its 3 members to end' },
    })
    await startHere(queue, all)
    expect(await ended(queue, id)).toMatchObject({ status: 'failed', total: 3, live: 0, completed: 2, dead: 1, waitsFor: null })
    await eventually(() => called.length === 2)
    expect(called.sort()).toEqual(['complete', 'failure'])
    const { callbacks: jobsOf = [] } = (await queue.holdfast.batches.get(id)) ?? {}
    expect(jobsOf.map(({ round, kind }) => `${round} ${kind}`)).toEqual(['1 complete', '1 failure'])
    for (const job of [jobs[0]?.id as string, jobsOf[0]?.job as string]) {
      expect((await queue.holdfast.batches.of(job))?.id, 'of a member and of a callback').toBe(id)
    }
    expect(await queue.sql('select status, total, completed, dead from holdfast.batch_progress')).toEqual([
      { status: 'failed', total: 3, completed: 2, dead: 1 },
    ])
  })

  test('that is empty succeeds at once, also in a transaction, and not before that is committed', async () => {
    const queue = await makeQueue()
    const { callbacks, called, all } = types()
    await startHere(queue, all)
    const { id } = await queue.holdfast.batch(callbacks)
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', total: 0 })
    await eventually(() => called.length === 2)
    expect(called.sort()).toEqual(['complete', 'success'])
    const tx = await queue.connect()
    await tx.query('begin')
    const inside = await queue.holdfast.batch(callbacks, { tx })
    expect(await queue.holdfast.batches.get(inside.id)).toBeUndefined()
    await tx.query('rollback')
    expect(await queue.holdfast.batches.get(inside.id)).toBeUndefined()
    expect(await queue.sql('select from holdfast.batch_callbacks')).toHaveLength(2)
  })

  test('exists with its members if and only if the transaction of its caller commits', async () => {
    const queue = await makeQueue()
    const { part, all } = types()
    const tx = await queue.connect()
    for (const end of ['rollback', 'commit']) {
      await tx.query('begin')
      const { id } = await queue.holdfast.batch({ jobs: [part.job('a')] }, { tx })
      await queue.holdfast.batches.add(id, [part.job('b')], { tx })
      await tx.query(end)
      expect((await queue.holdfast.batches.get(id))?.total, end).toBe(end === 'commit' ? 2 : undefined)
    }
    expect(await queue.sql('select from holdfast.members')).toHaveLength(2)
    await startHere(queue, all)
  })

  test('with an id of its caller is made once, and its members with it', async () => {
    const queue = await makeQueue()
    const { part } = types()
    const [{ id }] = (await queue.sql('select holdfast.new_job_id() as id')) as [{ id: string }]
    const request = { id, jobs: [part.job('a')] }
    expect(await queue.holdfast.batch(request)).toMatchObject({ id, status: 'created' })
    expect(await queue.holdfast.batch(request)).toEqual({ id, status: 'existing', jobs: [] })
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ total: 1 })
  })

  test('takes only jobs that are new: one that was there stays what it was', async () => {
    const queue = await makeQueue()
    const { part, all } = types()
    await queue.holdfast.enqueue(part, 'before', { idempotencyKey: 'k', delay: '1h' })
    const { id, jobs } = await queue.holdfast.batch({ jobs: [part.job('again', { idempotencyKey: 'k' }), part.job('new')] })
    expect(jobs.map((job) => job.status)).toEqual(['existing', 'created'])
    await startHere(queue, all)
    expect(await ended(queue, id)).toMatchObject({ status: 'succeeded', total: 1 })
  })
})

describe('when a batch has ended', () => {
  test('retrying its failed members is one new round with callbacks of its own', async () => {
    const queue = await makeQueue()
    let broken = true
    const { part, callbacks, called, all } = types((payload) => {
      if (payload === 'bad' && broken) throw new FatalError('broken')
    })
    const { id } = await queue.holdfast.batch({ jobs: ['good', 'bad', 'bad'].map((payload) => part.job(payload)), ...callbacks })
    await startHere(queue, all)
    await ended(queue, id)
    broken = false
    expect(await queue.holdfast.batches.retry(id, who)).toEqual({ matched: 2, done: 2, refused: {} })
    await eventually(() => called.length === 4)
    expect(called.sort()).toEqual(['complete', 'complete', 'failure', 'success'])
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', round: 2, completed: 3, dead: 0 })
    expect(await queue.holdfast.batches.retry(id, who)).toEqual({ matched: 0, done: 0, refused: {} })
    expect((await queue.holdfast.audit({ action: 'retry_batch' })).length).toBe(1)
  })

  test('a round that is over before anybody has counted it has its callbacks all the same', async () => {
    const queue = await makeQueue()
    let broken = true
    const { part, callbacks, called, all } = types(() => {
      if (broken) throw new FatalError('broken')
    })
    const { id, jobs } = await queue.holdfast.batch({ jobs: [part.job('a')], ...callbacks })
    await startHere(queue, all)
    await ended(queue, id)
    broken = false
    const holder = await queue.connect()
    await holder.query('begin')
    await holder.query('select from holdfast.batches where id = $1 for update', [id])
    await queue.holdfast.batches.retry(id, who)
    await eventually(async () => (await queue.holdfast.job(jobs[0]?.id as string))?.status === 'completed')
    await holder.query('commit')
    await eventually(() => called.length === 4)
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', round: 2, completed: 1, dead: 0 })
  })

  test('a member that is discarded moves in the counts and begins no round', async () => {
    const queue = await makeQueue()
    const { part, callbacks, all } = types(() => {
      throw new FatalError('broken')
    })
    const { id, jobs } = await queue.holdfast.batch({ jobs: [part.job('bad'), part.job('bad')], ...callbacks })
    await startHere(queue, all)
    await ended(queue, id)
    await queue.holdfast.deadLetters.discard(jobs[0]?.id as string, who)
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'failed', round: 1, dead: 1, discarded: 1, total: 2 })
    await eventually(async () => (await queue.sql('select from holdfast.group_changes')).length === 0)
    expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'failed', round: 1, dead: 1, discarded: 1, total: 2 })
  })

  test('it is kept as long as its jobs are, and goes with what says who its members were', async () => {
    const queue = await makeQueue()
    const { part, callbacks, all } = types((payload) => {
      if (payload === 'bad') throw new FatalError('broken')
    })
    const good = await queue.holdfast.batch({ jobs: [part.job('good'), part.job('good')], ...callbacks })
    const bad = await queue.holdfast.batch({ jobs: [part.job('bad')] })
    const open = await queue.holdfast.batch({ open: true })
    await startHere(queue, all)
    for (const { id } of [good, bad]) await ended(queue, id)
    const sweep = (completed: string) => queue.sql(`select holdfast.sweep_batches($1, '1 hour', 2)`, [completed])
    await sweep('1 hour')
    expect(await queue.holdfast.batches.list()).toHaveLength(3)
    await queue.sql("update holdfast.batches set finished_at = finished_at - interval '30 minutes'")
    await sweep('1 minute')
    await sweep('1 minute')
    expect((await queue.holdfast.batches.list()).map(({ id }) => id)).toEqual([open.id, bad.id])
    expect(await queue.sql('select from holdfast.members')).toHaveLength(1)
    expect(await queue.sql('select from holdfast.batch_callbacks')).toEqual([])
  })
})

test('what is wrong with a batch is refused before anything is stored', async () => {
  const queue = await makeQueue()
  const { part, done } = types()
  const refuse = async (request: object, message: RegExp, code = 'invalid_option') =>
    expect(queue.holdfast.batch(request as never)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  await refuse({ job: [] }, /job is not known.*jobs/)
  await refuse({ name: '' }, /name must be/)
  await refuse({ id: 'x' }, /UUIDv7/)
  await refuse({ open: 1 }, /open/)
  await refuse({ onSuccess: done.job('x', { idempotencyKey: 'k' }) }, /onSuccess\.idempotencyKey cannot be given/)
  await refuse({ onFailure: { type: done, payload: 'x', priority: 12 } }, /onFailure.*priority/)
  await refuse({ onComplete: { type: 'nobody', payload: {} } }, /nobody/, 'unknown_type')
  await refuse({ jobs: [part.job('a'), { type: part, payload: 'a', priority: 12 }] }, /priority/)
  expect(await queue.sql('select from holdfast.batches union all select from holdfast.bodies')).toEqual([])
})
