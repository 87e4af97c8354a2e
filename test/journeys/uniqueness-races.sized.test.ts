import { defineType, type Enqueued, FatalError, type Holdfast, type UniqueOption } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import type { ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { eachTestHas } from '../support/fresh-installation.js'
import { sized } from '../support/sized.js'

const quiet = { info() {}, warn() {}, error() {} }
const soon = { timeout: 25_000, interval: 100 }
const races = sized({ sample: 80, whole: 200 })
const oneMore = { key: 'k', onConflict: 'one_more' } as const
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

eachTestHas({ connections: 10 }, (made) => {
  ;({ scratch, holdfast, sql } = made)
})

const sync = defineType({ type: 'sync' })

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  return client
}

async function statuses(): Promise<Record<string, number>> {
  const { rows } = await sql.query('select status, count(*)::int as n from holdfast.jobs group by 1')
  return Object.fromEntries(rows.map((row) => [row.status, row.n]))
}

const isNow = (id: string, status: string) => vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), soon)

/** Waits until some connection waits for a lock, which is how one enqueue waits for another. */
const somebodyWaits = (count: number) =>
  vi.waitFor(async () => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    expect((await sql.query(waiting)).rowCount).toBeGreaterThanOrEqual(count)
  }, soon)

describe('many producers at once', () => {
  it.each<UniqueOption['onConflict']>(['reject', 'existing', 'replace', 'debounce', 'one_more'])(
    'fifty that %s make one job',
    async (onConflict) => {
      const unique = { key: 'k', onConflict, ...(onConflict === 'debounce' ? { delay: '1h' } : {}) } as UniqueOption
      const answers = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => holdfast.enqueue(sync, n, { unique })))
      const made = answers.filter((answer) => answer.status === 'fulfilled' && answer.value.status === 'created')
      expect(made).toHaveLength(1)
      const [first] = made.map((answer) => (answer as PromiseFulfilledResult<Enqueued>).value)
      for (const answer of answers) {
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'unique_conflict', jobId: first?.id })
        else expect(answer.value.id).toBe(first?.id)
      }
      expect(Object.values(await statuses())).toEqual([1])
    },
  )

  it('one waits for the open transaction of another, and takes the key when that rolls back', async () => {
    await holdfast.registerTypes([sync])
    const client = await connect()
    await client.query('begin')
    const first = await holdfast.enqueue(sync, 1, { unique: { key: 'k' }, tx: client })
    const second = holdfast.enqueue(sync, 2, { unique: { key: 'k', onConflict: 'existing' } })
    await somebodyWaits(1)
    await client.query('rollback')
    expect(await second).toMatchObject({ status: 'created' })
    expect((await second).id).not.toBe(first.id)
    expect(await holdfast.job(first.id)).toBeUndefined()

    await client.query('begin')
    await sql.query('delete from holdfast.queue')
    const takeOver = await holdfast.enqueue(sync, 3, { unique: { key: 'k' }, tx: client })
    const third = holdfast.enqueue(sync, 4, { unique: { key: 'k', onConflict: 'existing' } })
    await somebodyWaits(1)
    await client.query('commit')
    expect(await third).toEqual({ id: takeOver.id, status: 'existing' })
    await client.end()
  })

  it('two enqueues with the same keys in opposite order do not deadlock', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `key ${n}`)
    const job = (key: string, n: number) => sync.job(n, { unique: { key, onConflict: n % 2 ? 'existing' : 'replace' } })
    for (let round = 0; round < races / 20; round++) {
      const answers = await Promise.all([
        holdfast.enqueueMany(keys.map((key) => job(`${round} ${key}`, 0))),
        holdfast.enqueueMany([...keys].reverse().map((key) => job(`${round} ${key}`, 1))),
        holdfast.enqueueMany([...keys].reverse().map((key) => job(`${round} ${key}`, 2))),
      ])
      expect(answers.flat().filter((answer) => answer.status === 'created')).toHaveLength(keys.length)
    }
    expect(await statuses()).toEqual({ pending: 2 * races })
  })
})

describe('a job that is replaced while workers look for work', () => {
  it('runs with a payload that was acknowledged, and no acknowledged payload is lost', async () => {
    const ran: number[] = []
    const type = defineType({ type: 'sync', run: (payload) => void ran.push(payload as number) })
    const worker = await startWorker(holdfast, [type], { logger: quiet })
    const answers: Enqueued[] = []
    for (let n = 0; n < races; n++) {
      answers.push(await holdfast.enqueue(sync, n, { unique: { key: 'k', onConflict: 'replace' } }))
    }
    await vi.waitFor(async () => expect(Object.keys(await statuses())).toEqual(['completed']), soon)
    // A payload is superseded only by one that replaced it in the same job.
    const expected = answers.map((_, n) => n).filter((n) => answers[n + 1]?.status !== 'replaced')
    expect([...ran].sort((a, b) => a - b)).toEqual(expected)
    await worker.stop()
  })

  it('does not hold up the others before its gate while that transaction stays open', async () => {
    const ran: unknown[] = []
    const type = defineType({ type: 'sync', run: (payload) => void ran.push(payload) })
    await holdfast.registerTypes([type])
    await holdfast.flow.limit('sync', { fair: true }, { by: 'ada' })
    await holdfast.flow.pauseType('sync', { by: 'ada' })
    const unique = { key: 'k', onConflict: 'replace' } as const
    const { id } = await holdfast.enqueue(type, 'old', { unique, concurrencyKey: 'a' })
    await holdfast.enqueue(type, 'other', { concurrencyKey: 'b' })
    const client = await connect()
    await client.query('begin')
    const answer = await holdfast.enqueue(type, 'new', { unique, concurrencyKey: 'a', tx: client })
    expect(answer).toEqual({ id, status: 'replaced' })
    const worker = await startWorker(holdfast, [type], { logger: quiet })
    await holdfast.flow.resumeType('sync', { by: 'ada' })
    await vi.waitFor(() => expect(ran).toEqual(['other']), soon)
    await client.query('commit')
    await vi.waitFor(() => expect(ran).toEqual(['other', 'new']), soon)
    await client.end()
    await worker.stop()
  })

  it('does not start before the transaction that counts on it has committed', async () => {
    const ran: unknown[] = []
    const type = defineType({ type: 'sync', run: (payload) => void ran.push(payload) })
    const other = defineType({ type: 'other', run: (payload) => void ran.push(payload) })
    const { id } = await holdfast.enqueue(type, 'waits', { unique: oneMore })
    const client = await connect()
    await client.query('begin')
    expect(await holdfast.enqueue(type, 'again', { unique: oneMore, tx: client })).toEqual({ id, status: 'existing' })
    const worker = await startWorker(holdfast, [type, other], { logger: quiet })
    await holdfast.enqueue(other, 'behind it')
    await vi.waitFor(() => expect(ran).toEqual(['behind it']), soon)
    await client.query('commit')
    await vi.waitFor(() => expect(ran).toEqual(['behind it', 'waits']), soon)
    await client.end()
    await worker.stop()
  })
})

describe('one more after the running one', () => {
  it(`is never lost, over ${races} races between the end of the one and the enqueue of the other`, async () => {
    const doors = new Map<string, () => void>()
    const ran: unknown[] = []
    const type = defineType({
      type: 'sync',
      async run(payload) {
        if (String(payload).startsWith('first')) await new Promise<void>((open) => doors.set(payload as string, open))
        ran.push(payload)
      },
    })
    const workers = await Promise.all([1, 2].map(() => startWorker(holdfast, [type], { logger: quiet, concurrency: 20 })))
    const counts: Record<string, number> = {}
    const race = async (n: number) => {
      const unique = { key: `key ${n}`, onConflict: 'one_more' } as const
      const first = await holdfast.enqueue(type, `first ${n}`, { unique })
      const open = await vi.waitFor(() => {
        expect(doors.has(`first ${n}`)).toBe(true)
        return doors.get(`first ${n}`) as () => void
      }, soon)
      // The end is on its way for 0 to 9 ms when the enqueue comes; both take a few.
      open()
      await new Promise((go) => setTimeout(go, n % 10))
      const second = await holdfast.enqueue(type, `second ${n}`, { unique })
      expect(second.id).not.toBe(first.id)
      counts[second.status] = (counts[second.status] ?? 0) + 1
    }
    for (let n = 0; n < races; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => race(n + i)))
    await vi.waitFor(async () => expect(await statuses(), JSON.stringify(counts)).toEqual({ completed: 2 * races }), soon)
    expect(ran.filter((payload) => String(payload).startsWith('second'))).toHaveLength(races)
    for (let n = 0; n < races; n++) expect(ran.indexOf(`first ${n}`)).toBeLessThan(ran.indexOf(`second ${n}`))
    expect(counts.queued_behind, 'some came before the end').toBeGreaterThan(0)
    expect(counts.created, 'some came after it').toBeGreaterThan(0)
    await Promise.all(workers.map((worker) => worker.stop()))
  })

  it.each(['adds', 'replaces', 'hurries'])(
    'does not hold up a worker that settles while the transaction that %s it stays open',
    async (what) => {
      const doors: (() => void)[] = []
      const ran: unknown[] = []
      const type = defineType({
        type: 'sync',
        async run(payload) {
          ran.push(payload)
          if (payload === 'first') await new Promise<void>((open) => doors.push(open))
        },
      })
      const worker = await startWorker(holdfast, [type], { logger: quiet })
      const first = await holdfast.enqueue(type, 'first', { unique: oneMore })
      await isNow(first.id, 'processing')
      if (what === 'replaces') await holdfast.enqueue(type, 'superseded', { unique: oneMore })
      const waits = what === 'hurries' && (await holdfast.enqueue(type, 'second', { unique: oneMore }))
      const client = await connect()
      await client.query('begin')
      if (waits) await client.query(`select holdfast.run_now(array[$1::uuid], holdfast.actor('ada'))`, [waits.id])
      const second = waits || (await holdfast.enqueue(type, 'second', { unique: oneMore, tx: client }))
      expect(second.status).toBe(what === 'replaces' ? 'replaced' : 'queued_behind')
      doors[0]?.()
      await isNow(first.id, 'completed')
      await client.query('commit')
      await isNow(second.id, 'completed')
      expect(ran).toEqual(['first', 'second'])
      await client.end()
      await worker.stop()
    },
  )

  it('is started by the next promotion where the one it waits for was being settled in the moment of its commit', async () => {
    const promote = () => insideOf(holdfast).store.tick(100, '1970-01-01T00:00:00Z')
    const following = async () => (await sql.query('select count(*)::int as n from holdfast.following')).rows[0].n
    const first = await holdfast.enqueue(sync, 'first', { unique: oneMore })
    await sql.query('update holdfast.queue set lease_id = 77')
    const settling = await connect()
    await settling.query('begin')
    await settling.query('delete from holdfast.queue where job_id = $1', [first.id])
    const second = await holdfast.enqueue(sync, 'second', { unique: oneMore })
    expect(second.status).toBe('queued_behind')
    await promote()
    expect(await following(), 'the first has not ended').toBe(1)
    await settling.query('commit')
    await promote()
    expect(await following()).toBe(0)
    await promote()
    expect(await holdfast.job(second.id)).toMatchObject({ status: 'pending', payload: 'second' })
    await settling.end()
  })

  it.each(['fails once', 'snoozes', 'dies', 'is handed back'])(
    'waits while the running one %s, and comes after it',
    async (fate) => {
      const doors: (() => void)[] = []
      const ran: unknown[] = []
      const type = defineType({
        type: 'sync',
        backoff: { base: 50, cap: 50, jitter: 0 },
        async run(payload, ctx) {
          ran.push(payload)
          if (payload !== 'first' || ran.length > 1) return
          await new Promise<void>((open) => doors.push(open))
          if (fate === 'dies') throw new FatalError('for good')
          if (fate === 'fails once') throw new Error('once')
          if (fate === 'snoozes') return ctx.snooze('50ms')
        },
      })
      let worker = await startWorker(holdfast, [type], { logger: quiet, drain: 0 })
      const first = await holdfast.enqueue(type, 'first', { unique: oneMore })
      await isNow(first.id, 'processing')
      const second = await holdfast.enqueue(type, 'second', { unique: oneMore })
      expect(second.status).toBe('queued_behind')
      if (fate === 'is handed back') {
        const stopped = worker.stop()
        await isNow(first.id, 'pending')
        doors[0]?.()
        await stopped
        expect(await holdfast.job(second.id)).toMatchObject({ status: 'blocked' })
        worker = await startWorker(holdfast, [type], { logger: quiet })
      } else doors[0]?.()
      await isNow(second.id, 'completed')
      expect(ran).toEqual(fate === 'dies' ? ['first', 'second'] : ['first', 'first', 'second'])
      await worker.stop()
    },
  )

  it('comes also where a gate stands before the type', async () => {
    const ran: unknown[] = []
    const doors: (() => void)[] = []
    const type = defineType({
      type: 'sync',
      async run(payload) {
        ran.push(payload)
        if (payload === 'first') await new Promise<void>((open) => doors.push(open))
      },
    })
    await holdfast.registerTypes([type])
    await holdfast.flow.limit('sync', { maxRunning: 1, fair: true }, { by: 'ada' })
    const worker = await startWorker(holdfast, [type], { logger: quiet })
    const first = await holdfast.enqueue(type, 'first', { unique: oneMore, concurrencyKey: 'tenant' })
    await isNow(first.id, 'processing')
    const second = await holdfast.enqueue(type, 'second', { unique: oneMore, concurrencyKey: 'tenant' })
    doors[0]?.()
    await isNow(second.id, 'completed')
    expect(ran).toEqual(['first', 'second'])
    await worker.stop()
  })
})
