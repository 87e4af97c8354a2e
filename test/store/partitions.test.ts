import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
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
  await queue.holdfast.registerTypes([daily])
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
  const { rows } = await other.query(`select holdfast.make_partition($1, (holdfast.now() at time zone 'UTC')::date) as made`, [
    family,
  ])
  expect(rows[0].made).toBe(true)
}

const missing = async () => (await sql.query('select from holdfast.missing_partitions()')).rowCount

describe('a day whose partition is just being made', () => {
  test('takes the result of a job that is settled at that very moment: it is written and the job ran once', async () => {
    const { id } = await queue.holdfast.enqueue(daily, 1)
    await queue.clock.advance('30d')
    await insideOf(queue.holdfast).store.partitions.make()
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

  test("takes a job that is enqueued in a caller's transaction at that very moment", async () => {
    await queue.clock.advance('30d')
    const id = idAt(await queue.clock.now())
    await beginMakingToday('bodies')
    const caller = new pg.Client({ connectionString: queue.connectionString })
    await caller.connect()
    await caller.query('begin')
    const enqueued = queue.holdfast.enqueue(daily, 1, { id, tx: caller })
    await untilSomebodyWaits()
    await other.query('commit')
    expect(await enqueued.finally(() => caller.query('commit'))).toEqual({ id, status: 'created' })
    await caller.end()
    expect((await queue.drain([daily])).completed).toHaveLength(1)
  })
})

describe('making days', () => {
  test('succeeds while producers enqueue without a pause, and every job is there once', async () => {
    await queue.clock.advance('30d')
    const producers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = new pg.Client({ connectionString: queue.connectionString })
        await client.connect()
        return client
      }),
    )
    let enough = false
    const enqueuing = producers.map(async (client) => {
      let count = 0
      for (; !enough; count++) await client.query(`select from holdfast.enqueue('daily', '{}')`)
      return count
    })
    let failures = 0
    for (; failures < 20 && (await missing()) !== 0; failures++)
      await insideOf(queue.holdfast)
        .store.partitions.make()
        .catch(() => {})
    enough = true
    const counts = await Promise.all(enqueuing).finally(() => Promise.all(producers.map((client) => client.end())))
    expect(await missing()).toBe(0)
    const { rows } = await sql.query('select count(*)::int as n, count(distinct id)::int as ids from holdfast.bodies')
    const total = counts.reduce((sum, count) => sum + count, 0)
    expect(rows[0]).toEqual({ n: total, ids: total })
  })

  test('goes on with the other days and tables where one of them cannot be made', async () => {
    await other.query('begin; select count(*) from holdfast.bodies')
    await queue.clock.advance('30d')
    await expect(insideOf(queue.holdfast).store.partitions.make()).rejects.toThrow(
      /the partition of bodies for \d{4}-\d\d-\d\d cannot be made/,
    )
    const { rows } = await sql.query('select distinct family from holdfast.missing_partitions()')
    expect(rows).toEqual([{ family: 'bodies' }])
    await other.query('rollback')
  })

  test('leaves rows where they are that are too many to move in a moment, and takes what comes from then on', async () => {
    await queue.clock.set(new Date('2051-02-03T10:00:00Z'))
    for (let n = 0; n < 5; n++) await sql.query(`select from holdfast.enqueue('daily', '{}')`)
    const { rows } = await sql.query(`select holdfast.make_partition('bodies', '2051-02-03', 4) as made`)
    expect(rows[0].made).toBe(true)
    await queue.clock.advance('2m')
    await sql.query(`select from holdfast.enqueue('daily', '{}')`)
    const stands = await sql.query(
      'select tableoid::regclass::text as "in", count(*)::int as n from holdfast.bodies group by 1 order by 1',
    )
    expect(stands.rows).toEqual([
      { in: 'holdfast.bodies_20510203', n: 1 },
      { in: 'holdfast.bodies_rest', n: 5 },
    ])
    expect((await queue.drain([daily])).completed).toHaveLength(6)
  })

  test('gives days the same bounds under any time zone and way of writing dates', async () => {
    const asked = `select c.relname, pg_get_expr(c.relpartbound, c.oid) as bound from pg_class as c
                   where c.relpartbound is not null and c.relname ~ '_2051020[34]$' order by 1`
    await queue.clock.set(new Date('2051-02-03T22:00:00Z'))
    await other.query(`set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kolkata'`)
    for (const family of ['bodies', 'history', 'results', 'dead_letters', 'log_lines', 'events']) {
      for (const day of [3, 4]) await other.query(`select holdfast.make_partition($1, make_date(2051, 2, $2))`, [family, day])
    }
    await sql.query(`set timezone = 'UTC'`)
    const { rows } = await sql.query(asked)
    expect(rows).toHaveLength(12)
    for (const { relname, bound } of rows.filter((row) => !row.relname.startsWith('bodies'))) {
      const day = Number(relname.at(-1))
      expect(bound).toBe(`FOR VALUES FROM ('2051-02-0${day} 00:00:00+00') TO ('2051-02-0${day + 1} 00:00:00+00')`)
    }
  })

  test('never holds two families at once, so that a reader who goes from one to the next cannot deadlock with it', async () => {
    // Long enough for the test to see it wait.
    await sql.query(`alter function holdfast.make_partition set lock_timeout = '60s'`)
    await queue.clock.advance('30d')
    await other.query('begin; select count(*) from holdfast.dead_letters')
    const made = insideOf(queue.holdfast).store.partitions.make()
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
    await expect(insideOf(queue.holdfast).store.partitions.make()).rejects.toMatchObject({ code: '55P03' })
    expect((await queue.holdfast.enqueue(daily, 'goes on')).status).toBe('created')
    await other.query('rollback')
    await insideOf(queue.holdfast).store.partitions.make()
    expect(await missing()).toBe(0)
  })

  test('by eight at once makes each of them once', async () => {
    await queue.clock.advance('30d')
    await Promise.all(Array.from({ length: 8 }, () => insideOf(queue.holdfast).store.partitions.make()))
    await insideOf(queue.holdfast).store.partitions.make()
    expect(await missing()).toBe(0)
  })
})
