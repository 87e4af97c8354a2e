import { Holdfast } from 'holdfast'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { costOf } from '../support/plans.js'

/** How far the claims of a fleet have read: counted in pages and jobs, never timed. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

/** What a worker sends that has read the jobs of the default priority up to there. */
const readTo = (position: number) => fromTheHead.map((_, priority) => (priority === 5 ? position : 0))
const take = (jobs: number, after: readonly number[], client = queue.client) => client.query(claim(jobs), [queue.lane, after])
const costOfClaim = (after: readonly number[]) => costOf(queue.client, claim(500), [queue.lane, after])

test('a claim begins where those of other workers have stopped, also before these are committed', async () => {
  await queue.fill(8_000)
  await take(500, fromTheHead)
  const alone = await costOfClaim(readTo(500))
  for (let n = 0; n < 6; n++) await take(500, readTo(1_000))
  const other = await queue.connect()
  await other.query('begin')
  for (let n = 0; n < 6; n++) await take(500, readTo(1_000), other)
  const beside = await costOfClaim(readTo(1_000))
  expect(beside.rows).toBe(500)
  // Reading over the six thousand jobs in between takes three thousand pages more.
  expect(beside.pages).toBeLessThanOrEqual(alone.pages + 500)
  await other.query('rollback')
})

test('jobs behind the front are found by the next claim from the head, and the claims after it go on there', async () => {
  await queue.fill(3_000)
  await take(100, fromTheHead)
  const other = await queue.connect()
  await other.query('begin')
  const lost = (await take(1_000, readTo(100), other)).rows.map(({ job_id }) => job_id)
  await take(200, readTo(100))
  await other.query('rollback')
  const ahead = (await take(100, readTo(300))).rows.map(({ job_id }) => job_id)
  expect(ahead.filter((id) => lost.includes(id))).toEqual([])
  const found = [...(await take(100, fromTheHead)).rows, ...(await take(900, readTo(1_400))).rows].map(({ job_id }) => job_id)
  expect(found).toEqual(lost)
})

test('a worker that is too old for some jobs does not lead others past them', async () => {
  await queue.client.query(`update holdfast.types set version = 2`)
  await queue.client.query(`insert into holdfast.workers (name, host, pid, version, types, versions)
    select w.name, 'h', 1, '0', array[t.id], array[w.version::smallint]
    from holdfast.types as t, (values ('new', 2), ('old', 1)) as w (name, version) order by w.name`)
  await queue.fill(600)
  await take(100, fromTheHead)
  await queue.client.query('update holdfast.bodies set version = 2')
  const [{ id }] = (await queue.client.query(`select id from holdfast.workers where name = 'old'`)).rows
  const old = 'select ids from holdfast.claim_jobs($3, $1::smallint, null, 500, 60000, $2::bigint[])'
  expect((await queue.client.query(old, [queue.lane, readTo(100), id])).rows).toEqual([{ ids: null }])
  expect((await take(500, readTo(100))).rowCount).toBe(500)
})

test('two lanes or two groups of types do not take the front of the other for their own', async () => {
  await queue.fill(1_000)
  await take(600, fromTheHead)
  const [{ type_id: type }] = (await queue.client.query('select type_id from holdfast.queue limit 1')).rows
  await queue.client.query('update holdfast.queue set lease_id = null')
  const ofTypes =
    'select cardinality(ids) as jobs from holdfast.claim_jobs(1, $1::smallint, array[$3::integer], 500, 60000, $2::bigint[])'
  expect((await queue.client.query(ofTypes, [queue.lane, readTo(1), type])).rows).toEqual([{ jobs: 500 }])
  expect(
    (await queue.client.query('select from holdfast.queue where seq <= 501 and seq > 1 and lease_id is not null')).rowCount,
  ).toBe(500)
})

const enqueue = (jobs: number, options = {}) =>
  holdfast.enqueueMany(Array.from({ length: jobs }, () => ({ type: 'bare', payload: {}, ...options })))

test('a claim through a limit looks at no more pages while five thousand jobs run', async () => {
  // A claim that is the first for 200 ms looks at all of them, so the clock stands still.
  await queue.client.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
    as 'select timestamptz ''${new Date().toISOString()}'''`)
  await holdfast.flow.limit('bare', { maxRunning: 100_000 }, { by: 'ada' })
  for (let n = 0; n < 7; n++) await enqueue(1_000)
  await take(500, fromTheHead)
  const few = await costOfClaim(fromTheHead)
  for (let n = 0; n < 9; n++) await take(500, fromTheHead)
  const many = await costOfClaim(fromTheHead)
  expect(many.rows).toBe(500)
  expect(many.pages).toBeLessThanOrEqual(few.pages + 150)
})

test('a job of a higher priority is claimed through its gate before older ones when the front is looked behind, and where few wait at once', async () => {
  await holdfast.flow.limit('bare', { maxRunning: 100_000 }, { by: 'ada' })
  await enqueue(400)
  await take(200, fromTheHead)
  const [first] = await enqueue(1, { priority: 9 })
  await queue.client.query(`update holdfast.gates set front_at = front_at - interval '1 second'`)
  expect((await take(1, fromTheHead)).rows).toEqual([{ job_id: first?.id }])
  await take(100, fromTheHead)
  const [second] = await enqueue(1, { priority: 9 })
  const rest = (await take(500, fromTheHead)).rows.map(({ job_id }) => job_id)
  expect(rest).toHaveLength(101)
  expect(rest).toContain(second?.id)
})
