import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { useOwnPostgres } from '../support/own-postgres.js'

// The queue of NOTIFY belongs to the whole server, and this file fills it up: 64 pages are the fewest there can be. Before PostgreSQL 17
// there are always a million of them.
const isLarge = /\b1[56]\b/.test(process.env.HOLDFAST_POSTGRES_BIN ?? '')
const server = useOwnPostgres({ max_prepared_transactions: '2', ...(!isLarge && { max_notify_queue_pages: '64' }) })
const work = defineType({ type: 'work', run() {} })
const who = { by: 'ada' }

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function setUp() {
  const scratch = await makeScratchDatabase(server.url)
  onTestFinished(() => scratch.drop())
  const holdfast = new Holdfast({ connectionString: scratch.connectionString })
  onTestFinished(() => holdfast.close())
  await holdfast.registerTypes([work])
  const sql = await connect(scratch.connectionString)
  // Somebody is idle, so that every enqueue would notify.
  await sql.query('insert into holdfast.idle_workers select l.id, 1 from holdfast.lanes as l')
  return { scratch, holdfast, sql }
}

test.skipIf(isLarge)(
  'a full queue of notifications costs no enqueue, no due job and no operator anything, and notifications come again after it',
  async () => {
    const { scratch, holdfast, sql } = await setUp()
    const forgetful = await connect(scratch.connectionString)
    await forgetful.query('listen something')
    await forgetful.query('begin; select 1')
    const fill = `select pg_notify('something', n || repeat('x', 7000)) from generate_series(1, 8) as n`
    await expect(
      (async () => {
        for (let n = 0; n < 100; n++) await sql.query(fill)
      })(),
    ).rejects.toMatchObject({ code: '54000' })

    const { id } = await holdfast.enqueue(work, {})
    await holdfast.enqueueMany([work.job({}), work.job({})])
    await sql.query('begin')
    await holdfast.enqueue(work, {}, { tx: sql })
    await sql.query('commit')
    await sql.query(`select holdfast.enqueue('work', '{}', '{"delay": "1 ms"}')`)
    await eventually(async () => {
      await sql.query(`select from holdfast.tick(100, '-infinity')`)
      return (await sql.query('select from holdfast.waiting')).rowCount === 0
    })
    await holdfast.cancel(id, who)
    expect((await sql.query('select from holdfast.queue')).rowCount).toBe(4)

    expect(await holdfast.alerts.look()).toMatchObject([{ state: 'firing', rule: 'notify-queue' }])
    expect(readMeasured(await scrape(holdfast)).get('holdfast_notify_queue_usage_ratio')).toBeGreaterThan(0.5)

    await forgetful.query('rollback')
    const idle = await connect(scratch.connectionString)
    let notifications = 0
    idle.on('notification', () => notifications++)
    const { rows } = await sql.query(`select lane_id from holdfast.types where name = 'work'`)
    await idle.query(`listen "holdfast.lane_${rows[0].lane_id}"`)
    await eventually(async () => {
      await holdfast.enqueue(work, {})
      return notifications > 0
    })
    expect(readMeasured(await scrape(holdfast)).get('holdfast_notify_queue_usage_ratio')).toBeLessThan(0.5)
  },
)

test('a transaction that turns notifications off can enqueue and be prepared', async () => {
  const { holdfast, sql } = await setUp()
  await sql.query('begin')
  await sql.query(`set local holdfast.notify = 'off'`)
  const { id } = await holdfast.enqueue(work, { n: 1 }, { tx: sql })
  await sql.query(`prepare transaction 'with a job'`)
  expect(await holdfast.job(id)).toBeUndefined()
  await sql.query(`commit prepared 'with a job'`)
  expect(await holdfast.job(id)).toMatchObject({ status: 'pending' })
})
