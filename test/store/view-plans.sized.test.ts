import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { plansOf } from '../support/plans.js'
import { sized } from '../support/sized.js'

const many = sized({ sample: 40_000, whole: 100_000 })
let queue: BareQueue
let fresh: pg.Client

/** One job of each status, among a hundred thousand of those that there can be so many of. */
const ids = new Map<string, string>()
/** The tables that it would hurt to read whole; a day that is still empty is none of them. */
const large = new Set<string>()

beforeAll(async () => {
  queue = await makeBareQueue()
  const { client } = queue
  const half = many / 2
  await queue.fill(many)
  await queue.drain(many)
  await queue.fill(many)
  await client.query(claim(500), [queue.lane, fromTheHead])
  // Half of those that wait are moved aside, so that both tables are large.
  await client.query(`
    with moved as (delete from holdfast.queue where lease_id is null and seq % 2 = 0 returning job_id, type_id, lane_id, priority)
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select job_id, now() + interval '1 day', type_id, lane_id, priority, 1, case when random() < 0.5 then 'scheduled' else 'failed' end
    from moved`)
  await client.query(
    `insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason)
     select id, holdfast.now(), type_id, priority, 1, 'exhausted' from holdfast.bodies
     where exists (select from holdfast.history as h where h.job_id = id) limit $1`,
    [half],
  )
  await client.query('delete from holdfast.history as h using holdfast.dead_letters as d where d.job_id = h.job_id')
  const { rows } = await client.query(`select status, min(id::text) as id from holdfast.jobs group by status`)
  for (const { status, id } of rows) ids.set(status, id)
  const { rows: tables } = await client.query(`
    select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 1000000`)
  for (const { relname } of tables) large.add(relname)
  fresh = await queue.connect()
}, 240_000)

afterAll(() => queue.close())

async function wholeReads(client: pg.Client, name: string, id: string): Promise<(string | undefined)[]> {
  const nodes = await plansOf(client, async () => {
    const { rowCount } = await client.query(statement(name).text, [id])
    if (name === 'jobById') expect(rowCount).toBe(1)
  })
  expect(nodes.some((node) => node.index !== undefined)).toBe(true)
  return nodes.filter((node) => node.type === 'Seq Scan' && large.has(node.table ?? '')).map((node) => node.table)
}

describe('one job among hundreds of thousands is found by indexes alone', () => {
  test.each(['without statistics', 'with statistics'])(
    '%s',
    async (statistics) => {
      if (statistics === 'with statistics') await queue.client.query('analyze')
      const statuses = ['completed', 'dead', 'failed', 'pending', 'processing', 'scheduled']
      expect([...ids.keys()].sort()).toEqual(statuses)
      const families = new Set([...large].map((table) => table.replace(/_\d+$/, '')))
      expect([...families].sort()).toEqual(['bodies', 'dead_letters', 'history', 'queue', 'waiting'])
      for (const [status, id] of ids) {
        expect(await wholeReads(fresh, 'jobById', id), `${status} job`).toEqual([])
        expect(await wholeReads(fresh, 'attemptsOfJob', id), `attempts of a ${status} job`).toEqual([])
      }
    },
    60_000,
  )
})
