import { defineType } from 'holdfast'
import type { ErrorGroupAnswer } from 'holdfast/client'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { moveClock } from '../support/moving-clock.js'
import { plansOf } from '../support/plans.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada', why: 'the shop was down' }
const backoff = { base: '1h', factor: 1, cap: '1h', jitter: 0 } as const
const mail = defineType({ type: 'mail', backoff, run: (payload) => fail(payload) })
const print = defineType({ type: 'print', backoff, run: (payload) => fail(payload) })

/** Without a gate, which failing jobs of its type would wait for, and without a worker. */
const free = defineType({ type: 'free' })

function fail(says: unknown): void {
  if (typeof says === 'string') throw new Error(says)
}

let serving: Serving
let call: Contract
beforeAll(async () => {
  serving = await serve()
  call = await contractOf(serving)
  await serving.holdfast.registerTypes([mail, print, free], { update: true })
  for (const type of ['mail', 'print']) await serving.holdfast.flow.breaker(type, 'hold_closed', who)
})
afterAll(() => serving.end())

/** Each fails once, with what its payload says, and is dead, or waits for its next attempt. Answers with their ids. */
async function fails(says: readonly unknown[], { type = mail, maxAttempts = 1 } = {}): Promise<string[]> {
  const { holdfast, sql } = serving
  const ids = (await holdfast.enqueueMany(says.map((payload) => type.job(payload, { maxAttempts })))).map(({ id }) => id)
  const worker = await startWorker(holdfast, [mail, print], { logger: quiet, poll: '50ms', drain: 0 })
  try {
    const recorded = 'select from holdfast.history where job_id = any ($1)'
    await eventually(async () => (await sql.query(recorded, [ids])).rowCount === ids.length)
  } finally {
    await worker.stop()
  }
  return ids
}

const addUp = () => insideOf(serving.holdfast).store.metrics.keepTotals()

async function groupOf(words: string) {
  const groups = (await serving.holdfast.errorGroups.list()).filter(({ message }) => message?.includes(words))
  expect(groups).toHaveLength(1)
  return groups[0] as (typeof groups)[0]
}

test('failures that differ in numbers and names are one group with counts by day and an example, before and after they are added up', async () => {
  const { holdfast, sql } = serving
  const ids = await fails([
    ...[17, 4711, 9].map((n) => `order ${n} of "customer ${n}" not found`),
    'the printer is on fire',
    null,
  ])
  for (let look = 0; look < 3; look++) {
    const group = await groupOf('not found')
    expect(group).toMatchObject({ type: 'mail', name: 'Error', count: 3, fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) })
    expect(ids.slice(0, 3)).toContain(group.job)
    expect(group.days.reduce((sum, { count }) => sum + count, 0)).toBe(3)
    expect(group.days.at(-1)?.day).toBe(group.lastAt.toISOString().slice(0, 10))
    expect(group.firstAt <= group.lastAt).toBe(true)
    expect((await groupOf('on fire')).count).toBe(1)
    await addUp()
  }
  expect((await sql.query('select from holdfast.error_counts')).rowCount).toBe(0)
  const [last = ''] = await fails(['order 1 of "x" not found'])
  await addUp()
  const group = await groupOf('not found')
  expect(group).toMatchObject({ count: 4, job: last })
  expect((await holdfast.job(last))?.attempts[0]?.error).toMatchObject({ fingerprint: group.fingerprint })
  expect(await holdfast.errorGroups.list({ sort: 'count', limit: 1 })).toMatchObject([{ count: 4 }])
})

test('the jobs whose last failure is in a group are listed by index, and a bulk action replays or discards those alone', async () => {
  const { holdfast } = serving
  const part = (n: number) => `no stock of part ${n}`
  const dead = await fails([part(1), part(2)])
  const [retried = '', buried = ''] = await fails([part(3), part(4)], { maxAttempts: 2 })
  const [other = ''] = await fails([part(5)], { type: print })
  await fails(['something else'])
  await holdfast.bury(buried, who)
  const groups = await holdfast.errorGroups.list()
  const { fingerprint: errorGroup } = groups.find(({ type, message }) => type === 'mail' && message?.includes('no stock')) ?? {
    fingerprint: '',
  }
  expect((await holdfast.errorGroups.get(errorGroup)).map(({ type, count }) => [type, count])).toEqual([
    ['mail', 4],
    ['print', 1],
  ])
  const listed = async (filter: object) => (await holdfast.jobs({ errorGroup, ...filter })).jobs.map(({ id }) => id)
  const newest = (...ids: string[]) => ids.sort().reverse()
  expect(await listed({})).toEqual(newest(...dead, retried, buried, other))
  expect(await listed({ type: 'mail' })).toEqual(newest(...dead, retried, buried))
  expect(await listed({ status: 'dead', type: 'mail' })).toEqual(newest(...dead, buried))
  expect(await listed({ status: 'failed' })).toEqual([retried])
  expect(await listed({ status: 'completed' })).toEqual([])
  expect((await call('GET', `/jobs?error_group=${errorGroup}&type=print`)).body.jobs).toMatchObject([{ id: other }])

  const withDead = async () => {
    const { groups } = (await call('GET', '/errors?dead=true')).body as { groups: ErrorGroupAnswer[] }
    return Object.fromEntries(
      groups.filter(({ fingerprint }) => fingerprint === errorGroup).map(({ type, dead }) => [type, dead]),
    )
  }
  expect(await withDead()).toEqual({ mail: { count: 3, more: false }, print: { count: 1, more: false } })

  const request = { filter: { errorGroup, type: 'mail' } }
  expect(await holdfast.bulkActions.estimate({ action: 'retry', ...request })).toEqual({ estimate: 4, more: false })
  const body = { action: 'discard', filter: { error_group: errorGroup, type: 'print' }, why: 'printed by hand' }
  expect((await call('POST', '/bulk', { ...body, dry_run: true })).body).toMatchObject({ estimate: 1 })
  const discard = (await call('POST', '/bulk', body)).body
  const retry = await holdfast.bulk({ action: 'retry', ...request }, who)
  const worker = await startWorker(holdfast, [defineType({ type: 'none', run() {} })], { logger: quiet, drain: 0 })
  onTestFinished(() => worker.stop())
  for (const { id } of [discard, retry]) await eventually(async () => (await holdfast.bulkActions.get(id))?.endedAt !== null)
  expect(await holdfast.bulkActions.get(retry.id)).toMatchObject({ done: 4, refused: {}, filter: { error_group: errorGroup } })
  expect(await listed({ status: 'discarded' })).toEqual([other])
  expect(await listed({ status: 'pending' })).toEqual(newest(...dead, retried, buried))
  expect(await listed({ status: 'dead' })).toEqual([])
  expect(await withDead()).toEqual({})
  expect((await holdfast.errorGroups.get(errorGroup)).map(({ dead }) => dead.count)).toEqual([0, 0])
  // Whoever comes next finds nothing of it.
  const ids = [...dead, retried, buried]
  expect(await holdfast.bulkActions.estimate({ action: 'cancel', ids })).toMatchObject({ estimate: 4 })
  for (const id of ids) await holdfast.cancel(id, who)
})

test('a group is searched for by the index of fingerprints', async () => {
  const { holdfast, sql } = serving
  const [group] = await holdfast.errorGroups.list({ limit: 1 })
  const look = 'select * from holdfast.next_of_error($1, $2, $3, 100)'
  const before = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  const nodes = await plansOf(sql, async () => {
    for (const status of [null, 'dead', 'failed or dead', 'completed'])
      await sql.query(look, [group?.fingerprint, status, before])
  })
  const scanned = nodes.filter(({ type, table }) => type === 'Seq Scan' && /^(history|dead_letters|bodies)/.test(table ?? ''))
  expect(scanned).toEqual([])
  const used = nodes.map(({ index }) => index ?? '').filter((index) => /error|expr|fingerprint/.test(index))
  expect(used.length).toBeGreaterThan(0)
})

test('settles of one group do not wait for each other', async () => {
  const { holdfast, sql } = serving
  const ids = (await holdfast.enqueueMany([free.job({}), free.job({})])).map(({ id }) => id)
  await sql.query(
    `insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
     select nextval('holdfast.lease_seq'), 0, holdfast.now(), holdfast.now() + interval '1 hour', array[j] from unnest($1::uuid[]) as j`,
    [ids],
  )
  await sql.query(
    `update holdfast.queue as q set lease_id = l.id from holdfast.leases as l where q.job_id = any (l.jobs) and q.job_id = any ($1)`,
    [ids],
  )
  const settle = `select holdfast.settle_jobs(array[q.job_id], array[q.lease_id], '{die}', '{failed}', array[$2::text], '{1}', '{0}',
    '{null}', $3, array[q.lease_id]) from holdfast.queue as q where q.job_id = $1`
  const error = JSON.stringify({ name: 'Error', message: 'the same', fingerprint: '0123456789abcdef' })
  const another = new pg.Client(insideOf(holdfast).store.database.clientConfig)
  await another.connect()
  onTestFinished(() => another.end())
  await sql.query('begin')
  await sql.query(settle, [ids[0], error, 1])
  await another.query(`set lock_timeout = '5s'`)
  // Of another worker: each has counts of its own.
  await another.query(settle, [ids[1], error, 2])
  await sql.query('commit')
  expect(await groupOf('the same')).toMatchObject({ type: 'free', count: 2 })
})

test('GET /errors answers to keys that may see workers, with the types a key is for', async () => {
  const { access } = serving.holdfast
  const [id = ''] = await fails(['paper jam in tray 2'], { type: print })
  const { fingerprint } = await groupOf('paper jam')
  const all = (await call('GET', '/errors?type=print&sort=count')).body.groups
  expect(all).toContainEqual({
    ...{ fingerprint, type: 'print', name: 'Error', message: 'paper jam in tray 2', job: id, count: 1 },
    ...{ first_at: expect.any(String), last_at: expect.any(String), days: [{ day: expect.any(String), count: 1 }] },
    dead: { count: 1, more: false },
  })
  expect((await call('GET', `/errors/${fingerprint}`)).body).toMatchObject({ fingerprint, count: 1, groups: [{ type: 'print' }] })
  const later = new Date(Date.now() + 86_400_000).toISOString()
  expect((await call('GET', `/errors?since=${later}`)).body.groups).toEqual([])
  const { key } = await access.createKey({ service: 'mailer', roles: ['viewer'], types: ['mail'] }, who)
  expect((await call('GET', '/errors', undefined, key)).body.groups.map(({ type }: { type: string }) => type)).not.toContain(
    'print',
  )
  expect((await call('GET', `/errors/${fingerprint}`, undefined, key)).status).toBe(404)
  const producer = (await access.createKey({ service: 'shop', roles: ['producer'] }, who)).key
  expect((await call('GET', '/errors', undefined, producer)).status).toBe(403)
  for (const [path, field] of [
    ['/errors/0000000000000000', 'fingerprint'],
    ['/errors/nonsense', 'fingerprint'],
    ['/errors?type=nothing', 'type'],
    ['/errors?sort=size', 'sort'],
    ['/jobs?error_group=nonsense', 'error_group'],
  ]) {
    expect((await call('GET', path as string)).body).toMatchObject({ field })
  }
})

test('a forgotten job is no example any more, and groups go with the dead letters, or when there are too many', async () => {
  const { holdfast, sql } = serving
  const [id = ''] = await fails(['ada lovelace is unknown'])
  await addUp()
  const { fingerprint } = await groupOf('lovelace')
  await holdfast.deadLetters.discard(id, who)
  await holdfast.forget(id, who)
  expect(await holdfast.errorGroups.get(fingerprint)).toMatchObject([{ name: 'Error', message: null, job: null, count: 1 }])
  const sweep = (most: number) => sql.query(`select holdfast.sweep_error_groups('30 days', $1)`, [most])
  await addUp()
  const left = async () => (await holdfast.errorGroups.list({ since: new Date(0) })).length
  const many = await left()
  await sweep(10_000)
  expect(await left()).toBe(many)
  await sweep(2)
  expect(await left()).toBe(2)
  await moveClock(sql, '31 days')
  await sweep(10_000)
  expect(await left()).toBe(0)
  expect((await sql.query('select from holdfast.error_days')).rowCount).toBe(0)
})
