import { defineType, type Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { eachTestHas } from '../support/fresh-installation.js'
import { quiet } from '../support/serving.js'
import { soon, sync, uniqueJobs } from '../support/unique-jobs.js'

let holdfast: Holdfast
let sql: pg.Client
eachTestHas({}, (made) => {
  ;({ holdfast, sql } = made)
})
const { enqueue, moveTo, dueIn, count, slowWorker, isNow } = uniqueJobs(() => ({ holdfast, sql }))

describe('what happens to the second', () => {
  it('reject names the standing job, and refuses several jobs whole', async () => {
    const { id } = await enqueue(1, { key: 'k' })
    await expect(enqueue(2, { key: 'k' })).rejects.toMatchObject({ code: 'unique_conflict', status: 409, jobId: id })
    const jobs = [sync.job(3, { unique: { key: 'new' } }), sync.job(4), sync.job(5, { unique: { key: 'k' } })]
    await expect(holdfast.enqueueMany(jobs)).rejects.toThrow(id)
    const twice = [sync.job(3, { unique: { key: 'new' } }), sync.job(4, { unique: { key: 'new' } })]
    await expect(holdfast.enqueueMany(twice)).rejects.toMatchObject({ code: 'unique_conflict' })
    expect(await count()).toBe(1)
    expect((await enqueue(6, { key: 'new' })).status).toBe('created')
  })

  it('replace gives the waiting job a new payload, priority and time, and a running one is left alone', async () => {
    const replace = { key: 'k', onConflict: 'replace' } as const
    const { id } = await enqueue('scheduled', replace, { delay: '1h' })
    expect(await enqueue('sooner', replace, { delay: '1m', priority: 9 })).toEqual({ id, status: 'replaced' })
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled', payload: 'sooner', priority: 9 })
    expect(await dueIn(id)).toBeCloseTo(60, -1)
    const { started, open, stop } = await slowWorker()
    expect(await enqueue('now', replace)).toEqual({ id, status: 'replaced' })
    await isNow(id, 'processing')
    expect(started).toEqual(['now'])
    expect(await enqueue('counts', { ...replace, states: ['processing'] }), 'it cannot be changed any more').toEqual({
      id,
      status: 'existing',
    })
    expect((await enqueue('beside', replace)).status).toBe('created')
    await vi.waitFor(() => expect(started).toEqual(['now', 'beside']), soon)
    open()
    open()
    await isNow(id, 'completed')
    await stop()
  })

  it('replace keeps the place in line of a job that is due, and puts it off where a later time is asked', async () => {
    const replace = { key: 'k', onConflict: 'replace' } as const
    const { id } = await enqueue('first', replace)
    await enqueue('behind', false)
    expect((await enqueue('second', replace)).status).toBe('replaced')
    const { rows } = await sql.query('select job_id from holdfast.queue order by seq')
    expect(rows[0].job_id).toBe(id)
    expect((await enqueue('later', replace, { delay: '1h' })).status).toBe('replaced')
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled', payload: 'later' })
    expect(await count()).toBe(2)
  })

  it('replace works before a gate too', async () => {
    await holdfast.registerTypes([sync])
    await holdfast.flow.limit('sync', { maxRunning: 1 }, { by: 'ada' })
    const replace = { key: 'k', onConflict: 'replace' } as const
    const { id } = await enqueue('first', replace)
    expect(await enqueue('gated', replace, { priority: 7 })).toEqual({ id, status: 'replaced' })
    expect(await holdfast.job(id)).toMatchObject({ status: 'pending', payload: 'gated', priority: 7 })
    expect(await enqueue('later', replace, { delay: '1h' })).toEqual({ id, status: 'replaced' })
    const { started, open, stop } = await slowWorker()
    await enqueue('other', false)
    await vi.waitFor(() => expect(started).toEqual(['other']), soon)
    open()
    await stop()
  })

  it('a job that failed and waits for its next attempt is replaced and keeps its attempts', async () => {
    let fail = true
    const replace = { key: 'k', onConflict: 'replace' } as const
    const type = defineType({
      type: 'flaky',
      backoff: { base: '1h', cap: '1h', jitter: 0 },
      run: () => {
        if (fail) throw new Error('down')
      },
    })
    const { id } = await holdfast.enqueue(type, 'first', { unique: replace })
    const worker = await startWorker(holdfast, [type], { logger: quiet })
    await isNow(id, 'failed')
    fail = false
    expect(await holdfast.enqueue(type, 'second', { unique: replace })).toEqual({ id, status: 'replaced' })
    await isNow(id, 'completed')
    expect(await holdfast.job(id)).toMatchObject({
      payload: 'second',
      attempts: [{ outcome: 'failed' }, { outcome: 'completed' }],
    })
    await worker.stop()
  })

  it('debounce runs the latest payload when nobody has asked for a while, or at the latest after the maximum wait', async () => {
    const unique = { key: 'k', onConflict: 'debounce', delay: '10s', maxWait: '25s' } as const
    const { id, status } = await enqueue(0, unique)
    expect(status).toBe('created')
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled' })
    expect(await dueIn(id)).toBeCloseTo(10, -0.5)
    await moveTo('8 seconds')
    expect(await enqueue(8, unique)).toEqual({ id, status: 'debounced' })
    expect(await dueIn(id), 'ten seconds from the second').toBeGreaterThan(7)
    await moveTo('16 seconds')
    await enqueue(16, unique)
    const left = await dueIn(id)
    expect(left, '25 seconds from the first').toBeGreaterThan(5)
    expect(left).toBeLessThan(9.5)
    await moveTo('60 seconds')
    expect(await enqueue(60, unique), 'it is due and not yet claimed').toEqual({ id, status: 'debounced' })
    const { started, open, stop } = await slowWorker()
    await isNow(id, 'processing')
    expect(started).toEqual([60])
    const next = await enqueue('next', unique)
    expect(next.status, 'what runs is not touched').toBe('created')
    expect(await dueIn(next.id)).toBeGreaterThan(5)
    open()
    await stop()
  })

  it('one_more keeps the latest one behind the running one, and adds none where one only waits', async () => {
    const unique = { key: 'k', onConflict: 'one_more' } as const
    const first = await enqueue(1, unique)
    expect(await enqueue(2, unique)).toEqual({ id: first.id, status: 'existing' })
    const { started, open, stop } = await slowWorker()
    await isNow(first.id, 'processing')
    const second = await enqueue(3, unique)
    expect(second.status).toBe('queued_behind')
    expect(await holdfast.job(second.id)).toMatchObject({ status: 'blocked', payload: 3 })
    expect(await holdfast.explain(second.id)).toMatchObject({ gates: [{ gate: 'behind', heldBy: [first.id] }] })
    expect(await enqueue(4, unique)).toEqual({ id: second.id, status: 'replaced' })
    expect(started).toEqual([1])
    open()
    await isNow(second.id, 'processing')
    expect(started).toEqual([1, 4])
    const third = await enqueue(5, unique)
    expect(third.status).toBe('queued_behind')
    open()
    await isNow(third.id, 'processing')
    open()
    await isNow(third.id, 'completed')
    expect(await enqueue(6, unique)).toMatchObject({ status: 'created' })
    await vi.waitFor(() => expect(started).toHaveLength(4), soon)
    open()
    await stop()
  })

  it('all apply inside one enqueue, in its order', async () => {
    const jobs = (onConflict: 'existing' | 'replace') =>
      [1, 2, 3].map((n) => sync.job(n, { unique: { key: onConflict, onConflict }, idempotencyKey: `${onConflict} ${n}` }))
    const kept = await holdfast.enqueueMany([...jobs('existing'), sync.job('plain')])
    expect(kept.map((job) => job.status)).toEqual(['created', 'existing', 'existing', 'created'])
    expect(new Set(kept.slice(0, 3).map((job) => job.id)).size).toBe(1)
    expect(await holdfast.job(kept[0]?.id as string)).toMatchObject({ payload: 1, idempotencyKey: 'existing 1' })
    const replaced = await holdfast.enqueueMany(jobs('replace'))
    expect(replaced.map((job) => job.status)).toEqual(['created', 'replaced', 'replaced'])
    expect(await holdfast.job(replaced[0]?.id as string)).toMatchObject({ payload: 3 })
    expect(await count()).toBe(3)
  })

  it('leaves no idempotency key that leads to a job which was never made', async () => {
    const { id } = await enqueue(1, { key: 'k' })
    const more = { idempotencyKey: 'order 7' }
    expect(await enqueue(2, { key: 'k', onConflict: 'existing' }, more)).toEqual({ id, status: 'existing' })
    expect(await enqueue(3, false, more)).toEqual({ id, status: 'existing' })
  })

  it.each([
    [`{"key": "k", "on_conflict": "replce"}`, /on_conflict is "replce"/],
    [`{"kez": "k"}`, /unknown field "unique.kez"/],
    [`{"key": "k", "on_conflict": "debounce"}`, /needs a delay/],
    [`{"key": "k", "on_conflict": "debounce", "delay": "-5 seconds"}`, /longer than nothing/],
    [`{"key": "k", "on_conflict": "debounce", "delay": "5 seconds", "max_wait": "1 second"}`, /shorter than delay/],
    [`{"key": "k", "on_conflict": "debounce", "delay": 5}`, /must be a text/],
    [`{"key": "k", "on_conflict": "debounce", "delay": "infinity"}`, /(at most five years|cannot be "infinity")/],
    [`{"key": "k", "on_conflict": "debounce", "delay": "1 hour", "max_wait": "9000 years"}`, /at most five years/],
    [`{"key": "k", "period": "1826 days"}`, /at most five years/],
    [`{"key": "k", "period": "5"}`, /must have a unit/],
    [`{"key": "k", "period": "a while"}`, /unique.period cannot be "a while"/],
    [`{"key": "k", "by": ["a"]}`, /exclude each other/],
    [`{"key": null}`, /must be a text/],
    [`{"by": ["b.c"]}`, /names "b.c", which is not in the payload/],
    [`{"by": "paylod"}`, /must be "payload" or a list/],
    [`{"states": ["runing"]}`, /does not exist/],
    [`{"states": "pending"}`, /must be a list/],
    [`"yes"`, /must be false or an object/],
  ])('SQL is refused %s', async (unique, problem) => {
    await holdfast.registerTypes([sync])
    const asked = sql.query(`select * from holdfast.enqueue('sync', '{"a": 1}', $1)`, [`{"unique": ${unique}}`])
    await expect(asked).rejects.toMatchObject({ message: expect.stringMatching(problem), code: 'HF002' })
    expect(await count()).toBe(0)
  })
})
