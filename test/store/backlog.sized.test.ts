import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { costOf, type PlanNode, plansOf } from '../support/plans.js'
import { sized } from '../support/sized.js'

/** What a job costs the database, in things that can be counted: the same on every machine, however busy it is. */
let queue: BareQueue

beforeEach(async () => {
  queue = await makeBareQueue()
})

afterEach(() => queue.close())

const claimed = 100
const many = sized({ sample: 50_000, whole: 200_000 })
const dead = sized({ sample: 30_000, whole: 100_000 })
const settleAll = (each: number) =>
  `select s from holdfast.leases as l, holdfast.settle_jobs(l.jobs, array_fill(l.id, array[${each}]), '{}', '{}', '{}',
     array_fill(1::float8, array[${each}]), array_fill(0::float8, array[${each}]), '{}', 1, array[l.id]) as s`
const costOfClaim = (after: readonly (number | string)[] = fromTheHead) =>
  costOf(queue.client, claim(claimed), [queue.lane, after])

/** A snapshot that stays open, as a forgotten report holds one. Nothing that dies from now on can be removed. */
async function holdSnapshot(): Promise<pg.Client> {
  const client = await queue.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from holdfast.lanes')
  return client
}

describe('the pages a claim looks at', () => {
  test(`are as many with ${many} jobs in the queue as with 10,000`, async () => {
    await queue.fill(10_000)
    await costOfClaim()
    const small = await costOfClaim()
    expect(small.rows).toBe(claimed)
    await queue.fill(many - 10_000)
    await costOfClaim()
    const large = await costOfClaim()
    expect(large.rows).toBe(claimed)
    // Trees grow by one level, which is one page more for each lookup; nothing else may grow.
    expect(large.pages).toBeLessThanOrEqual(small.pages + 2 * claimed)
  }, 240_000)

  test(`are as many behind ${dead} dead entries under a held snapshot, for a worker that remembers how far it has read`, async () => {
    await queue.fill(1_000)
    await costOfClaim()
    const fresh = await costOfClaim()
    await queue.drain(1_000 - 2 * claimed)
    await holdSnapshot()
    await queue.fill(dead)
    await queue.drain(dead)
    const { rows } = await queue.client.query('select last_value from holdfast.queue_seq')
    await queue.fill(1_000)
    const cursor = [...fromTheHead]
    cursor[5] = rows[0].last_value
    const behind = await costOfClaim(cursor)
    expect(behind.rows).toBe(claimed)
    expect(behind.pages).toBeLessThanOrEqual(fresh.pages + 2 * claimed)
    // From the head the dead would all be met, so the test has the case it means to have.
    expect((await costOfClaim()).pages).toBeGreaterThan(4 * behind.pages)
  }, 240_000)
})

describe('what a drain writes', () => {
  const jobs = 20_000

  async function drainWithWorker(): Promise<void> {
    const holdfast = new Holdfast({ connectionString: queue.url })
    let handled = 0
    const bare = defineType({
      type: 'bare',
      async run() {
        handled++
      },
    })
    const worker = await startWorker(holdfast, [bare], { concurrency: 24, logger: { info() {}, warn() {}, error() {} } })
    try {
      await vi.waitFor(() => expect(handled).toBe(jobs), { timeout: 60_000, interval: 20 })
    } finally {
      await worker.stop()
      await holdfast.close()
    }
    expect((await queue.client.query(`select count(*)::integer as n from holdfast.queue`)).rows[0].n).toBe(0)
  }

  /** The counter reaches the table a little later than the work is done: when two looks differ by little more than the looks. */
  async function commits(): Promise<number> {
    let before = 0
    return vi.waitFor(
      async () => {
        const { rows } = await queue.client.query('select xact_commit from pg_stat_database where datname = current_database()')
        const now = Number(rows[0].xact_commit)
        const moved = now - before
        before = now
        expect(moved).toBeLessThan(5)
        return now
      },
      { timeout: 30_000, interval: 1_500 },
    )
  }

  test('is one rewrite of its row in place for every claim, no index touched', async () => {
    await queue.fill(jobs)
    await queue.drain(jobs)
    const counters = `select n_tup_upd::integer as updated, n_tup_hot_upd::integer as inplace, n_tup_del::integer as deleted
                      from pg_stat_user_tables where relid = 'holdfast.queue'::regclass`
    await vi.waitFor(
      async () => expect((await queue.client.query(counters)).rows).toEqual([{ updated: jobs, inplace: jobs, deleted: jobs }]),
      { timeout: 60_000, interval: 100 },
    )
  }, 240_000)

  test('is less than one commit for every fifty jobs', async () => {
    await queue.fill(jobs)
    const before = await commits()
    await drainWithWorker()
    const perJob = ((await commits()) - before) / jobs
    expect(perJob).toBeGreaterThan(0.001)
    expect(perJob).toBeLessThan(0.02)
  }, 240_000)

  test('is one walk through each index for all jobs of a batch, and through the day they are of, not a descent for each', async () => {
    const each = 500
    await queue.fill(2 * each)
    await queue.drain(each)
    const claiming = await plansOf(queue.client, () => queue.client.query(claim(each), [queue.lane, fromTheHead]))
    const settling = await plansOf(queue.client, () => queue.client.query(settleAll(each)))
    const joins = (nodes: PlanNode[]) =>
      nodes
        .map(({ type }) => type)
        .filter((type) => /Join|Nested Loop/.test(type))
        .toSorted()
    // The nested loops read the heads of the priorities, ten rows, and the one lease of this test.
    expect(joins(claiming)).toEqual(['Hash Join', 'Nested Loop'])
    expect(joins(settling)).toEqual(['Merge Join', 'Nested Loop'])
    expect(claiming.map(({ table }) => table).filter((table) => table?.startsWith('bodies'))).toHaveLength(1)
    expect(settling.map(({ index }) => index)).toContain('queue_by_job')
  }, 240_000)

  test('is at most 470 bytes of WAL a job, claim and settle together', async () => {
    const each = 500
    const costs: number[] = []
    for (let round = 0; round < 100 && costs.length < 10; round++) {
      await queue.fill(each)
      const claiming = await costOf(queue.client, `${claim(each)} as c`, [queue.lane, fromTheHead])
      const settling = await costOf(queue.client, settleAll(each))
      expect(claiming.rows).toBe(each)
      // A checkpoint somewhere in between makes whole pages go into the WAL; that is its cost and not the job's.
      if (claiming.pageImages + settling.pageImages === 0) costs.push((claiming.wal + settling.wal) / each)
    }
    expect(costs).toHaveLength(10)
    expect(Math.max(...costs)).toBeLessThanOrEqual(470)
    expect(Math.min(...costs)).toBeGreaterThan(200)
  }, 240_000)
})
