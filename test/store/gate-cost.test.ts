import { Holdfast } from 'holdfast'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BareQueue, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { costOf } from '../support/plans.js'

/** What a job behind a gate costs, in bytes: counted and never timed, so that a change that makes gates dearer goes red everywhere. */
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

/** Bytes of WAL a job from claim to history, in claims of 500, without the whole pages that follow a checkpoint. */
async function walPerJob(): Promise<number> {
  await holdfast.enqueueMany(
    Array.from({ length: 4_000 }, (_, n) => ({ type: 'bare', payload: {}, concurrencyKey: `key ${n % 1_000}` })),
  )
  const claim = 'select lease from holdfast.claim_jobs(1, $1::smallint, null, 500, 60000, $2::bigint[])'
  const settle = `select holdfast.settle_jobs(l.jobs, array_fill(l.id, array[500]), '{}', '{}', '{}', array_fill(1::float8, array[500]),
    array_fill(0::float8, array[500]), '{}', 1, array[l.id]) from holdfast.leases as l`
  const costs: number[] = []
  for (let n = 0; n < 8; n++) {
    const [claimed, settled] = [await costOf(queue.client, claim, [queue.lane, fromTheHead]), await costOf(queue.client, settle)]
    if (claimed.pageImages + settled.pageImages === 0) costs.push((claimed.wal + settled.wal) / 500)
  }
  expect((await queue.client.query('select from holdfast.queue')).rowCount).toBe(0)
  // A checkpoint came in between, and every page was written whole once more.
  return costs.length > 0 ? Math.min(...costs) : walPerJob()
}

test.each([
  ['a limit of the type', { maxRunning: 100_000 }, 480],
  ['a rate', { rate: { count: 1_000_000, per: '1s' } }, 480],
  ['a limit of each key', { maxRunningPerKey: 1 }, 560],
  ['keys that take turns', { fair: true }, 560],
  ['keys whose jobs run in order', { ordered: true }, 560],
  ['every kind of limit', { maxRunning: 100_000, rate: { count: 1_000_000, per: '1s' }, maxRunningPerKey: 2, fair: true }, 560],
] as const)('a job behind %s writes little more than one without a gate', async (_, limits, most) => {
  await holdfast.flow.limit('bare', limits, { by: 'ada' })
  const wal = await walPerJob()
  expect(wal).toBeLessThanOrEqual(most)
  expect(wal).toBeGreaterThan(250)
})
