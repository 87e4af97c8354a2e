import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { by } from '../support/flow.js'

/** A lane gets a limit of slots while jobs run in it: those count, and only those. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 4 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

const count = async (table: string) => Number((await queue.client.query(`select count(*) from holdfast.${table}`)).rows[0].count)
const limitLane = (slots: number | null) => holdfast.flow.setLane('default', { slots }, by)

async function claimed(jobs: number): Promise<string[]> {
  return (await queue.client.query(claim(jobs), [queue.lane, fromTheHead])).rows.map(({ job_id }) => job_id)
}

const settle = (move: string) => `
  select holdfast.settle_jobs(l.jobs, array_fill(l.id, n), ${move}, array_fill(1::float8, n), array_fill(0::float8, n),
    array_fill(60000::float8, n), 1, array[l.id])
  from holdfast.leases as l cross join lateral (select array[cardinality(l.jobs)]) as size (n)`

/** What ends attempts, each as the statement that does it. */
const endings = {
  'a settle': settle(`'{}', '{}', '{}'`),
  'a retry': settle(`array_fill('retry'::text, n), array_fill('failed'::holdfast.outcome, n), '{}'`),
  'a hand-back': settle(`array_fill('hand_back'::text, n), array_fill('handed_back'::holdfast.outcome, n), '{}'`),
  'a rescue': 'select from holdfast.rescue_leases(100, 1000)',
  'an unacknowledged claim given back': `select holdfast.release_unacknowledged(1, '{}')`,
}

describe.each(Object.entries(endings))('a limit set while %s is under way', (_, ending) => {
  test('leaves no slot behind', async () => {
    await queue.fill(1)
    await claimed(1)
    await queue.client.query(`update holdfast.leases set expires_at = holdfast.now() - interval '1 second'`)
    const ender = await queue.connect()
    await ender.query('begin')
    await ender.query(ending)
    const limited = limitLane(1)
    await blockedOrDone(queue.client, limited)
    await ender.query('commit')
    await limited
    expect(await count('lane_slots')).toBe(0)
  })

  test('counts the job where that is rolled back', async () => {
    await queue.fill(1)
    await claimed(1)
    await queue.client.query(`update holdfast.leases set expires_at = holdfast.now() - interval '1 second'`)
    const ender = await queue.connect()
    await ender.query('begin')
    await ender.query(ending)
    const limited = limitLane(1)
    await blockedOrDone(queue.client, limited)
    await ender.query('rollback')
    await limited
    expect(await count('lane_slots')).toBe(1)
    await ender.query(ending)
    expect(await count('lane_slots')).toBe(0)
  })
})

test('a job that is cancelled at the moment its lane gets a limit keeps its slot until its handler has ended', async () => {
  await queue.fill(2)
  const [first] = await claimed(2)
  const canceller = await queue.connect()
  await canceller.query('begin')
  await canceller.query(`select holdfast.cancel_jobs(array[$1::uuid], holdfast.actor('ada'))`, [first])
  const limited = limitLane(2)
  await blockedOrDone(queue.client, limited)
  await canceller.query('commit')
  await limited
  expect(await count('lane_slots')).toBe(2)
  await queue.client.query(endings['a settle'])
  expect(await count('lane_slots')).toBe(0)
})

test('a job cancelled before its lane gets a limit, whose handler is still at work, counts too', async () => {
  await queue.fill(1)
  const [first] = await claimed(1)
  await holdfast.cancel(first as string, by)
  await limitLane(1)
  expect(await count('lane_slots')).toBe(1)
  await queue.client.query(endings['a settle'])
  expect(await count('lane_slots')).toBe(0)
})

test('a claim under way that knows of no limit is counted by whoever sets one', async () => {
  await queue.fill(3)
  const claimer = await queue.connect()
  await claimer.query('begin')
  await claimer.query(claim(2), [queue.lane, fromTheHead])
  const limited = limitLane(2)
  await blockedOrDone(queue.client, limited)
  await claimer.query('commit')
  await limited
  expect(await count('lane_slots')).toBe(2)
  expect(await claimed(5)).toEqual([])
})

test('a limit that is changed counts nothing again', async () => {
  await limitLane(5)
  await queue.fill(3)
  await claimed(2)
  const ender = await queue.connect()
  await ender.query('begin')
  await ender.query(endings['a settle'])
  await limitLane(3)
  await ender.query('commit')
  expect(await count('lane_slots')).toBe(0)
})

test('what the environment said of a lane once is neither locked nor written again, by however many workers', async () => {
  const { store } = insideOf(holdfast)
  const environment = '{"slots": 4, "enabled": true}'
  await store.operate.seedLane('default', environment)
  const rows = `select (select xmin::text || ctid::text from holdfast.lanes where name = 'default') as lane,
    (select count(*) from holdfast.audit_log) as told`
  const before = (await queue.client.query(rows)).rows
  // A claim under way would make whoever changes a lane wait.
  const claimer = await queue.connect()
  await claimer.query('begin')
  await claimer.query(claim(2), [queue.lane, fromTheHead])
  await Promise.all(Array.from({ length: 10 }, () => store.operate.seedLane('default', environment)))
  await claimer.query('commit')
  expect((await queue.client.query(rows)).rows).toEqual(before)
})
