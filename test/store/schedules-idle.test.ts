import { expect, test } from 'vitest'
import { costOf, plansOf } from '../support/plans.js'
import { makeScheduledQueue } from '../support/schedules.js'

const look = 'select * from holdfast.due_schedules(1, 100, 5000)'

test('a look where nothing is due costs the same with ten thousand schedules as with one: one statement, a few pages, no write', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({})
  await queue.fire()
  const client = await queue.connect()
  const cost = async () => {
    await client.query('vacuum analyze holdfast.schedules')
    await costOf(client, look)
    return costOf(client, look)
  }
  const alone = await cost()
  await client.query(`
    insert into holdfast.schedules (name, defined, created_at, created_by, handled_to, next_at)
    select 'more-' || n, s.defined, s.created_at, 'ada', s.handled_to, s.next_at + n * interval '1 second'
    from holdfast.schedules as s, generate_series(1, 10000) as n`)
  const beside = await cost()
  expect(alone.wal).toBe(0)
  expect(beside.wal).toBe(0)
  // Two indexes are a page or two deeper.
  expect(beside.pages - alone.pages).toBeLessThanOrEqual(6)
  const plans = await plansOf(client, () => client.query(look))
  expect(plans.filter(({ type }) => type === 'Seq Scan')).toEqual([])
  expect([...new Set(plans.flatMap(({ index }) => index ?? []))].sort()).toEqual([
    'schedules_due',
    'schedules_handled',
    'schedules_paused_for_a_time',
  ])
  const [{ next_in_ms: nextInMs } = { next_in_ms: 0 }] = (await client.query(look)).rows
  expect(nextInMs).toBe(30 * 60_000)
})
