import { defineType, type Holdfast, type JobStatus } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { eachTestHas } from '../support/fresh-installation.js'
import { soon, uniqueJobs } from '../support/unique-jobs.js'

let holdfast: Holdfast
let sql: pg.Client
eachTestHas({}, (made) => {
  ;({ holdfast, sql } = made)
})
const { enqueue, moveTo, count, slowWorker, isNow } = uniqueJobs(() => ({ holdfast, sql }))

describe('what makes two jobs one', () => {
  it('a key, for jobs of one type', async () => {
    const first = await enqueue(1, { key: 'a', onConflict: 'existing' })
    expect(first.status).toBe('created')
    expect(await enqueue(2, { key: 'a', onConflict: 'existing' })).toEqual({ id: first.id, status: 'existing' })
    expect((await enqueue(2, { key: 'b', onConflict: 'existing' })).status).toBe('created')
    const other = await holdfast.enqueue(defineType({ type: 'other' }), 1, { unique: { key: 'a' } })
    expect(other.status).toBe('created')
  })

  it('the whole payload, in whatever order its properties stand', async () => {
    const first = await enqueue({ a: 1, b: { c: 2, d: [1, 2] } }, { onConflict: 'existing' })
    expect(await enqueue({ b: { d: [1, 2], c: 2 }, a: 1 }, { by: 'payload', onConflict: 'existing' })).toEqual({
      id: first.id,
      status: 'existing',
    })
    expect((await enqueue({ b: { d: [2, 1], c: 2 }, a: 1 }, { onConflict: 'existing' })).status).toBe('created')
  })

  it('chosen fields, also inside others, null included', async () => {
    const unique = { by: ['tenant', 'user.id', 'lines.0'], onConflict: 'existing' } as const
    const first = await enqueue({ tenant: null, user: { id: 7, name: 'Ada' }, lines: ['x', 'y'] }, unique)
    const again = await enqueue({ tenant: null, user: { id: 7, name: 'Bea' }, lines: ['x'], at: 5 }, unique)
    expect(again).toEqual({ id: first.id, status: 'existing' })
    const other = await enqueue({ tenant: null, user: { id: '7' }, lines: ['x'] }, unique)
    expect(other.status).toBe('created')
  })

  it('the uniqueness of the type, unless the enqueue says otherwise', async () => {
    const once = defineType({ type: 'once', unique: { by: ['id'], onConflict: 'existing' } })
    const first = await holdfast.enqueue(once, { id: 1, x: 1 })
    expect(await holdfast.enqueue(once, { id: 1, x: 2 })).toEqual({ id: first.id, status: 'existing' })
    expect(await holdfast.enqueue('once', { id: 1, x: 3 })).toEqual({ id: first.id, status: 'existing' })
    const { rows } = await sql.query(`select * from holdfast.enqueue('once', '{"id": 1, "x": 4}')`)
    expect(rows).toEqual([{ id: first.id, status: 'existing' }])
    expect((await holdfast.enqueue(once, { id: 1 }, { unique: false })).status).toBe('created')
    expect((await holdfast.enqueue(once, { id: 1 }, { unique: { key: 'x' } })).status).toBe('created')
    expect(await count()).toBe(3)
  })

  it('the same from SQL as from the SDK', async () => {
    const first = await enqueue({ a: 1, b: 'é "q"' }, { onConflict: 'existing' })
    const { rows } = await sql.query(
      `select * from holdfast.enqueue('sync', '{"b": "é \\"q\\"", "a": 1}', '{"unique": {"on_conflict": "existing"}}')`,
    )
    expect(rows).toEqual([{ id: first.id, status: 'existing' }])
  })
})

describe('when a key is taken', () => {
  it('ends with the job, whether that completes or dies', async () => {
    const { open, stop } = await slowWorker((payload) => {
      if (payload === 'dies') throw Object.assign(new Error('no'), { name: 'FatalError' })
    })
    for (const payload of ['completes', 'dies']) {
      const { id } = await enqueue(payload, { key: 'k' }, { maxAttempts: 1 })
      await isNow(id, 'processing')
      await expect(enqueue(payload, { key: 'k' })).rejects.toMatchObject({ code: 'unique_conflict', jobId: id })
      await vi.waitFor(async () => {
        open()
        expect(['completed', 'dead']).toContain((await holdfast.job(id))?.status)
      }, soon)
    }
    expect((await enqueue('again', { key: 'k' })).status).toBe('created')
    await stop()
  })

  it('lasts for its period, though the job has ended', async () => {
    const { open, stop } = await slowWorker()
    const unique = { key: 'hourly', period: '1h', onConflict: 'existing' } as const
    const { id } = await enqueue(1, unique)
    await isNow(id, 'processing')
    open()
    await isNow(id, 'completed')
    await stop()
    expect(await enqueue(2, unique)).toEqual({ id, status: 'existing' })
    expect(await enqueue(2, { ...unique, onConflict: 'replace' })).toEqual({ id, status: 'existing' })
    await expect(enqueue(2, { ...unique, onConflict: 'reject' })).rejects.toMatchObject({ code: 'unique_conflict' })
    await moveTo('59 minutes')
    expect((await enqueue(2, unique)).status).toBe('existing')
    await moveTo('61 minutes')
    const next = await enqueue(2, unique)
    expect(next.status).toBe('created')
    await moveTo('122 minutes')
    expect(await enqueue(3, unique), 'the job still waits, however long ago the period ended').toEqual({
      id: next.id,
      status: 'existing',
    })
  })

  it.each<[JobStatus, JobStatus[], string]>([
    ['scheduled', ['pending'], 'created'],
    ['scheduled', ['scheduled'], 'existing'],
    ['completed', ['pending', 'completed'], 'existing'],
    ['completed', ['dead'], 'created'],
  ])('is said by the states: a %s job under %j makes the next one %s', async (status, states, answer) => {
    const { id } = await enqueue(1, { key: 'k' }, status === 'scheduled' ? { delay: '1h' } : {})
    if (status === 'completed') {
      const { open, stop } = await slowWorker()
      await isNow(id, 'processing')
      open()
      await isNow(id, 'completed')
      await stop()
    }
    expect((await enqueue(2, { key: 'k', states, onConflict: 'existing' })).status).toBe(answer)
  })

  it('is swept when its job is gone and its period over, and not before', async () => {
    const keys = async () => (await sql.query('select count(*)::int as n from holdfast.uniques')).rows[0].n
    const keep = { completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 }
    const { open, stop } = await slowWorker()
    for (const unique of [{ key: 'short' }, { key: 'long', period: '20d' }]) {
      const { id } = await enqueue(1, unique)
      await isNow(id, 'processing')
      open()
      await isNow(id, 'completed')
    }
    await stop()
    await enqueue(1, { key: 'waits' }, { delay: '60d' })
    const sweepOn = async (day: number) => {
      await moveTo(`${day} days`)
      await insideOf(holdfast).store.partitions.make()
      while ((await insideOf(holdfast).store.partitions.dropOne(keep)) !== null);
      await insideOf(holdfast).store.partitions.sweep(keep, 100)
      return keys()
    }
    expect(await sweepOn(6)).toBe(3)
    expect(await sweepOn(10)).toBe(2)
    expect((await enqueue(1, { key: 'long', period: '20d', onConflict: 'existing' })).status).toBe('existing')
    expect(await sweepOn(30)).toBe(1)
    expect((await enqueue(1, { key: 'waits', onConflict: 'existing' })).status).toBe('existing')
  })
})
