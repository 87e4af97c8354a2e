import { defineType, Holdfast } from 'holdfast'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { by } from '../support/flow.js'
import { costOf } from '../support/plans.js'

/** Slots, leases and keys that disagree with the jobs they stand for are found, repaired and counted. */
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

const rows = async (text: string, values: unknown[] = []) => (await queue.client.query(text, values)).rows
const drift = async () => (await rows('select what from holdfast.find_drift() order by what')).map(({ what }) => what)
const repair = () => rows(`select * from holdfast.repair_drift(interval '0', 100) order by what`)
const claimed = async (jobs: number) => (await rows(claim(jobs), [queue.lane, fromTheHead])).map(({ job_id }) => job_id)
const settle = `select holdfast.settle_jobs(jobs, array_fill(id, array[cardinality(jobs)]), '{}', '{}', '{}', '{1,1,1}', '{0,0,0}', '{}', 1,
  array[id]) from holdfast.leases`
const promote = () => rows(`select * from holdfast.tick(100, '-infinity')`)

/** Three jobs of a limited type with a key, in a lane with slots: two run, and one waits before its gate. */
async function someRun(): Promise<void> {
  await holdfast.flow.setLane('default', { slots: 5 }, by)
  await holdfast.flow.limit('bare', { maxRunningPerKey: 2 }, { by: 'ada' })
  for (let n = 0; n < 3; n++) await holdfast.enqueue('bare', {}, { concurrencyKey: 'a' })
  await promote()
  expect(await claimed(5)).toHaveLength(2)
  await promote()
}

/** What is done behind everybody's back, what it is called, and how one sees that it was put right. */
const wrongs: Record<string, [wrong: string, what: string[]]> = {
  'a slot of a lane whose job is gone': [
    `insert into holdfast.lane_slots select gen_random_uuid(), id from holdfast.lanes where name = 'default'`,
    ['lane_slot_left'],
  ],
  'a job that runs without a slot of its lane': ['delete from holdfast.lane_slots', ['lane_slot_missing', 'lane_slot_missing']],
  'a lease that its gate does not count': ['delete from holdfast.gate_leases', ['gate_lease_missing', 'gate_lease_missing']],
  'a job under another key than its own': [
    `update holdfast.queue set concurrency_key = 'b' where lease_id is null`,
    ['key_differs'],
  ],
  'a lease that is gone': ['delete from holdfast.leases', ['lease_missing', 'lease_missing']],
}

describe.each(Object.entries(wrongs))('%s', (_, [wrong, what]) => {
  test('is found, repaired and counted, and the jobs go on', async () => {
    await someRun()
    expect(await drift()).toEqual([])
    expect(await repair()).toEqual([])
    await queue.client.query(wrong)
    expect(await drift()).toEqual(what)
    const repairs = await repair()
    expect(repairs.flatMap(({ what, repaired }) => Array(repaired).fill(what))).toEqual(what)
    expect(await drift()).toEqual([])
    expect(await rows('select what, total::int as repaired from holdfast.drift_repairs where total > 0 order by what')).toEqual(
      repairs,
    )
    await rows('select from holdfast.rescue_leases(100, 1000)')
    for (let n = 0; n < 3; n++) {
      await queue.client.query(settle)
      await promote()
      await claimed(5)
    }
    expect(await rows('select from holdfast.queue')).toEqual([])
    expect(await rows('select job_id from holdfast.lane_slots')).toEqual([])
    expect(await drift()).toEqual([])
  })
})

test('a job that waits for another which has ended is started', async () => {
  const unique = defineType({ type: 'unique', unique: { onConflict: 'one_more' } })
  await holdfast.registerTypes([unique])
  await holdfast.enqueue(unique, {})
  await claimed(1)
  await holdfast.enqueue(unique, {})
  expect(await rows('select from holdfast.following')).toHaveLength(1)
  expect(await drift()).toEqual([])
  await queue.client.query('delete from holdfast.queue')
  expect(await drift()).toEqual(['leader_missing'])
  expect(await repair()).toEqual([{ what: 'leader_missing', repaired: 1 }])
  expect(await rows('select place from holdfast.live')).toEqual([{ place: 'queue' }])
})

test('a slot that a claim takes while the repair waits for it is not freed', async () => {
  await holdfast.flow.setLane('default', { slots: 5 }, by)
  await queue.fill(1)
  await queue.client.query('insert into holdfast.lane_slots select job_id, lane_id from holdfast.queue')
  const claimer = await queue.connect()
  await claimer.query('begin')
  expect((await claimer.query(claim(1), [queue.lane, fromTheHead])).rowCount).toBe(1)
  expect(await drift()).toEqual(['lane_slot_left'])
  const mender = await queue.connect()
  const repairing = mender.query(`select * from holdfast.repair_drift(interval '0', 100)`)
  await blockedOrDone(queue.client, repairing)
  await claimer.query('commit')
  expect((await repairing).rows).toEqual([])
  expect(await rows('select from holdfast.lane_slots')).toHaveLength(1)
})

test('it walks through everything a piece at a time, begins again at the end, and rests in between', async () => {
  await holdfast.flow.setLane('default', { slots: 100 }, by)
  await queue.fill(25)
  await claimed(25)
  await queue.client.query('delete from holdfast.lane_slots')
  const piece = async () => (await rows(`select * from holdfast.repair_drift(interval '0', 10)`))[0]?.repaired ?? 0
  expect([await piece(), await piece(), await piece(), await piece()]).toEqual([10, 10, 5, 0])
  expect(await rows(`select * from holdfast.repair_drift(interval '1 minute', 10)`)).toEqual([])
  await queue.client.query('delete from holdfast.lane_slots')
  expect(await rows(`select * from holdfast.repair_drift(interval '1 minute', 10)`)).toEqual([])
})

test('where all agrees a look costs the same however many jobs wait, and writes no more than where it has been', async () => {
  const look = `select * from holdfast.repair_drift(interval '0', 1000)`
  const costs: { pages: number; wal: number }[] = []
  for (const jobs of [2_000, 100_000]) {
    await queue.fill(jobs)
    await queue.client.query('analyze')
    for (let n = 0; n < 3; n++) await queue.client.query(look)
    costs.push(await costOf(queue.client, look))
  }
  const [few, many] = costs as [{ pages: number; wal: number }, { pages: number; wal: number }]
  expect(many.pages).toBeLessThan(3 * few.pages)
  expect(many.pages).toBeLessThan(40_000)
  expect(many.wal).toBeLessThan(20_000)
})
