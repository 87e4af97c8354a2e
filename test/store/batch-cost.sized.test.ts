import { afterEach, beforeEach, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { type BareQueue, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { costOf, plansOf } from '../support/plans.js'
import { sized } from '../support/sized.js'

/** What a batch costs those who read it and those who end its members, counted in pages, rows and locks. */
let queue: BareQueue
let batch: string

beforeEach(async () => {
  queue = await makeBareQueue()
})
afterEach(() => queue.close())

async function batchOf(members: number): Promise<void> {
  await queue.fill(members)
  const { rows } = await queue.client.query('select holdfast.new_job_id() as id')
  batch = rows[0].id
  await queue.client.query("select holdfast.create_batch($1, null, null, '{}', false)", [batch])
  await queue.client.query('select holdfast.join_batch($1, array(select id from holdfast.bodies), null, true)', [batch])
}

const read = () => queue.client.query(statement('batchProgress').text, [batch, null])
const settle = `select holdfast.settle_jobs($1::uuid[], array_fill($2::bigint, array[cardinality($1::uuid[])]), '{}', '{}', '{}',
  array_fill(1::float8, array[cardinality($1::uuid[])]), array_fill(0::float8, array[cardinality($1::uuid[])]), '{}', $3::integer, array[$2::bigint])`
const claim = async (limit: number) =>
  (
    await queue.client.query(`select ids, lease from holdfast.claim_jobs(1, $1::smallint, null, ${limit}, 60000, $2::bigint[])`, [
      queue.lane,
      fromTheHead,
    ])
  ).rows[0] as { ids: string[]; lease: string }

const many = sized({ sample: 20_000, whole: 100_000 })

test(`the progress of a batch of ${many} members is read in a few pages, without any of them, in less than 10 ms`, async () => {
  await batchOf(many)
  await queue.drain(many / 2)
  const nodes = await plansOf(queue.client, async () => {
    const { rows } = await read()
    expect(rows[0]).toMatchObject({ status: 'running', total: many, live: many / 2, completed: many / 2 })
  })
  const tables = new Set(nodes.map(({ table }) => table).filter((table) => table !== undefined))
  expect([...tables].sort()).toEqual(['batch_callbacks', 'batches', 'group_changes'])
  // The rows of settles are what nobody has added up; a worker adds up as it goes.
  await queue.client.query('select holdfast.advance_groups(holdfast.groups_to_advance())')
  const text = statement('batchProgress').text.replaceAll('$1', `'${batch}'`).replaceAll('$2', 'null')
  expect((await costOf(queue.client, text)).pages).toBeLessThan(30)
  const times: number[] = []
  for (let n = 0; n < 20; n++) {
    const begun = performance.now()
    await read()
    times.push(performance.now() - begun)
  }
  expect(Math.min(...times)).toBeLessThan(10)
}, 240_000)

test('all members that end in one statement are one row, and a job without a batch costs none', async () => {
  await batchOf(1_000)
  await queue.client.query('select holdfast.advance_groups(holdfast.groups_to_advance())')
  const { ids, lease } = await claim(500)
  await queue.client.query(settle, [ids, lease, 1])
  const { rows } = await queue.client.query('select was, became, jobs from holdfast.group_changes')
  expect(rows).toEqual([{ was: 'live', became: 'completed', jobs: 500 }])
  await queue.client.query('delete from holdfast.members')
  const plain = await claim(500)
  await queue.client.query(settle, [plain.ids, plain.lease, 1])
  expect((await queue.client.query('select from holdfast.group_changes')).rowCount).toBe(1)
}, 60_000)

const enders = sized({ sample: 8, whole: 20 })

test(`${enders * 500} members end in ${enders} transactions that are all open at once, and none waits for another`, async () => {
  await batchOf(enders * 500)
  const open = []
  for (let n = 0; n < enders; n++) {
    const { ids, lease } = await claim(500)
    const client = await queue.connect()
    await client.query("begin; set local lock_timeout = '5s'")
    // Each is a worker of its own: one worker has one settle at a time.
    await client.query(settle, [ids, lease, n + 1])
    // And somebody reads, adds up and finds nothing in the way.
    expect((await read()).rows[0]).toMatchObject({ live: enders * 500 })
    await queue.client.query('select holdfast.advance_groups(holdfast.groups_to_advance())')
    open.push(client)
  }
  await Promise.all(open.map((client) => client.query('commit')))
  await queue.client.query('select holdfast.advance_groups(holdfast.groups_to_advance())')
  expect((await read()).rows[0]).toMatchObject({ status: 'succeeded', live: 0, completed: enders * 500 })
}, 120_000)
