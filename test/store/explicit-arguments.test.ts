import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStatements } from '../../src/store/queries.js'

/** Who acts and who owns a job are arguments of the functions that write it down. A setting of the session says neither. */
let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await sql.query(`insert into holdfast.types (name, lane_id) select 'send_email', id from holdfast.lanes where name = 'default'`)
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})

const rows = async (text: string, values: unknown[] = []) => (await sql.query(text, values)).rows

test('a session that calls itself a service stores jobs that belong to nobody, with keys of nobody', async () => {
  await sql.query(`select set_config('holdfast.owner', 'billing', false)`)
  const options = JSON.stringify({ idempotency_key: 'k', unique: { key: 'u' } })
  const [{ id }] = await rows(`select id from holdfast.enqueue('send_email', '{}', $1)`, [options])
  expect(await rows('select owner from holdfast.bodies where id = $1', [id])).toEqual([{ owner: null }])
  expect(await rows('select owner from holdfast.idempotency_keys where job_id = $1', [id])).toEqual([{ owner: '' }])
  expect(await rows('select owner from holdfast.uniques where job_id = $1', [id])).toEqual([{ owner: '' }])
})

test('the owner of one enqueue is not that of the next one in the same transaction', async () => {
  const first = '01890000-0000-7000-8000-0000000000aa'
  await sql.query('begin')
  await sql.query(
    `select holdfast.enqueue_jobs(array[$1::uuid], '{send_email}', '{"{}"}', '{}', '{}', '{}', '{}', '{}', '{}', true, false, false,
                                  p_owner => 'billing')`,
    [first],
  )
  const [{ id }] = await rows(`select id from holdfast.enqueue('send_email', '{}')`)
  await sql.query('commit')
  const owners = await rows('select owner from holdfast.bodies where id = any ($1) order by id', [[first, id]])
  expect(owners).toEqual([{ owner: 'billing' }, { owner: null }])
})

test('a line of the audit log has the origin that was named with it, and no other', async () => {
  await sql.query(`select set_config('holdfast.origin', 'somewhere else', false)`)
  await sql.query(`select holdfast.pause_type('send_email', holdfast.actor('grace', 'too many bounces', '192.0.2.7'))`)
  await sql.query(`select holdfast.resume_type('send_email', holdfast.actor('grace'))`)
  expect(await rows('select actor, why, origin from holdfast.audit_log order by id')).toEqual([
    { actor: 'grace', why: 'too many bounces', origin: '192.0.2.7' },
    { actor: 'grace', why: null, origin: null },
  ])
})

test('functions, defaults and statements read no other setting than these', async () => {
  const texts = await rows(`
    select p.prosrc as text from pg_proc as p where p.pronamespace = 'holdfast'::regnamespace
    union all select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef as d
    join pg_class as c on c.oid = d.adrelid where c.relnamespace = 'holdfast'::regnamespace`)
  const all = [...texts.map(({ text }) => text), ...allStatements().map(({ text }) => text)]
  const named = all.flatMap((text) => [...text.matchAll(/(?:current_setting|set_config)\('([^']+)'/g)].map(([, name]) => name))
  expect([...new Set(named)].sort()).toEqual([
    'fsync',
    'full_page_writes',
    // Of the session on purpose: tests move its clock, and a transaction that is to be prepared turns notifications off.
    'holdfast.clock_by',
    'holdfast.clock_to',
    'holdfast.notify',
    'holdfast.room_',
    // How long the transaction of a handler may wait between two statements.
    'idle_in_transaction_session_timeout',
    'lock_timeout',
    'synchronous_commit',
    'synchronous_standby_names',
    'transaction_isolation',
  ])
})
