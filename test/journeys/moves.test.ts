import { defineType, Holdfast, type RunContext } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const by = { by: 'ada', why: 'the customer asked' }
const patient = { timeout: 20_000, interval: 100 }

let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client
let workers: Worker[]
/** What ran, in order, and how each handler goes on. */
let ran: string[]
let release: () => void
let held: Promise<void>
let eachTakesMs: number

const job = defineType({
  type: 'moved',
  backoff: { base: 3_600_000, cap: 3_600_000, jitter: 0 },
  async run(payload, ctx: RunContext) {
    const name = (payload as { name: string }).name
    ran.push(name)
    if (name === 'fails' && ctx.job.attempt === 1) throw new Error('once')
    if (eachTakesMs > 0) await new Promise((done) => setTimeout(done, eachTakesMs))
    if (name.startsWith('long')) await Promise.race([held, new Promise((done) => ctx.signal.addEventListener('abort', done))])
  },
})

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  await holdfast.registerTypes([job])
  workers = []
  ran = []
  eachTakesMs = 0
  held = new Promise((resolve) => {
    release = resolve
  })
})
afterEach(async () => {
  release()
  await Promise.all(workers.map((worker) => worker.stop()))
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

async function start(count = 1, concurrency = 2): Promise<void> {
  for (let i = 0; i < count; i++) workers.push(await startWorker(holdfast, [job], { logger: quiet, concurrency }))
}

/** A fleet that sleeps and would look by itself only after a minute: what starts now was called for. */
async function startIdle(): Promise<void> {
  await holdfast.flow.setLane('default', { poll: '60s' }, by)
  for (let i = 0; i < 2; i++) workers.push(await startWorker(holdfast, [job], { logger: quiet, poll: '60s' }))
  await vi.waitFor(
    async () => expect((await sql.query('select from holdfast.idle_workers')).rowCount).toBe(workers.length),
    patient,
  )
}

async function status(id: string): Promise<string | undefined> {
  return (await holdfast.job(id))?.status
}

async function becomes(id: string, expected: string): Promise<void> {
  await vi.waitFor(async () => expect(await status(id)).toBe(expected), patient)
}

/** A job in each place it can stand in before it has ended. */
const places: Record<string, () => Promise<string>> = {
  pending: async () => (await holdfast.enqueue(job, { name: 'pending' })).id,
  scheduled: async () => (await holdfast.enqueue(job, { name: 'later' }, { delay: '1h' })).id,
  gated: async () => {
    await holdfast.flow.pauseType('moved', by)
    return (await holdfast.enqueue(job, { name: 'gated' })).id
  },
  failed: async () => {
    const { id } = await holdfast.enqueue(job, { name: 'fails' })
    await start()
    await becomes(id, 'failed')
    return id
  },
  processing: async () => {
    const { id } = await holdfast.enqueue(job, { name: 'long' })
    await start()
    await vi.waitFor(() => expect(ran).toEqual(['long']), patient)
    return id
  },
}

describe('cancelling', () => {
  it.each(Object.entries(places))('ends a job that is %s, once, with who and why in its history', async (place, put) => {
    const id = await put()
    const was = place === 'gated' ? 'pending' : place
    expect(await holdfast.cancel(id, by)).toEqual({ id, done: true, was, status: 'cancelled' })
    const story = await holdfast.job(id)
    expect(story?.status).toBe('cancelled')
    expect(story?.attempts.at(-1)).toMatchObject({ outcome: 'cancelled', error: { by: 'ada', why: 'the customer asked' } })
    expect(await holdfast.cancel(id, { by: 'bob' })).toEqual({
      id,
      done: false,
      was: 'cancelled',
      status: 'cancelled',
      because: 'it was already cancelled',
    })
    await start()
    await holdfast.flow.resumeType('moved', { by: 'ada' })
    const { id: next } = await holdfast.enqueue(job, { name: 'next' })
    await becomes(next, 'completed')
    expect((await holdfast.job(id))?.attempts.filter((attempt) => attempt.outcome === 'cancelled')).toHaveLength(1)
    expect(await status(id)).toBe('cancelled')
  })

  it('says of a job that has completed that it has, and changes nothing', async () => {
    const { id } = await holdfast.enqueue(job, { name: 'done' })
    await start()
    await becomes(id, 'completed')
    const before = await holdfast.job(id)
    expect(await holdfast.cancel(id, by)).toEqual({
      id,
      done: false,
      was: 'completed',
      status: 'completed',
      because: 'it has already completed',
    })
    expect(await holdfast.job(id)).toEqual(before)
  })

  it('refuses a handler that was cancelled a longer lease', async () => {
    const errors: unknown[] = []
    const asks = defineType({
      type: 'asks',
      async run(_, ctx) {
        await new Promise((done) => ctx.signal.addEventListener('abort', done))
        errors.push(ctx.signal.reason)
        await ctx.extendLease('1m').catch((error) => errors.push(error))
      },
    })
    workers.push(await startWorker(holdfast, [asks], { logger: quiet }))
    const { id } = await holdfast.enqueue(asks, null)
    await becomes(id, 'processing')
    await holdfast.cancel(id, by)
    await vi.waitFor(() => expect(errors).toHaveLength(2), patient)
    expect(errors).toMatchObject([
      { name: 'JobCancelledError', code: 'job_cancelled' },
      { name: 'JobCancelledError', code: 'job_cancelled' },
    ])
  })

  it('ends a job whose worker vanished with its lease, though nobody will ever report it', async () => {
    const id = (await places.pending?.()) as string
    await sql.query(`update holdfast.queue set lease_id = 999 where job_id = $1`, [id])
    expect(await holdfast.cancel(id, by)).toMatchObject({ done: true, was: 'processing' })
    await start()
    await vi.waitFor(async () => expect((await sql.query('select from holdfast.cancellations')).rowCount).toBe(0), patient)
    expect(await status(id)).toBe('cancelled')
  })
})

describe('another priority', () => {
  it('brings a job to the front of ten thousand, wherever workers have read to', async () => {
    await holdfast.enqueueMany(Array.from({ length: 2_000 }, (_, i) => job.job({ name: `${i}` }, { priority: 5 })))
    const { id } = await holdfast.enqueue(job, { name: 'urgent' }, { priority: 0 })
    await holdfast.enqueueMany(Array.from({ length: 8_000 }, (_, i) => job.job({ name: `${i}` }, { priority: 9 })))
    await start(2)
    await vi.waitFor(() => expect(ran.length).toBeGreaterThan(200), { timeout: 20_000, interval: 2 })
    expect(await holdfast.setPriority(id, 9, by)).toEqual({ id, done: true, was: 'pending', status: 'pending' })
    const at = ran.length
    // So slow that the ten thousand would take most of a minute: workers read from the head several times before that.
    eachTakesMs = 20
    await vi.waitFor(() => expect(ran).toContain('urgent'), patient)
    eachTakesMs = 0
    expect(ran.indexOf('urgent') - at).toBeLessThan(5_000)
    expect((await holdfast.job(id))?.changes).toMatchObject([
      { move: 'set_priority', by: 'ada', why: 'the customer asked', before: { priority: 0 }, after: { priority: 9 } },
    ])
  })

  it('decides the order before a gate', async () => {
    await holdfast.flow.limit('moved', { maxRunning: 1 }, { by: 'ada' })
    await holdfast.flow.pauseType('moved', by)
    for (const name of ['first', 'second', 'third']) await holdfast.enqueue(job, { name }, { priority: 3 })
    const { id } = await holdfast.enqueue(job, { name: 'fourth' }, { priority: 1 })
    expect(await holdfast.setPriority(id, 8, by)).toMatchObject({ done: true, was: 'pending' })
    await start()
    await holdfast.flow.resumeType('moved', { by: 'ada' })
    await vi.waitFor(() => expect(ran).toEqual(['fourth', 'first', 'second', 'third']), patient)
  })

  it('is kept by a scheduled job until it runs', async () => {
    const id = (await places.scheduled?.()) as string
    expect(await holdfast.setPriority(id, 7, by)).toMatchObject({ done: true, status: 'scheduled' })
    await holdfast.runNow(id, by)
    expect(await holdfast.job(id)).toMatchObject({ status: 'pending', priority: 7 })
  })

  it('is refused for a job that runs or has ended', async () => {
    const id = (await places.processing?.()) as string
    expect(await holdfast.setPriority(id, 9, by)).toMatchObject({ done: false, status: 'processing', because: 'it runs already' })
    release()
    await becomes(id, 'completed')
    expect(await holdfast.setPriority(id, 9, by)).toMatchObject({ done: false, because: 'it has already completed' })
    expect((await holdfast.job(id))?.changes).toEqual([])
  })
})

describe('another time', () => {
  it.each(['pending', 'gated'])('takes a job that is %s out of the way until then', async (place) => {
    const id = (await places[place]?.()) as string
    expect(await holdfast.reschedule(id, { delay: '2h' }, by)).toEqual({ id, done: true, was: 'pending', status: 'scheduled' })
    const { rows } = await sql.query(
      `select round(extract(epoch from due_at - holdfast.now()) / 60)::int as minutes from holdfast.jobs where id = $1`,
      [id],
    )
    expect(rows).toEqual([{ minutes: 120 }])
    await holdfast.flow.resumeType('moved', { by: 'ada' })
    await start()
    const { id: next } = await holdfast.enqueue(job, { name: 'next' })
    await becomes(next, 'completed')
    expect(ran).toEqual(['next'])
  })

  it.each(['scheduled', 'failed'])('makes a job that is %s due then, on an idle fleet to the moment', async (place) => {
    const id = (await places[place]?.()) as string
    await startIdle()
    const already = ran.length
    const asked = performance.now()
    expect(await holdfast.reschedule(id, { delay: 500 }, by)).toMatchObject({ done: true, was: place, status: place })
    await vi.waitFor(() => expect(ran.length).toBe(already + 1), { timeout: 20_000, interval: 5 })
    expect(performance.now() - asked).toBeGreaterThanOrEqual(450)
    await becomes(id, 'completed')
  })

  it('that has come already is the same as now', async () => {
    const id = (await places.scheduled?.()) as string
    expect(await holdfast.reschedule(id, { runAt: new Date('2020-01-01') }, by)).toMatchObject({ done: true, status: 'pending' })
  })
})

describe('run now', () => {
  it.each(['scheduled', 'failed'])('starts a job that is %s at once', async (place) => {
    const id = (await places[place]?.()) as string
    await startIdle()
    expect(await holdfast.runNow(id, by)).toEqual({ id, done: true, was: place, status: 'pending' })
    await becomes(id, 'completed')
    expect((await holdfast.job(id))?.changes).toMatchObject([{ move: 'run_now', by: 'ada' }])
  })

  it('still goes through the gate of its type', async () => {
    const id = (await places.scheduled?.()) as string
    await holdfast.flow.pauseType('moved', by)
    await start()
    await holdfast.runNow(id, by)
    expect(await status(id)).toBe('pending')
    expect(await holdfast.runNow(id, by)).toMatchObject({ done: false, status: 'pending', because: 'it is due already' })
    expect(ran).toEqual([])
    await holdfast.flow.resumeType('moved', { by: 'ada' })
    await becomes(id, 'completed')
  })
})
