import { defineType } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const daily = defineType({ type: 'daily', run() {} })

let queue: ScratchQueue
let sql: pg.Client
/** Another session, in the middle of something. */
let other: pg.Client

beforeEach(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  other = new pg.Client({ connectionString: queue.connectionString })
  await Promise.all([sql.connect(), other.connect()])
  await queue.holdfast.types.ensure([daily])
})
afterEach(async () => {
  await Promise.all([sql.end(), other.end()])
  await queue.close()
})

/** A UUIDv7 of the queue's own time, which puts the body into that day. */
function idAt(now: Date): string {
  const hex = now.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`
}

async function untilSomebodyWaits(): Promise<void> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await vi.waitFor(async () => expect((await sql.query(waiting)).rowCount).toBeGreaterThan(0), { timeout: 20_000, interval: 10 })
}

/** Leaves the other session in a transaction that has made the partition of this family's day, and not committed. */
async function beginMakingToday(family: string): Promise<void> {
  await other.query('begin')
  const { rows } = await other.query(`select holdfast.make_day($1, (holdfast.now() at time zone 'UTC')::date) as made`, [family])
  expect(rows[0].made).toBe(true)
}

const missing = async () => (await sql.query('select from holdfast.missing_days()')).rowCount

describe('a day whose partition is just being made', () => {
  test('takes the result of a job that is settled at that very moment: it is written and the job ran once', async () => {
    const { id } = await queue.holdfast.enqueue(daily, 1)
    await queue.clock.advance('30d')
    await queue.holdfast.store.makeDays()
    await queue.clock.advance('30d')
    await beginMakingToday('history')
    const drained = queue.drain([daily])
    await untilSomebodyWaits()
    await other.query('commit')
    expect((await drained).completed.map((job) => job.id)).toEqual([id])
    expect((await queue.holdfast.job(id))?.attempts.map((attempt) => attempt.outcome)).toEqual(['completed'])
  })

  test('takes a job that is enqueued at that very moment', async () => {
    await queue.clock.advance('30d')
    const id = idAt(await queue.clock.now())
    await beginMakingToday('bodies')
    const enqueued = queue.holdfast.enqueue(daily, 1, { id })
    await untilSomebodyWaits()
    await other.query('commit')
    expect(await enqueued).toEqual({ id, status: 'created' })
    expect((await queue.drain([daily])).completed).toHaveLength(1)
  })
})

describe('making days', () => {
  test('never holds two families at once, so that a reader who goes from one to the next cannot deadlock with it', async () => {
    // Long enough for the test to see it wait.
    await sql.query(`alter function holdfast.make_day set lock_timeout = '60s'`)
    await queue.clock.advance('30d')
    await other.query('begin; select count(*) from holdfast.dead_letters')
    const made = queue.holdfast.store.makeDays()
    await untilSomebodyWaits()
    await other.query('select count(*) from holdfast.bodies; select count(*) from holdfast.history')
    await other.query('commit')
    await made
    expect(await missing()).toBe(0)
    const { rows } = await sql.query('select deadlocks::int as n from pg_stat_database where datname = current_database()')
    expect(rows[0].n).toBe(0)
  })

  test('gives up within moments where somebody reads for hours, so that nobody waits behind it', async () => {
    await other.query('begin; select count(*) from holdfast.bodies')
    await queue.clock.advance('30d')
    await expect(queue.holdfast.store.makeDays()).rejects.toMatchObject({ code: '55P03' })
    expect((await queue.holdfast.enqueue(daily, 'goes on')).status).toBe('created')
    await other.query('rollback')
    await queue.holdfast.store.makeDays()
    expect(await missing()).toBe(0)
  })

  test('by eight at once makes each of them once', async () => {
    await queue.clock.advance('30d')
    await Promise.all(Array.from({ length: 8 }, () => queue.holdfast.store.makeDays()))
    await queue.holdfast.store.makeDays()
    expect(await missing()).toBe(0)
  })
})
