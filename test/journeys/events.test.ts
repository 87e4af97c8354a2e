import { defineType, FatalError, type Holdfast, type JobEvent } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { eachTestHas, type FreshInstallation } from '../support/fresh-installation.js'

let holdfast: Holdfast
let sql: pg.Client
let connectionString: string
eachTestHas({}, (made: FreshInstallation) => {
  ;({ holdfast, sql } = made)
  connectionString = made.scratch.connectionString
})

const opened: (() => Promise<unknown>)[] = []
// Before the database is dropped, and so not onTestFinished.
afterEach(async () => void (await Promise.all(opened.splice(0).map((close) => close()))))

const logger = { info: () => {}, warn: () => {}, error: () => {} }
const who = { by: 'grace' }
const works = defineType({ type: 'works', run: () => {} })
const dies = defineType({
  type: 'dies',
  maxAttempts: 2,
  limits: { breaker: false },
  backoff: { base: 10, cap: 10, jitter: 0 },
  run: (_, { job }) => {
    throw job.attempt === 1 ? new Error('not yet') : new FatalError('never')
  },
})

async function working() {
  const worker = await startWorker(holdfast, [works, dies], { logger })
  opened.push(() => worker.stop())
}

async function another() {
  const client = new pg.Client({ connectionString })
  await client.connect()
  opened.push(() => client.end())
  return client
}

/** An event of a job of its own, written as the statements do that end jobs, in whatever transaction the client is. */
async function record(client: pg.Client, id: string) {
  await client.query(`select holdfast.record_events(array[$1::uuid], 'completed')`, [id])
}

async function readAll(after?: string, limit = 3) {
  const seen: JobEvent[] = []
  for (let cursor = after; ; ) {
    const page = await holdfast.events.page({ limit, ...(cursor !== undefined && { after: cursor }) })
    seen.push(...page.events)
    cursor = page.next
    if (!page.more) return { seen, next: page.next }
  }
}

describe('the feed of events', () => {
  test('has what happened to jobs, in order, typed by its kind', async () => {
    await holdfast.events.page()
    await working()
    const { id: dead } = await holdfast.enqueue(dies, {}, { tags: ['eu'] })
    await eventually(async () => (await holdfast.job(dead))?.status === 'dead')
    await holdfast.deadLetters.replay(dead, who)
    await eventually(async () => (await holdfast.events.page({ kinds: ['dead'] })).events.length === 2)
    await holdfast.deadLetters.discard(dead, who)
    const { id: waits } = await holdfast.enqueue(works, {}, { delay: '1h' })
    await holdfast.cancel(waits, who)
    await holdfast.resume(waits, who)
    await holdfast.runNow(waits, who)
    await holdfast.wait(waits)
    const { id: unwanted } = await holdfast.enqueue(works, {}, { delay: '1h' })
    await holdfast.cancel(unwanted, { ...who, why: 'sent by hand' })
    const { seen } = await readAll()
    expect(seen.map(({ kind, type, attempt }) => [kind, type, attempt])).toEqual([
      ['retrying', 'dies', 1],
      ['dead', 'dies', 2],
      ['replayed', 'dies', 2],
      ['retrying', 'dies', 1],
      ['dead', 'dies', 2],
      ['discarded', 'dies', 2],
      ['cancelled', 'works', 1],
      ['resumed', 'works', 1],
      ['completed', 'works', 1],
      ['cancelled', 'works', 1],
    ])
    const [first, second] = seen
    if (first?.kind !== 'retrying' || second?.kind !== 'dead') throw new Error('other kinds')
    expect(first).toEqual({
      ...{ kind: 'retrying', cursor: expect.stringMatching(/^\d+$/), job: dead, type: 'dies', tags: ['eu'], owner: null },
      ...{ at: expect.any(Date), attempt: 1, error: { name: 'Error', message: 'not yet' } },
    })
    expect([second.reason, second.error]).toEqual(['fatal', { name: 'FatalError', message: 'never' }])
    expect(seen[9]).toMatchObject({ error: { name: 'Cancelled', message: 'cancelled by grace: sent by hand' } })
    expect(seen[8]).not.toHaveProperty('error')
    expect((await holdfast.events.page({ types: ['works'], kinds: ['cancelled', 'completed'] })).events).toHaveLength(3)
  })

  test('has what a rescue, a deadline, a person or a transaction of the handler did', async () => {
    await holdfast.events.page()
    const asks = defineType({ type: 'asks', approval: true, run: () => {} })
    const commits = defineType({ type: 'commits', run: (_, { completeWith }) => completeWith(async () => 1) })
    const worker = await startWorker(holdfast, [commits], { logger })
    opened.push(() => worker.stop())
    await holdfast.wait(await holdfast.enqueue(commits, {}))
    const { id: unwanted } = await holdfast.enqueue(asks, {})
    await holdfast.reject(unwanted, { ...who, why: 'no' })
    await holdfast.registerTypes([works])
    await holdfast.enqueue(works, {}, { expireIn: '1ms' })
    await eventually(async () => (await readAll()).seen.some(({ kind }) => kind === 'dead'))
    const { id: lost } = await holdfast.enqueue(works, {}, { maxAttempts: 2 })
    for (let attempt = 1; attempt <= 2; attempt++) {
      await sql.query(
        'insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs) values ($1, 0, now(), now(), array[$2::uuid])',
        [attempt, lost],
      )
      await sql.query('update holdfast.queue set lease_id = $1 where job_id = $2', [attempt, lost])
      await sql.query('select holdfast.rescue_leases(10, 10)')
    }
    await eventually(async () => (await readAll()).seen.length === 5)
    expect((await readAll()).seen.map((event) => [event.kind, event.type, 'reason' in event && event.reason])).toEqual([
      ['completed', 'commits', false],
      ['cancelled', 'asks', false],
      ['dead', 'works', 'expired'],
      ['retrying', 'works', false],
      ['dead', 'works', 'poison'],
    ])
  })

  test('skips no event of a transaction that wrote first and committed last', async () => {
    const ids = (await holdfast.enqueueMany(Array.from({ length: 6 }, () => works.job({})))).map(({ id }) => id) as string[]
    const [slow, quick] = [await another(), await another()]
    let { next } = await holdfast.events.page()
    const seen: string[] = []
    const read = async () => {
      const page = await readAll(next)
      next = page.next
      seen.push(...page.seen.map(({ job }) => job))
    }
    await slow.query('begin')
    await record(slow, ids[0] as string)
    await record(quick, ids[1] as string)
    await read()
    await slow.query('savepoint one')
    await record(slow, ids[2] as string)
    await record(quick, ids[3] as string)
    await read()
    // What is written later is committed, and still nobody has passed the first.
    expect(seen).toEqual([])
    await slow.query('commit')
    await quick.query('begin')
    await record(quick, ids[4] as string)
    await quick.query('rollback')
    await record(quick, ids[5] as string)
    await read()
    expect(seen).toEqual([0, 1, 2, 3, 5].map((at) => ids[at]))
    await read()
    expect(seen).toHaveLength(5)
  })

  test('gives a reader every event once, in one order, while many transactions commit in another', async () => {
    const ids = (await holdfast.enqueueMany(Array.from({ length: 240 }, () => works.job({})))).map(({ id }) => id) as string[]
    const { next } = await holdfast.events.page()
    const feed = holdfast.events.follow({ after: next, poll: 10 })
    const seen: JobEvent[] = []
    const reading = (async () => {
      for await (const event of feed) if (seen.push(event) === ids.length) return
    })()
    const writers = await Promise.all([0, 1, 2, 3].map(() => another()))
    await Promise.all(
      writers.map(async (client, nth) => {
        for (let at = nth; at < ids.length; at += 8) {
          await client.query('begin')
          await record(client, ids[at] as string)
          await client.query('select pg_sleep(random() * 0.02)')
          await record(client, ids[at + 4] as string)
          await client.query('commit')
        }
      }),
    )
    await reading
    expect(new Set(seen.map(({ job }) => job))).toEqual(new Set(ids))
    expect((await readAll(undefined, 50)).seen.map(({ cursor }) => cursor)).toEqual(seen.map(({ cursor }) => cursor))
  })

  test('goes on where a reader that is started again left off, with the event that it was dealing with', async () => {
    await holdfast.events.page()
    await working()
    for (const job of await holdfast.enqueueMany([works.job({}), works.job({}), works.job({})])) await holdfast.wait(job)
    await eventually(async () => (await readAll()).seen.length === 3)
    const first = holdfast.events.follow({ poll: 10 })
    const seen: string[] = []
    for await (const { cursor } of first) if (seen.push(cursor) === 2) break
    const signal = AbortSignal.timeout(10_000)
    for await (const { cursor } of holdfast.events.follow({ after: first.cursor as string, poll: 10, signal })) {
      if (seen.push(cursor) === 4) break
    }
    expect(seen[2]).toBe(seen[1])
    expect(new Set(seen)).toHaveProperty('size', 3)
  })
})

describe('a cursor', () => {
  const lost = { code: 'events_lost', status: 410, field: 'after' }

  test('whose next events were dropped with their partition is told so, and the rest can be read', async () => {
    const [a, b] = await holdfast.enqueueMany([works.job({}), works.job({})])
    const { next } = await holdfast.events.page()
    await record(sql, a?.id as string)
    await eventually(async () => (await readAll(next)).seen.length === 1)
    const { next: current } = await readAll(next)
    const { rows } = await sql.query(`select tableoid::regclass::text as partition from holdfast.events`)
    expect(rows[0].partition).toMatch(/events_\d{8}$/)
    // Only of events; that of the jobs is younger than its own retention says.
    await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile as
                     'select clock_timestamp() + interval ''9 days'''`)
    await record(sql, b?.id as string)
    await sql.query(`update holdfast.history set ended_at = holdfast.now()`)
    await eventually(async () => {
      const { rows } = await sql.query(`select holdfast.drop_oldest_partition('7 days', '30 days') as dropped`)
      return rows[0].dropped === null
    })
    await expect(holdfast.events.page({ after: next })).rejects.toMatchObject(lost)
    await expect(holdfast.events.page({ after: next })).rejects.toThrow(/no longer kept: the rest begins at 20/)
    const after = await readAll(current)
    expect((await readAll()).seen.map(({ cursor }) => cursor)).toEqual(after.seen.map(({ cursor }) => cursor))
    expect(after.seen.map(({ job }) => job)).toEqual([b?.id])
  })

  test('of a feed that nobody read for as long as events are kept is told so, and recording has stopped', async () => {
    const { id } = await holdfast.enqueue(works, {})
    const { next } = await holdfast.events.page()
    await sql.query(`update holdfast.feeds set read_at = holdfast.now() - interval '8 days'`)
    await sql.query(`select holdfast.sweep_rest('7 days', '30 days')`)
    await record(sql, id)
    expect((await sql.query('select from holdfast.events')).rowCount).toBe(0)
    await expect(holdfast.events.page({ after: next })).rejects.toMatchObject(lost)
    // Every process says once a minute that it reads, and this one just did; another one opens the feed again.
    await sql.query('select holdfast.open_feed()')
    await expect(holdfast.events.page({ after: next })).rejects.toMatchObject(lost)
    await record(sql, id)
    await eventually(async () => (await readAll()).seen.length === 1)
  })

  test('of another database, or one that nobody gave out, is refused', async () => {
    await expect(holdfast.events.page({ after: '99999999999' })).rejects.toMatchObject(lost)
    for (const after of ['', 'x', '-1', '1.5', `${2n ** 63n}`, "1' or true"]) {
      await expect(holdfast.events.page({ after })).rejects.toMatchObject({ code: 'invalid_option', field: 'after' })
    }
    const wrong = { kinds: ['exploded'] as unknown as ['dead'] }
    await expect(holdfast.events.page(wrong)).rejects.toThrow(/kinds\[0\] is "exploded"; it must be one of completed/)
  })
})

test('without a reader nothing is recorded', async () => {
  await working()
  await holdfast.wait(await holdfast.enqueue(works, {}))
  expect((await sql.query('select from holdfast.events')).rowCount).toBe(0)
})
