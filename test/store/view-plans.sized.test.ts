import { Holdfast } from 'holdfast'
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
/** Jobs of which there are few of their kind, and all others are newer. */
const rare = new Map<string, string>()
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
  await storeRare(client)
  // What autovacuum does after a while: the index on types learns of the pages that were filled.
  await client.query(`select brin_summarize_new_values(i.inhrelid::regclass)
    from pg_inherits as i where i.inhparent = 'holdfast.bodies_by_type'::regclass`)
  const { rows } = await client.query(`select status, min(id::text) as id from holdfast.jobs group by status`)
  for (const { status, id } of rows) ids.set(status, id)
  const { rows: tables } = await client.query(`
    select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 1000000`)
  for (const { relname } of tables) large.add(relname)
  fresh = await queue.connect()
}, 240_000)

afterAll(() => queue.close())

async function storeRare(client: pg.Client): Promise<void> {
  await client.query(
    `insert into holdfast.types (name, lane_id) select 'rare', id from holdfast.lanes where name = 'maintenance'`,
  )
  await client.query(`update holdfast.types set searchable = '["n"]' where name = 'bare'`)
  // As if that had been so from the first job on.
  await client.query('update holdfast.types set searchable_from = default')
  const kinds = ['type', 'key', 'tag', 'owner', 'payload', 'ended', 'cancelled', 'awaiting_approval', 'blocked']
  for (const [n, kind] of kinds.entries()) {
    const { rows } = await client.query(
      `insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload, concurrency_key, tags, owner, search_keys)
       select (left(holdfast.first_id_at(holdfast.now() - interval '1 hour')::text, 35) || $2)::uuid, t.id, 5, 5, holdfast.now(),
              case when $1 = 'payload' then '{"n": 7}' else '{}' end::json, case when $1 = 'key' then 'acme' end,
              case when $1 = 'tag' then '{urgent}'::text[] end, case when $1 = 'owner' then 'billing' end,
              case when $1 = 'payload' then holdfast.search_keys('["n"]', '{"n": 7}') end
       from holdfast.types as t where t.name = case when $1 = 'type' then 'rare' else 'bare' end returning id`,
      [kind, String(n)],
    )
    rare.set(kind, rows[0].id)
    if (kind === 'awaiting_approval' || kind === 'blocked') {
      await client.query(
        `insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
         select id, 'infinity', type_id, $2, 5, 1, $3 from holdfast.bodies where id = $1`,
        [rows[0].id, queue.lane, kind],
      )
    } else {
      await client.query(
        `insert into holdfast.history (job_id, ended_at, outcome, attempt)
         values ($1, holdfast.now() - $3::text::interval, $2::text::holdfast.outcome, 1)`,
        [rows[0].id, kind === 'cancelled' ? kind : 'completed', kind === 'ended' ? '30 minutes' : '0'],
      )
    }
  }
}

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
      const statuses = [
        'awaiting_approval',
        'blocked',
        'cancelled',
        'completed',
        'dead',
        'failed',
        'pending',
        'processing',
        'scheduled',
      ]
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

describe('the first page of a search has the few jobs that fit, although all others are newer', () => {
  const asked: Record<string, object> = {
    type: { type: 'rare' },
    key: { concurrencyKey: 'acme' },
    tag: { tags: ['urgent'] },
    owner: { owner: 'billing' },
    cancelled: { status: 'cancelled' },
    awaiting_approval: { status: 'awaiting_approval' },
    blocked: { status: 'blocked' },
    payload: { type: 'bare', payload: { n: 7 } },
    ended: { endedAfter: new Date(Date.now() - 40 * 60_000), endedBefore: new Date(Date.now() - 20 * 60_000) },
    lane: { lane: 'maintenance' },
    'type and status': { type: 'rare', status: 'completed' },
    'tag, type and status': { tags: ['urgent'], type: 'bare', status: 'completed' },
    'lane and status': { lane: 'maintenance', status: 'completed' },
    'owner and status': { owner: 'billing', status: 'completed' },
  }
  test.each(Object.keys(asked))('by %s', async (what) => {
    const holdfast = new Holdfast({ connectionString: queue.url })
    const { jobs, next, lookedBackTo } = await holdfast.jobs(asked[what]).finally(() => holdfast.close())
    expect(jobs.map(({ id }) => id)).toEqual([rare.get(what) ?? rare.get((what.match(/type|tag|owner/) ?? ['type'])[0])])
    expect({ next, lookedBackTo }).toEqual({ next: null, lookedBackTo: null })
  })

  test('by indexes alone', async () => {
    const fields = [
      'owner',
      'type',
      'status',
      'after',
      'before',
      'payload',
      'cursor',
      'limit',
      'look',
      'bytes',
      'tags',
      'lane',
      'key',
    ]
    const search = { limit: 20, look: 2_000, bytes: 1_000_000, text: null }
    const reads: Record<string, object> = {
      bodies_by_type: { type: 'rare' },
      bodies_by_key: { key: 'acme' },
      bodies_by_tag: { tags: ['urgent'] },
      bodies_by_search_keys: { type: 'bare', payload: '{"n": 7}' },
      history_by_ended_at: { endedAfter: new Date(Date.now() - 40 * 60_000), endedBefore: new Date(Date.now() - 20 * 60_000) },
      bodies_by_owner: { owner: 'billing' },
      history_by_outcome: { status: 'cancelled' },
      waiting_by_status: { status: 'awaiting_approval' },
      leases_pkey: { status: 'processing' },
      dead_letters_by_job: { status: 'dead' },
      // An index of an expression has no column in its name.
      members_of_group: { batch: '01890000-0000-7000-8000-0000000000aa' },
      history_by_expr: { fingerprint: '0123456789abcdef' },
    }
    for (const [index, given] of Object.entries(reads)) {
      const values = { ...search, ...given } as Record<string, unknown>
      const nodes = await plansOf(fresh, () =>
        fresh.query(statement('listJobs').text, [
          ...fields.map((field) => values[field] ?? null),
          ...[null, [], values.fingerprint ?? null, values.batch ?? null, values.endedAfter ?? null, values.endedBefore ?? null],
        ]),
      )
      const whole = nodes.filter((node) => node.type === 'Seq Scan' && large.has(node.table ?? '')).map((node) => node.table)
      expect(whole, index).toEqual([])
      const columns = index.replace(/^(bodies|history|dead_letters)_by_/, '')
      const used = nodes.some((node) => node.index?.startsWith(index) || node.index?.includes(columns))
      expect(used, `${index}: ${[...new Set(nodes.map((node) => node.index))]}`).toBe(true)
    }
  })
})
