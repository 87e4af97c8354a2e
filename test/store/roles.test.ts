import { randomBytes } from 'node:crypto'
import { defineType, FatalError, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { quiet } from '../support/small-worker.js'

const who = { by: 'ada', why: 'a test of roles' }
const secret = { card: '4000 0000 0000 0002' }
const works = defineType({ type: 'works', run() {} })
const dies = defineType({ type: 'dies', run: () => Promise.reject(new FatalError('no')), limits: { breaker: false } })

let scratch: ScratchDatabase
let owner: Holdfast
let sql: pg.Client
const logins: string[] = []

beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  owner = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  await owner.grantRoles()
  // A second time, as after every migration.
  await owner.grantRoles()
  await owner.registerTypes([works, dies], { update: true })
})
afterEach(() => sql.query('reset role'))
afterAll(async () => {
  for (const login of logins) await sql.query(`drop role ${login}`)
  await sql.end()
  await owner.close()
  await scratch.drop()
})

test('the SQL of docs/roles.md runs as it stands', async () => {
  const [users = '', prepared = ''] = blocks(docsPage('roles.md'), 'sql')
  await owner.registerTypes([defineType({ type: 'send_email' })])
  // Roles belong to the whole server, and other tests use it too: these are gone before anybody sees them.
  await sql.query(`begin; ${users}; rollback`)
  const statements = prepared.split(';').flatMap((text) => text.trim() || [])
  expect(statements.at(-1)).toMatch(/^prepare transaction/)
  for (const text of statements.slice(0, -1)) await sql.query(text)
  // Most servers allow no prepared transactions, and say so before they look at this one.
  const { rows } = await sql.query('show max_prepared_transactions')
  if (rows[0].max_prepared_transactions === '0') await sql.query('rollback')
  else {
    await sql.query(statements.at(-1) as string)
    await sql.query("rollback prepared 'order 17'")
  }
})

/** A user of that role alone, who finds nothing without its schema. */
async function loginAs(role: string): Promise<{ url: string; holdfast: Holdfast; client: pg.Client }> {
  const login = `holdfast_test_${randomBytes(6).toString('hex')}`
  logins.push(login)
  await sql.query(`create role ${login} login password 'x' in role holdfast_${role}`)
  await sql.query(`alter role ${login} set search_path = ''`)
  await sql.query(`alter role ${login} set timezone = 'Asia/Kolkata'`)
  await sql.query(`alter role ${login} set datestyle = 'SQL, DMY'`)
  const url = new URL(scratch.connectionString)
  url.username = login
  url.password = 'x'
  const holdfast = new Holdfast({ connectionString: url.href })
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await holdfast.close()
  })
  return { url: url.href, holdfast, client }
}

const denied = { code: '42501' }

describe('a producer', () => {
  test('enqueues by the SDK, in a transaction and by SQL', async () => {
    const { holdfast, client } = await loginAs('producer')
    expect(await holdfast.migrate()).toEqual({ files: [], functions: false })
    const ids = [(await holdfast.enqueue(works, secret)).id]
    ids.push((await holdfast.enqueue(works, secret, { idempotencyKey: 'a', delay: '1h', concurrencyKey: 'b' })).id)
    ids.push((await holdfast.enqueue(works, secret, { unique: { key: 'c', onConflict: 'replace' } })).id)
    ids.push(...(await holdfast.enqueueMany([works.job(secret), dies.job(secret)])).map(({ id }) => id))
    await client.query('begin')
    ids.push((await holdfast.enqueue(works, secret, { tx: client })).id)
    ids.push((await holdfast.enqueue(works, secret, { tx: client, idempotencyKey: 'd' })).id)
    await client.query('commit')
    ids.push((await client.query(`select id from holdfast.enqueue('works', '{}', '{"priority": 7}')`)).rows[0].id)
    const { rows } = await sql.query('select from holdfast.bodies where id = any ($1)', [ids])
    expect(rows).toHaveLength(ids.length)
  })

  test.each([
    'select payload from holdfast.jobs',
    'select payload from holdfast.bodies',
    'select error from holdfast.history',
    'select * from holdfast.api_keys',
    'select * from holdfast.audit_log',
    `insert into holdfast.audit_log default values`,
    `select holdfast.audit('x', 'y', null, null, null)`,
    'delete from holdfast.queue',
    `update holdfast.types set approval = null`,
    `select holdfast.make_partition('bodies', '2051-01-01')`,
    `select holdfast.drop_oldest_partition('0', '0')`,
    `select holdfast.set_type_lane('works', 'system', holdfast.actor('me', 'mine'))`,
    'create table holdfast.mine ()',
  ])('may not: %s', async (statement) => {
    const { client } = await loginAs('producer')
    await expect(client.query(statement)).rejects.toMatchObject(denied)
  })

  test('cannot make a key, and is told what to do about a type nobody registered', async () => {
    const { holdfast } = await loginAs('producer')
    await expect(holdfast.access.createKey({ service: 'mine', roles: ['admin'] }, who)).rejects.toMatchObject({
      code: 'permission_denied',
    })
    await expect(holdfast.enqueue(defineType({ type: 'unheard_of' }), {})).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('unheard_of is not registered, and this database user may not register it'),
    })
  })
})

test('a worker works, changes its types and does its upkeep with the days, and reads no key and no log', async () => {
  const { holdfast, client } = await loginAs('worker')
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''40 days'''`)
  const changed = defineType({ type: 'works', priority: 6, run() {} })
  const worker = await startWorker(holdfast, [changed, dies], { logger: quiet, alerts: true })
  onTestFinished(() => worker.stop())
  const { id } = await holdfast.enqueue(changed, {})
  const dead = await holdfast.enqueue(dies, {})
  await eventually(async () => (await owner.job(id))?.status === 'completed' && (await owner.job(dead.id))?.status === 'dead')
  // Again and again, because a worker whose locks are held leaves it for its next turn, minutes later.
  await eventually(async () => {
    await insideOf(holdfast).store.partitions.make()
    return (await sql.query('select from holdfast.missing_partitions()')).rowCount === 0
  })
  const old = `select from pg_class where relnamespace = 'holdfast'::regnamespace and relname = 'log_lines_' || to_char(now(), 'YYYYMMDD')`
  await eventually(async () => {
    await insideOf(holdfast).store.partitions.dropOne({ completedMs: 86_400_000, deadMs: 86_400_000 })
    return (await sql.query(old)).rowCount === 0
  })
  await insideOf(holdfast).store.partitions.sweep({ completedMs: 86_400_000, deadMs: 86_400_000 }, 100)
  await insideOf(holdfast).store.metrics.keepTotals()
  await holdfast.alerts.look()
  await insideOf(holdfast).store.operate.bringStrays(10)
  expect(worker.health()).toMatchObject({ status: 'ok' })
  expect(worker.health().warnings?.filter((warning) => warning.includes('permission')) ?? []).toEqual([])
  for (const statement of [
    'select * from holdfast.api_keys',
    'select * from holdfast.audit_log',
    'delete from holdfast.audit_log',
  ]) {
    await expect(client.query(statement)).rejects.toMatchObject(denied)
  }
  await expect(client.query('drop table holdfast.queue')).rejects.toMatchObject(denied)
})

test('a reader sees every job and attempt, and no payload', async () => {
  const { id } = await owner.enqueue(works, secret, { delay: '1h' })
  const { client } = await loginAs('reader')
  const seen = await client.query('select id, type, status, lane from holdfast.jobs where id = $1', [id])
  expect(seen.rows).toEqual([{ id, type: 'works', status: 'scheduled', lane: 'default' }])
  await client.query('select * from holdfast.attempts')
  await client.query('select type_id, completed from holdfast.counters')
  await client.query('select task, status, started_at, ended_at from holdfast.execution_tasks')
  for (const statement of [
    'select payload from holdfast.jobs',
    'select result from holdfast.jobs',
    'select * from holdfast.results',
    'select input from holdfast.executions',
    'select input from holdfast.execution_tasks',
    'select result from holdfast.execution_tasks',
    'select * from holdfast.bodies',
    'select token_hash from holdfast.workers',
    `select holdfast.enqueue('works', '{}')`,
    'delete from holdfast.history',
  ]) {
    await expect(client.query(statement)).rejects.toMatchObject(denied)
  }
})

test('an operator pauses, cancels and replays, and what they do is in the log, which they cannot change', async () => {
  const { holdfast, client } = await loginAs('operator')
  await holdfast.flow.pauseType('works', who)
  await holdfast.flow.resumeType('works', who)
  const { id } = await owner.enqueue(works, secret, { delay: '1h' })
  await holdfast.cancel(id, who)
  expect(await holdfast.job(id)).toMatchObject({ status: 'cancelled' })
  const dead = await owner.enqueue(dies, {})
  const worker = await startWorker(owner, [dies], { logger: quiet })
  await eventually(async () => (await owner.job(dead.id))?.status === 'dead')
  await worker.stop()
  await holdfast.deadLetters.replay(dead.id, who)
  expect((await holdfast.job(dead.id))?.status).toBe('pending')
  const { rows } = await client.query(`select distinct action from holdfast.audit_log where actor = 'ada'`)
  expect(rows.length).toBeGreaterThanOrEqual(3)
  await expect(client.query('delete from holdfast.audit_log')).rejects.toMatchObject(denied)
  await expect(client.query('select * from holdfast.api_keys')).rejects.toMatchObject(denied)
})

test('a server has keys and everything else, and may not change the tables themselves', async () => {
  const { holdfast, client } = await loginAs('server')
  await holdfast.access.createKey({ service: 'billing', roles: ['viewer'] }, who)
  await holdfast.access.keys()
  await expect(client.query('delete from holdfast.audit_log')).rejects.toMatchObject(denied)
  await expect(client.query('alter table holdfast.queue add column mine text')).rejects.toMatchObject(denied)
})
