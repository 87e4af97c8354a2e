import { defineType, Holdfast, type Status, type UniqueOption } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const soon = { timeout: 20_000, interval: 20 }
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

const sync = defineType({ type: 'sync' })
const enqueue = (payload: unknown, unique: UniqueOption | false, more: object = {}) =>
  holdfast.enqueue(sync, payload, { unique, ...more })

/** Moves the database's clock; time runs on from there. */
async function moveTo(time: string): Promise<void> {
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''${time}'''`)
}

async function dueIn(id: string): Promise<number> {
  const { rows } = await sql.query(
    'select extract(epoch from due_at - holdfast.now())::float8 as s from holdfast.jobs where id = $1',
    [id],
  )
  return rows[0].s
}

async function count(): Promise<number> {
  return (await sql.query('select count(*)::int as n from holdfast.jobs')).rows[0].n
}

/** Runs handlers that wait until they are let go, so that a job can be met while it runs. */
async function slowWorker(run: (payload: unknown, attempt: number) => unknown = () => {}) {
  const started: unknown[] = []
  const doors: (() => void)[] = []
  const type = defineType({
    type: 'sync',
    backoff: { base: 1, cap: 1, jitter: 0 },
    async run(payload, ctx) {
      started.push(payload)
      await new Promise<void>((open) => doors.push(open))
      return run(payload, ctx.job.attempt)
    },
  })
  const worker = await startWorker(holdfast, [type], { logger: quiet, drain: 0 })
  return { started, open: () => doors.shift()?.(), stop: () => worker.stop() }
}

const isNow = (id: string, status: Status) => vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), soon)

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

  it.each<[Status, Status[], string]>([
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

describe('what happens to the second', () => {
  it('reject names the standing job, and refuses a batch whole', async () => {
    const { id } = await enqueue(1, { key: 'k' })
    await expect(enqueue(2, { key: 'k' })).rejects.toMatchObject({ code: 'unique_conflict', status: 409, jobId: id })
    const batch = [sync.job(3, { unique: { key: 'new' } }), sync.job(4), sync.job(5, { unique: { key: 'k' } })]
    await expect(holdfast.enqueueMany(batch)).rejects.toThrow(id)
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

  it('replace works before a gate too, and gives back the slot of a job that was let through', async () => {
    await holdfast.registerTypes([sync])
    await holdfast.flow.limit('sync', { maxRunning: 1 })
    const replace = { key: 'k', onConflict: 'replace' } as const
    const { id } = await enqueue('first', replace)
    expect(await enqueue('gated', replace, { priority: 7 })).toEqual({ id, status: 'replaced' })
    expect(await holdfast.job(id)).toMatchObject({ status: 'pending', payload: 'gated', priority: 7 })
    await sql.query('select holdfast.admit_waiting()')
    expect((await sql.query('select count(*)::int as n from holdfast.admissions')).rows[0].n).toBe(1)
    expect(await enqueue('later', replace, { delay: '1h' })).toEqual({ id, status: 'replaced' })
    expect((await sql.query('select count(*)::int as n from holdfast.admissions')).rows[0].n).toBe(0)
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
    expect(await holdfast.job(second.id)).toMatchObject({ status: 'pending', payload: 3 })
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

  it('all apply inside one batch, in its order', async () => {
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
