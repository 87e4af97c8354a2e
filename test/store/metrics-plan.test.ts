import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { type BareQueue, makeBareQueue } from '../support/bare-queue.js'
import { plansOf } from '../support/plans.js'

/** Not timed: which tables are read is a fact, and none of those that are read grows with what was run. */
const kept = ['builds', 'depths', 'drift_repairs', 'duties', 'durations', 'enqueued', 'enqueue_errors', 'fleet_counts', 'retention_ran', 'verified', 'waits', 'dead_depths', 'dependencies', 'gates', 'event_counts', 'lane_slots', 'lanes', 'migrations', 'pg_class', 'set_aside', 'attempt_counts', 'totals', 'types', 'workers'] // biome-ignore format: one list
let queue: BareQueue

beforeAll(async () => {
  queue = await makeBareQueue()
  await queue.fill(20_000)
  await queue.drain(10_000)
}, 60_000)
afterAll(() => queue.close())

async function tablesReadBy(client: pg.Client, name: string): Promise<string[]> {
  const nodes = await plansOf(client, () => client.query(statement(name).text))
  return [...new Set(nodes.flatMap(({ table }) => (table === undefined ? [] : [table])))].sort()
}

test.each(['without statistics', 'with statistics'])(
  '/metrics reads only what is kept, never jobs or their history, %s',
  async (which) => {
    if (which === 'with statistics') await queue.client.query('analyze')
    const read = await tablesReadBy(queue.client, 'readMetrics')
    expect(read.filter((table) => !kept.includes(table))).toEqual([])
    // That the plans are seen at all.
    expect(read).toEqual(expect.arrayContaining(['attempt_counts', 'totals', 'depths']))
  },
)

test('what many workers counted is put together where that is crowded, and nothing is lost or counted twice', async () => {
  await queue.client.query('delete from holdfast.attempt_counts where worker_id <> 1')
  await queue.client.query(`
    insert into holdfast.attempt_counts (type_id, at, worker_id, good, bad, lost)
    select t.id, holdfast.attempt_count_step(now()) - s * interval '10 seconds', w, 3, 1, case when w = 7 then 1 end
    from holdfast.types as t, generate_series(1, 30) as s, generate_series(2, 251) as w`)
  const counted = async () =>
    (await queue.client.query('select completed::int, failed::int, lost::int from holdfast.counters')).rows
  const before = await counted()
  expect(before).toMatchObject([{ failed: 7_500, lost: 30 }])
  await Promise.all([1, 2].map(() => queue.client.query(statement('keepTotals').text)))
  expect(await counted()).toEqual(before)
  const { rows } = await queue.client.query(
    `select count(*)::int as rows, count(lost)::int as deaths from holdfast.attempt_counts where at < now() - interval '2 minutes'`,
  )
  // Of each step one row, and one for the worker that died in it. Steps between one minute ago and two may have become old enough
  // only after they were put together.
  expect(rows[0].deaths).toBeGreaterThanOrEqual(17)
  expect(rows[0].rows).toBe(rows[0].deaths * 2)
  await queue.client.query('delete from holdfast.attempt_counts where worker_id <> 1')
})

test('adding up reads no jobs and no history either, and of the dead letters no more than how many there are', async () => {
  await queue.client.query(`update holdfast.attempt_counts set at = at - interval '1 hour'`)
  const read = await tablesReadBy(queue.client, 'keepTotals')
  expect(read.filter((table) => /^(history|bodies|queue|waiting|gated|following)/.test(table))).toEqual([])
  expect(read).toContain('attempt_counts')
  const { rows } = await queue.client.query('select completed::int from holdfast.totals')
  expect(rows).toEqual([{ completed: 10_000 }])
})
